// The buttons of a code cell: Run, Run all above, Edit, Reset; on a page that is a file, Run alone.

import { TROUBLE } from "./kernel.mjs";
import { element, render } from "./outputs.mjs";

const COMMAND = "make live";

export class Cell {
  /** `node` is the cell in the page; `run(cells)` runs some of them, one after the other. */
  constructor(node, { number, live, run, above, interrupt }) {
    Object.assign(this, { node, number, runCells: run, above, interrupt, computed: false });
    this.input = node.querySelector(".cell_input");
    this.pre = this.input.querySelector("pre");
    this.stored = [...node.querySelectorAll(".cell_output")];
    this.code = this.original = this.pre.textContent.replace(/\n$/, "");
    this.alt = node.querySelector(".cell_output img")?.alt ?? "";
    this.mayFail = node.classList.contains("tag_raises-exception");
    this.mark = element("span", { class: "kb-mark", role: "status" });
    this.bar = element("div", { class: "kb-bar", role: "group", "aria-label": `Buttons of code cell ${number}` });
    // Code that only draws is folded away; its buttons stay in sight where they can do something.
    this.fold = node.querySelector(":scope > details");
    (live && this.fold ? this.fold : this.input).after(this.bar);
    if (live) this.buildLive();
    else this.buildStill();
  }

  button(label, press) {
    const node = element("button", { type: "button", class: "kb-button" }, label);
    node.addEventListener("click", press);
    this.bar.append(node);
    return node;
  }

  buildStill() {
    const run = this.button("Run", () => {
      if (!this.how) {
        this.how = element("div", { class: "kb-how", role: "status" });
        this.bar.after(this.how);
        this.how.append("These pages are files, and code needs Python on your machine. In a checkout of the project, run ",
          element("code", {}, COMMAND), " and open this chapter at the address it prints: there this button runs the cell.");
      } else {
        this.how.remove();
        this.how = null;
      }
      run.setAttribute("aria-expanded", String(Boolean(this.how)));
    });
    run.setAttribute("aria-expanded", "false");
  }

  buildLive() {
    this.runButton = this.button("Run", () => (this.busy ? this.interrupt() : this.runCells([this])));
    this.aboveButton = this.button("Run all above", () => this.runCells(this.above()));
    if (this.number === 1) this.aboveButton.hidden = true;
    this.editButton = this.button("Edit", () => this.edit());
    this.resetButton = this.button("Reset", () => this.reset());
    this.resetButton.hidden = true;
    this.bar.append(this.mark);
    this.output = element("div", {
      class: "cell_output kb-output docutils container", "aria-live": "off", role: "group",
      "aria-label": `Output of code cell ${this.number}, from this page`,
    });
    this.output.hidden = true;
    this.node.append(this.output);
  }

  edit() {
    if (this.fold) this.fold.open = true;
    if (!this.field) {
      this.field = element("textarea", {
        class: "kb-field", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off",
        "aria-label": `Code of cell ${this.number}. Control and Enter runs it, Escape leaves it.`,
      });
      this.field.value = this.code;
      this.field.addEventListener("input", () => this.typed());
      this.field.addEventListener("keydown", (event) => this.key(event));
      this.pre.closest(".highlight").after(this.field);
      this.pre.closest(".highlight").hidden = true;
      this.resetButton.hidden = false;
    }
    this.fit();
    this.field.focus();
  }

  typed() {
    this.code = this.field.value;
    this.fit();
    this.say(this.code === this.original ? "" : "changed, not run yet");
  }

  fit() {
    this.field.rows = this.code.split("\n").length + 1;
  }

  key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      if (!this.busy) this.runCells([this]);
    } else if (event.key === "Escape") this.runButton.focus();
    else if (event.key === "Enter") { // a new line starts where the last one does
      const before = this.field.value.slice(0, this.field.selectionStart);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      const indent = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
      event.preventDefault();
      this.field.setRangeText(`\n${indent}`, this.field.selectionStart, this.field.selectionEnd, "end");
      this.typed();
    }
  }

  /** The code and the output as they are in the book; variables stay what they are. */
  reset() {
    this.field?.remove();
    this.field = null;
    this.pre.closest(".highlight").hidden = false;
    this.code = this.original;
    this.output.hidden = true;
    for (const stored of this.stored) stored.hidden = false;
    this.node.classList.remove("kb-computed");
    this.resetButton.hidden = true;
    this.say("");
    this.runButton.focus();
  }

  start() {
    this.busy = true;
    this.runButton.textContent = "Stop";
    this.say("running …");
  }

  show(outputs) {
    const caption = this.stored[0]?.querySelector("figcaption")?.cloneNode(true);
    this.output.replaceChildren(...outputs.map((output) => render(output, this.alt)), ...(caption ? [caption] : []));
    this.output.hidden = false;
    for (const stored of this.stored) stored.hidden = true;
    this.node.classList.add("kb-computed");
    this.resetButton.hidden = false;
  }

  /** What came of it, in words. */
  finish({ ok, error, trouble }, needsMore) {
    this.busy = false;
    this.runButton.textContent = "Run";
    this.computed ||= ok;
    if (trouble) return this.say(TROUBLE[trouble]);
    if (!this.node.classList.contains("kb-computed") && (ok || error)) this.show([]);
    const edited = this.code === this.original ? "" : ", from changed code";
    if (ok) return this.say(`computed on this page${edited}`);
    if (error === "KeyboardInterrupt") return this.say("stopped");
    if (error === "NameError" && needsMore) {
      return this.say("A name is missing: earlier cells have not been run. Use “Run all above”.");
    }
    return this.say(error ? `ended with ${error}${edited}` : "not run");
  }

  /** The kernel that computed this is gone. */
  outdate() {
    this.computed = false;
    if (this.node.classList.contains("kb-computed") && !this.busy) this.say("computed by a kernel that is gone");
  }

  say(words) {
    this.mark.textContent = words;
  }
}
