// Reads cases as JSON, computes what the playgrounds would show, writes JSON: one process for all.

import { readFileSync } from "node:fs";
import * as anchors from "../../book/_playgrounds/anchors.mjs";
import * as basis from "../../book/_playgrounds/basisfunctions.mjs";
import * as classification from "../../book/_playgrounds/classification.mjs";
import * as losses from "../../book/_playgrounds/losses.mjs";
import * as path from "../../book/_playgrounds/path.mjs";
import { breakpoints } from "../../book/_playgrounds/pathpieces.mjs";
import * as reml from "../../book/_playgrounds/reml.mjs";
import { prepare } from "../../book/_playgrounds/smo.mjs";
import { coefficients, move, pick, updateMultipliers } from "../../book/_playgrounds/smosteps.mjs";
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
  losses({ points, settings }) {
    const { machines } = losses.compute(points, settings);
    const plain = ({ c, lam, values }) => ({ c: list(c), lam: list(lam), values: list(values) });
    return { squared: plain(machines.squared), hinge: plain(machines.hinge) };
  },
  path({ points, settings, at }) {
    const { path: whole } = path.begin(points, settings);
    const { pieces, unclear } = whole.advance();
    const alpha = (C) => {
      const piece = pieces.find((p) => p.from <= C && C <= p.to);
      return Array.from(piece.at, (a, i) => a + C * piece.slope[i]);
    };
    return { breakpoints: breakpoints(pieces).map((b) => b.C), unclear, alpha: at.map(alpha) };
  },
  likelihood({ points, degree, width, reg }) {
    const { deviance, error } = reml.judge(reml.sample(points, degree, [0, 10]), width, reg);
    return { deviance, error };
  },
  smo({ points, settings, second, rounds }) {
    const state = prepare(points, settings);
    for (let round = 0; round < rounds; round++) {
      if (round) updateMultipliers(state);
      for (let pair = pick(state, second); pair; pair = pick(state, second)) move(state, pair);
    }
    return { best: state.best, beta: list(state.beta), lam: list(coefficients(state)), steps: state.steps };
  },
  starts() {
    return { regression: regression.start(), classification: classification.start(), basis: basis.start() };
  },
};

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map((c) => ANSWERS[c.kind](c))));
