// Elements, controls and numbers: what every playground is built of.

import { read, write } from "./state.mjs";

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  set(node, attributes);
  node.append(...children);
  return node;
}

export function svgElement(tag, attributes = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(node, attributes);
  return node;
}

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
}

let count = 0;
const fresh = () => `pg-${++count}`;

/** A labelled slider; with `log` its position is the logarithm to base ten of its value. */
export function slider({ name, label, min, max, step, value, log = false, show = String, change }) {
  const id = fresh();
  const toValue = (position) => (log ? 10 ** position : position);
  const input = element("input", {
    type: "range", id, name, min: log ? Math.log10(min) : min, max: log ? Math.log10(max) : max, step,
  });
  input.value = log ? Math.log10(value) : value;
  const output = element("output", { for: id, "aria-live": "off" }); // a slider that moves says its value itself
  const tell = () => {
    const text = show(toValue(Number(input.value)));
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.addEventListener("restored", tell);
  input.addEventListener("input", () => { tell(); change(); });
  tell();
  const row = element("div", { class: "pg-control" }, element("label", { for: id }, label), input, output);
  return { row, input, get value() { return toValue(Number(input.value)); } };
}

export function choice({ name, label, options, value, change }) {
  const id = fresh();
  const input = element("select", { id, name }, ...options.map(([key, text]) =>
    element("option", { value: key, selected: key === value }, text)));
  input.addEventListener("change", change);
  const row = element("div", { class: "pg-control" }, element("label", { for: id }, label), input);
  return { row, input, get value() { return input.value; } };
}

export function checkbox({ name, label, value, change }) {
  const id = fresh();
  const input = element("input", { type: "checkbox", id, name });
  input.checked = value;
  input.addEventListener("change", change);
  const row = element("div", { class: "pg-control pg-check" }, input, element("label", { for: id }, label));
  return { row, input, get value() { return input.checked; } };
}

/** A field for a number; what it does not accept it says beside it, and it changes nothing. */
export function numberField({ name, label, min, max, step, value, change }) {
  const id = fresh();
  const input = element("input", { type: "number", id, name, min, max, step: step ?? "any" });
  if (value !== undefined) input.value = value;
  const words = element("span", { class: "pg-refusal", role: "status" });
  const refuse = (sentence) => {
    words.textContent = sentence;
    set(input, { "aria-invalid": sentence ? "true" : null });
  };
  input.addEventListener("input", () => {
    const typed = Number(input.value);
    const good = input.value !== "" && typed >= min && typed <= max;
    refuse(good ? "" : input.value === "" ? "a number is missing" : `${input.value} is not between ${min} and ${max}`);
    if (good) change(typed);
  });
  const row = element("span", { class: "pg-field" }, element("label", { for: id }, label), input, words);
  return { row, input, refuse };
}

export function button(name, label, press) {
  const node = element("button", { type: "button", name }, label);
  node.addEventListener("click", press);
  return node;
}

/** Six digits, or a power of ten; what is not a number is a dash. */
export function digits(value, n = 6) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e-12) return "0"; // rounding, in the units of every playground
  return size >= 1e-3 && size < 1e6 ? value.toPrecision(n) : value.toExponential(n - 1);
}

/** A list of named numbers: `numbers.show(name, value)`; one that there is not just now is left out. */
export function numberList(entries) {
  const cells = {};
  const list = element("dl", { class: "pg-numbers" });
  for (const [name, label] of entries) {
    cells[name] = element("dd", { "data-number": name });
    list.append(element("div", {}, element("dt", {}, label), cells[name]));
  }
  return { list, show: (name, value) => {
    cells[name].textContent = typeof value === "number" ? digits(value) : value;
    cells[name].parentElement.hidden = Number.isNaN(value);
  } };
}

/** Plot and what belongs to it on one side, the controls beside it where there is room, below it on a phone. */
export function stage(view, side) {
  return element("div", { class: "pg-stage" },
    element("div", { class: "pg-view" }, ...view), element("div", { class: "pg-side" }, ...side));
}

/** A small plot with its caption. */
export function figure(plot, text) {
  return element("figure", {}, plot.node, element("figcaption", {}, text));
}

/**
 * Starts from the state that the address or the page names, and offers a link that keeps the state.
 *
 * lists: { name: { points, keys, place } }; `changed` is called when a state was set.
 */
export function permalink(root, lists, changed) {
  const name = root.dataset.playground;
  const controls = [...root.querySelectorAll(".pg-controls [name]")];
  const without = (root.dataset.without ?? "").split(" ");
  for (const input of controls) if (without.includes(input.name)) input.closest(".pg-control").hidden = true;
  for (const list of Object.values(lists)) list.place ??= (p) => p;
  const restore = (text) => {
    if (!text || !read(text, controls, lists)) return;
    for (const input of controls) input.dispatchEvent(new Event("restored"));
    changed();
  };
  restore(root.dataset.start);
  const mine = () => decodeURIComponent(location.hash).match(/^#playground=([\w-]+);(.*)$/) ?? [];
  const follow = () => {
    const [, whose, text] = mine();
    if (whose === name) {
      restore(text);
      root.scrollIntoView();
    }
  };
  follow();
  addEventListener("hashchange", follow);
  const note = element("span", { class: "pg-link", role: "status" });
  const link = button("link", "Link to this state", () => {
    history.replaceState(null, "", `#playground=${name};${write(controls, lists)}`);
    const told = () => { note.textContent = "The address of this page now keeps the state."; };
    if (!navigator.clipboard) return told();
    return navigator.clipboard.writeText(location.href)
      .then(() => { note.textContent = "Copied; the address of this page keeps the state, too."; }, told);
  });
  root.append(element("div", { class: "pg-bar" }, link, note));
}

/** What a line or a mark means: entries [class, text]; `legend.only(classes)` hides the others. */
export function legend(entries, selected = "selected") {
  const items = [...entries, ["mark-chosen", selected]].map(([kind, text]) => {
    const key = svgElement("svg", { viewBox: "0 0 28 14", width: 28, height: 14, "aria-hidden": "true" });
    key.append(kind.startsWith("mark")
      ? svgElement("path", { class: kind, d: markPath(kind.includes("plus") ? "square" : kind.includes("anchor") ? "diamond" : "circle", 14, 7, kind === "mark-chosen" ? 7 : 5) })
      : svgElement("path", { class: kind, d: "M1 7H27" }));
    return element("li", { class: `pg-key-${kind.split(" ")[0]}` }, key, text);
  });
  const list = element("ul", { class: "pg-legend", "aria-label": "Legend" }, ...items);
  list.only = (kinds) => entries.forEach(([kind], i) => { items[i].hidden = !kinds.includes(kind); });
  return list;
}

export function markPath(shape, x, y, r) {
  if (shape === "square") return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
  if (shape === "diamond") return `M${x} ${y - 1.5 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.5 * r}L${x - 1.3 * r} ${y}z`;
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

/** Multiplications that a frame may spend on a fit: a few milliseconds of the sixteen there are. */
export const SHARE = 2e6;

/**
 * The frame of a playground: `update(changed)` runs at most once a frame; `changed` says whether the
 * reader did something since.  It returns null if it needs more frames to finish, and otherwise a
 * sentence, which a screen reader hears when things have been quiet for a while.
 */
export function frame(root, update) {
  const live = element("p", { class: "pg-live", role: "status" });
  let scheduled = false;
  let changed = false;
  let quiet = 0;
  const wait = () => {
    root.dataset.state = "busy";
    if (!scheduled) requestAnimationFrame(run);
    scheduled = true;
  };
  const run = () => {
    scheduled = false;
    const since = changed;
    changed = false;
    const sentence = update(since);
    clearTimeout(quiet);
    if (sentence === null) return wait();
    root.dataset.state = "ready";
    quiet = setTimeout(() => { live.textContent = sentence; }, 800);
    return undefined;
  };
  return {
    live,
    schedule() {
      changed = true;
      wait();
    },
    say(sentence) {
      clearTimeout(quiet);
      live.textContent = sentence;
    },
  };
}

/**
 * Fits one after the other for a sample that may change faster than they finish.
 *
 * `begin(last)` starts a fit to what the reader sees now, from the last finished one.  It is carried on
 * frame by frame until it is done, or `ready` if it has nothing but details left.  What is drawn in
 * between is certified, with a gap below a hundredth of the objective.
 */
export function follow(begin) {
  let fit = null;
  let last = null;
  let shown = null;
  let stale = true;
  return {
    /** Spends the share of a frame: { shown, done }; `restart` drops a fit that no longer applies. */
    step(changed, restart = false) {
      stale ||= changed;
      if (!fit || restart || (stale && (fit.done || fit.ready))) {
        fit = begin(last);
        stale = false;
      }
      if (!fit.done) {
        const now = fit.advance(SHARE);
        if (fit.done || fit.ready) last = now;
        if (now && (fit.done || !shown || restart || now.gap <= 0.01 * now.primal)) shown = now;
      }
      return { shown, done: fit.done && !stale };
    },
  };
}

/** The same pseudo-random numbers in [0, 1) in every browser (Park and Miller). */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
