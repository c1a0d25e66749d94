// A plot that fills the width it is given: scales, axes, lines, and a tint for functions of the plane.

import { element, set, svgElement } from "./ui.mjs";

const MARGIN = { left: 34, right: 8, top: 8, bottom: 24 };

let clips = 0;

export class Plot {
  /** `aspect` is height over width; `small` plots have no axes; `left` is the room for numbers. */
  constructor({ x, y, aspect = 0.6, small = false, left = MARGIN.left, label = null, redraw }) {
    Object.assign(this, { x, y, aspect, small, redraw });
    this.room = { ...MARGIN, left };
    this.svg = svgElement("svg", label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.node = element("div", { class: small ? "pg-plot pg-small" : "pg-plot" }, this.canvas, this.svg);
    this.axes = this.group("pg-axes");
    const id = `pg-clip-${++clips}`;
    this.clip = svgElement("rect");
    const clip = svgElement("clipPath", { id });
    clip.append(this.clip);
    this.svg.append(clip);
    this.lines = this.group("pg-lines");
    this.lines.setAttribute("clip-path", `url(#${id})`);
    this.marks = this.group("pg-marks");
    this.paths = {};
    new ResizeObserver(() => this.resize()).observe(this.node);
  }

  group(name) {
    const g = svgElement("g", { class: name });
    this.svg.append(g);
    return g;
  }

  /** Returns whether there is room to draw in. */
  resize() {
    const width = this.node.clientWidth;
    if (!width) return false;
    const height = Math.round(width * this.aspect);
    if (width === this.width && height === this.height) return true;
    Object.assign(this, { width, height });
    const m = this.small ? { left: 1, right: 1, top: 1, bottom: 1 } : this.room;
    this.box = { left: m.left, right: width - m.right, top: m.top, bottom: height - m.bottom };
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
      this.svg.setAttribute(name, value);
    }
    const { left, right, top, bottom } = this.box;
    Object.assign(this.canvas.style, {
      left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px`,
    });
    this.drawAxes();
    this.redraw();
    return true;
  }

  px = (x) => this.box.left + ((x - this.x[0]) / (this.x[1] - this.x[0])) * (this.box.right - this.box.left);
  py = (y) => this.box.bottom - ((y - this.y[0]) / (this.y[1] - this.y[0])) * (this.box.bottom - this.box.top);
  toX = (px) => this.x[0] + ((px - this.box.left) / (this.box.right - this.box.left)) * (this.x[1] - this.x[0]);
  toY = (py) => this.y[0] + ((this.box.bottom - py) / (this.box.bottom - this.box.top)) * (this.y[1] - this.y[0]);

  drawAxes() {
    const { left, right, top, bottom } = this.box;
    const inside = { x: left, y: top, width: right - left, height: bottom - top };
    set(this.clip, inside);
    const parts = [svgElement("rect", { ...inside, class: "pg-frame" })];
    if (!this.small) {
      for (const t of ticks(this.x, (right - left) / 40)) {
        parts.push(svgElement("path", { d: `M${this.px(t)} ${bottom}v4` }));
        parts.push(text(t, this.px(t), bottom + 17, "middle"));
      }
      for (const t of ticks(this.y, (bottom - top) / 16)) {
        parts.push(svgElement("path", { d: `M${left} ${this.py(t)}h-4` }));
        parts.push(text(t, left - 7, this.py(t) + 4, "end"));
      }
    }
    this.axes.replaceChildren(...parts);
  }

  /** Another part of the plane. */
  show(x, y) {
    if (x[0] === this.x[0] && x[1] === this.x[1] && y[0] === this.y[0] && y[1] === this.y[1]) return;
    Object.assign(this, { x, y });
    this.drawAxes();
  }

  /** Draw or move the path `name`, of the style `kind`. */
  path(name, kind, d) {
    if (!this.paths[name]) {
      this.paths[name] = svgElement("path", { class: kind });
      this.lines.append(this.paths[name]);
    }
    this.paths[name].setAttribute("d", d);
  }

  /** A curve through the points (xs_i, ys_i), kept near the frame; where it leaves it, the edge says how far. */
  curve(name, kind, xs, ys, leaves = false) {
    const { top, bottom } = this.box;
    const far = bottom - top;
    let d = "";
    for (let i = 0; i < xs.length; i++) {
      const y = Math.min(bottom + far, Math.max(top - far, this.py(ys[i])));
      d += `${i ? "L" : "M"}${tenths(this.px(xs[i]))} ${tenths(y)}`;
    }
    this.path(name, kind, d);
    if (leaves) this.edge(name, kind, xs, ys);
  }

  /** Beside the edge, above or below, the farthest value outside. */
  edge(name, kind, xs, ys) {
    const { left, right, top, bottom } = this.box;
    let [high, low] = [0, 0];
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] > ys[high]) high = i;
      if (ys[i] < ys[low]) low = i;
    }
    const tell = (side, i, gone, sign, y) => {
      const key = `${name} ${side}`;
      this.outside ??= {};
      if (!this.outside[key] && !gone) return;
      if (!this.outside[key]) {
        this.outside[key] = svgElement("text", { class: `pg-outside of-${kind}`, "text-anchor": "middle" });
        this.marks.before(this.outside[key]);
      }
      const node = this.outside[key];
      node.textContent = gone ? `${sign} ${Number(ys[i].toPrecision(3))}`.replace("-", "−") : "";
      if (gone) set(node, { x: Math.min(right - 24, Math.max(left + 24, this.px(xs[i]))), y });
    };
    tell("above", high, xs.length && ys[high] > this.y[1], "↑", top + 13);
    tell("below", low, xs.length && ys[low] < this.y[0], "↓", bottom - 5);
  }

  /** Tint the plane by the sign and size of values on a grid, row by row of increasing y. */
  tint(values, columns, rows, full = 1.5) {
    const context = this.canvas.getContext("2d");
    this.canvas.width = columns;
    this.canvas.height = rows;
    const image = context.createImageData(columns, rows);
    for (let r = 0; r < rows; r++) {
      for (let j = 0; j < columns; j++) {
        const v = values[(rows - 1 - r) * columns + j];
        const at = 4 * (r * columns + j);
        const colour = v > 0 ? PLUS : MINUS;
        for (let k = 0; k < 3; k++) image.data[at + k] = colour[k];
        image.data[at + 3] = 110 * Math.min(1, Math.abs(v) / full);
      }
    }
    context.putImageData(image, 0, 0);
  }
}

/** Enough digits for a screen; much faster than toFixed. */
export const tenths = (v) => Math.round(10 * v) / 10;

const PLUS = [209, 84, 27];
const MINUS = [47, 127, 191];

function text(value, x, y, anchor) {
  const node = svgElement("text", { x, y, "text-anchor": anchor });
  node.textContent = Number(value.toPrecision(6)).toString().replace("-", "−");
  return node;
}

/** Round numbers, about six of them, fewer where there is no room for so many. */
export function ticks([low, high], most = 6) {
  const raw = (high - low) / Math.max(1, Math.min(6, most));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const out = [];
  // Whole multiples, so that 0 is 0.
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) out.push(k * step + 0);
  return out;
}

export function range(low, high, n) {
  return Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));
}
