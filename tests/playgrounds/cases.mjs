// Reads cases as JSON, computes what the playgrounds would show, writes JSON: one process for all.

import { readFileSync } from "node:fs";
import * as anchors from "../../book/_playgrounds/anchors.mjs";
import * as basis from "../../book/_playgrounds/basisfunctions.mjs";
import * as classification from "../../book/_playgrounds/classification.mjs";
import * as regression from "../../book/_playgrounds/regression.mjs";

const rows = ({ rows: n, cols, data }) =>
  Array.from({ length: n }, (_, i) => Array.from(data.subarray(i * cols, (i + 1) * cols)));
const list = (x) => (x ? Array.from(x) : null);

const ANSWERS = {
  regression({ points, settings, grid }) {
    const { curves, numbers } = regression.compute(points, settings, grid);
    const whole = (c) => list(c && c.whole.subarray(0, grid.length));
    return { ...numbers, free: whole(curves.free), ridge: whole(curves.ridge), wrong: whole(curves.wrong) };
  },
  classification({ points, settings, xs, ys, before }) {
    // `before`: the points of an earlier frame, from whose solution the walk starts.
    const last = before ? classification.compute(before, settings) : null;
    const result = classification.compute(points, settings, last);
    const { free, kernel } = classification.onGrid(result, xs, ys);
    return { ...result.numbers, values: list(result.values), free: list(free), kernel: list(kernel) };
  },
  basis({ points, functions, settings, grid }) {
    const result = basis.compute(points, functions, settings);
    const next = basis.mostMisclassified(points, functions, result.values);
    return { primal: result.primal, gap: result.gap, kept: result.basis.kept.length, errors: result.errors,
      f: list(basis.onGrid(result, grid).f), next: next && next.x };
  },
  anchors({ points, anchors: at, settings, grid }) {
    const result = anchors.compute(points, at, settings, grid);
    const where = grid.map((x) => [x]);
    return { ...result.numbers, f: list(result.f), lam: list(result.lam), E: rows(result.E),
      H: rows(result.space.H(where)), K: rows(result.space.K(where)) };
  },
  starts() {
    return { regression: regression.start(), classification: classification.start(), basis: basis.start() };
  },
};

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map((c) => ANSWERS[c.kind](c))));
