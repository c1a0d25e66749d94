// Points that are dragged, typed, added and removed: by pointer, by touch, by keyboard, by buttons.

import { button, element, markPath, numberField, set, svgElement } from "./ui.mjs";

const STEPS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};

export class Points {
  /**
   * plot      where they live
   * points    list of { x, y, … }; changed in place
   * changed   called after every change
   * say       tells a screen reader a sentence at once
   * look      (point, index) → { shape, kind }
   * place     keeps a moved point where it may be
   * forbidden (point, index) → why a point may not be there, or null
   * added     makes a new point of { x, y }; without it none can be added or removed
   * noun      what a point is called
   */
  constructor(options) {
    Object.assign(this, { place: (p) => p, forbidden: () => null, added: null, noun: "point", least: 1, most: 200 }, options);
    this.selected = 0;
    this.nodes = [];
    this.plot.svg.classList.add("pg-editable");
    this.node = element("div", {
      class: "pg-pad", role: "application", tabindex: "0", "aria-label": this.help(),
    }, this.plot.node);
    this.node.addEventListener("keydown", (event) => this.key(event));
    const { svg } = this.plot;
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    // A finger that holds a point does not scroll the page; `touch-action` alone does not reach every mark.
    for (const name of ["touchstart", "touchmove"]) {
      svg.addEventListener(name, (event) => { if (this.dragging) event.preventDefault(); }, { passive: false });
    }
    for (const name of ["pointerup", "pointercancel"]) {
      svg.addEventListener(name, (event) => this.up(event, name === "pointerup"));
    }
    this.buildBar();
  }

  help() {
    const more = this.added ? " Insert or plus adds one, Delete removes it." : "";
    return `Plot of ${this.noun}s. Arrow keys move the selected ${this.noun}, with Shift by a little; ` +
      `Page Up and Page Down select another.${more}`;
  }

  buildBar() {
    const { x, y } = this.plot;
    const field = (axis, [min, max]) => numberField({
      name: axis, label: axis, min, max,
      change: (value) => this.moveTo(this.selected, { ...this.points[this.selected], [axis]: value }, axis),
    });
    this.fields = { x: field("x", x), ...(this.flat ? {} : { y: field("y", y) }) };
    this.title = element("span", { class: "pg-selected" });
    this.words = element("span", { class: "pg-refusal", role: "status" });
    this.bar = element("div", { class: "pg-bar", role: "group", "aria-label": `The selected ${this.noun}` },
      button("previous", "‹", () => this.select(this.selected - 1)),
      this.title,
      button("next", "›", () => this.select(this.selected + 1)),
      ...Object.values(this.fields).map((f) => f.row));
    this.bar.querySelector("[name=previous]").setAttribute("aria-label", `previous ${this.noun}`);
    this.bar.querySelector("[name=next]").setAttribute("aria-label", `next ${this.noun}`);
    if (this.added) {
      this.bar.append(button("add", "Add", () => this.add()), button("remove", "Remove", () => this.remove()));
    }
    this.bar.append(this.words);
  }

  /** What is not done is said, to eyes and ears, until something is done. */
  refuse(sentence) {
    this.words.textContent = sentence;
  }

  // ------------------------------------------------------------------------------ pointer

  at(event) {
    const frame = this.plot.svg.getBoundingClientRect();
    return { px: event.clientX - frame.left, py: event.clientY - frame.top };
  }

  nearest({ px, py }, reach) {
    let best = -1;
    let least = reach * reach;
    this.points.forEach((p, i) => {
      const square = (this.plot.px(p.x) - px) ** 2 + (this.plot.py(p.y) - py) ** 2;
      if (square <= least) [least, best] = [square, i];
    });
    return best;
  }

  down(event) {
    if (event.button) return;
    const here = this.at(event);
    const i = this.nearest(here, event.pointerType === "mouse" ? 12 : 22);
    this.pressed = { ...here, index: i };
    if (i < 0) return;
    this.plot.svg.setPointerCapture(event.pointerId);
    this.select(i, false);
    event.preventDefault();
    this.node.focus({ preventScroll: true });
  }

  move(event) {
    if (!this.pressed || this.pressed.index < 0) return;
    const { px, py } = this.at(event);
    const p = this.points[this.pressed.index];
    this.moveTo(this.pressed.index, { ...p, x: this.plot.toX(px), y: this.plot.toY(py) });
  }

  up(event, done) {
    const start = this.pressed;
    this.pressed = null;
    if (start?.index >= 0) this.changed(); // what was drawn coarsely is drawn well
    if (!start || start.index >= 0 || !done || !this.added) return;
    const here = this.at(event);
    if (Math.hypot(here.px - start.px, here.py - start.py) < 6) {
      this.add({ x: this.plot.toX(here.px), y: this.plot.toY(here.py) });
    }
  }

  get dragging() {
    return this.pressed?.index >= 0;
  }

  // ----------------------------------------------------------------------------- keyboard

  key(event) {
    if (event.target !== this.node || event.ctrlKey || event.metaKey || event.altKey) return;
    const p = this.points[this.selected];
    if (STEPS[event.key] && p) {
      const small = event.shiftKey ? 200 : 40;
      const [dx, dy] = STEPS[event.key];
      const { x, y } = this.plot;
      this.moveTo(this.selected, {
        ...p, x: p.x + (dx * (x[1] - x[0])) / small, y: p.y + (dy * (y[1] - y[0])) / small,
      });
      this.say(this.describe());
    } else if (event.key === "PageDown") this.select(this.selected + 1);
    else if (event.key === "PageUp") this.select(this.selected - 1);
    else if ((event.key === "Insert" || event.key === "+") && this.added) this.add();
    else if ((event.key === "Delete" || event.key === "Backspace") && this.added) this.remove();
    else if (!this.extraKey || !this.extraKey(event.key)) return;
    event.preventDefault();
  }

  // ------------------------------------------------------------------------------ changes

  moveTo(i, point, typing = null) {
    const { x, y } = this.plot;
    const inside = (v, [low, high]) => Math.min(high, Math.max(low, v));
    const target = this.place({ ...point, x: inside(point.x, x), y: inside(point.y, y) }, i);
    const obstacle = this.forbidden(target, i);
    this.refuse(obstacle ?? "");
    if (obstacle) return;
    Object.assign(this.points[i], target);
    this.refresh(typing);
    this.changed();
  }

  select(i, speak = true) {
    const n = this.points.length;
    this.selected = n ? (i + n) % n : 0;
    this.refresh();
    if (speak) this.say(this.describe());
  }

  add(where = null) {
    if (this.points.length >= this.most) return this.refuse(`There are ${this.most} ${this.noun}s, the most there can be.`);
    const { x, y } = this.plot;
    const at = where ?? { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2 };
    this.refuse("");
    this.points.push(this.place(this.added(at), this.points.length));
    this.select(this.points.length - 1);
    this.changed();
    return undefined;
  }

  remove() {
    if (this.points.length <= this.least) {
      return this.refuse(this.least > 1 ? `At least ${this.least} ${this.noun}s must stay.` : `One ${this.noun} must stay.`);
    }
    this.refuse("");
    this.points.splice(this.selected, 1);
    this.select(Math.min(this.selected, this.points.length - 1));
    this.changed();
    return undefined;
  }

  describe() {
    const p = this.points[this.selected];
    if (!p) return `no ${this.noun}`;
    const where = this.flat ? `x ${p.x.toFixed(2)}` : `x ${p.x.toFixed(2)}, y ${p.y.toFixed(2)}`;
    return `${this.noun} ${this.selected + 1} of ${this.points.length}, ${where}${this.extra ? this.extra(p) : ""}`;
  }

  // ------------------------------------------------------------------------------ drawing

  /** The field in which the reader types is left alone. */
  refresh(typing = null) {
    const p = this.points[this.selected];
    const alone = this.points.length === 1 && !this.added; // nothing else to select
    this.title.textContent = alone ? this.noun : `${this.noun} ${p ? this.selected + 1 : 0} of ${this.points.length}`;
    for (const name of ["previous", "next"]) this.bar.querySelector(`[name=${name}]`).hidden = alone;
    for (const [axis, field] of Object.entries(this.fields)) {
      if (axis === typing) continue;
      field.input.value = p ? Number(p[axis].toFixed(6)) : "";
      field.refuse("");
    }
  }

  draw() {
    const { marks, px, py } = this.plot;
    while (this.nodes.length > this.points.length) this.nodes.pop().remove();
    while (this.nodes.length < this.points.length) {
      const g = svgElement("g");
      g.append(svgElement("circle", { class: "pg-hit", r: 18 }), svgElement("path"));
      marks.append(g);
      this.nodes.push(g);
    }
    this.points.forEach((p, i) => {
      const g = this.nodes[i];
      const { shape, kind } = this.look(p, i);
      // Touching an attribute costs the browser a new style: most marks stay as they are.
      const key = [px(p.x), py(p.y), p.x, p.y, shape, kind, i === this.selected].join();
      if (g.drawn === key) return;
      g.drawn = key;
      set(g, { "data-x": p.x, "data-y": p.y, class: i === this.selected ? "pg-chosen" : "" });
      set(g.firstChild, { cx: px(p.x), cy: py(p.y) });
      set(g.lastChild, { class: kind, d: markPath(shape, px(p.x), py(p.y), 4.5) });
    });
    this.refresh(document.activeElement?.closest?.(".pg-bar") === this.bar ? document.activeElement.name : null);
  }
}
