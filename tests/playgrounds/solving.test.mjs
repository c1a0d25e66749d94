// Losses, the path, likelihood and SMO, each against its definition or brute force.  Run by `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { best, judge, sample, startLandscape } from "../../book/_playgrounds/reml.mjs";
import { REGS, start as wave, WIDTHS } from "../../book/_playgrounds/likelihood.mjs";
import { work } from "../../book/_playgrounds/linalg.mjs";
import { begin as beginLosses, compute as computeLosses, onGrid, start as outlier } from "../../book/_playgrounds/losses.mjs";
import { begin as beginPath, LIMITS, sentence, start as overlap } from "../../book/_playgrounds/path.mjs";
import { breakpoints } from "../../book/_playgrounds/pathpieces.mjs";
import { range } from "../../book/_playgrounds/plot.mjs";
import { few, prepare } from "../../book/_playgrounds/smo.mjs";
import { measure, move, pick } from "../../book/_playgrounds/smosteps.mjs";
import { follow, randomNumbers, SHARE } from "../../book/_playgrounds/ui.mjs";

const STEP = 1.9e6; // what one step of a fit may spend beyond its share, as in modules.test.mjs

test("a sample beyond its margin may be anywhere beyond it: the hinge does not see it, the square does", () => {
  const settings = { features: "linear", width: 1, reg: 1 };
  const at = (x, y) => {
    const points = outlier();
    Object.assign(points[0], { x, y });
    return computeLosses(points, settings).machines;
  };
  const there = range(-1.95, 1.95, 9).map((x) => at(x, 1.4));
  const slope = ({ lam }) => lam[1] / lam[2];
  for (const { hinge } of there) {
    assert.ok(hinge.margins[0] > 1 && Math.abs(hinge.c[0]) < 1e-12);
    hinge.lam.forEach((v, p) => assert.ok(Math.abs(v - there[0].hinge.lam[p]) < 1e-8));
  }
  assert.ok(Math.abs(slope(there[0].squared) - slope(there[8].squared)) > 0.1);
});

test("every C of a piece has the α of a fit there, and the pieces join", () => {
  const points = overlap();
  for (const features of ["bias", "linear", "quadratic"]) {
    const problem = beginPath(points, { features, width: 0.5 });
    const { pieces, unclear } = problem.path.advance();
    assert.equal(unclear, 0);
    assert.equal(pieces[0].from, LIMITS[0]);
    assert.equal(pieces.at(-1).to, LIMITS[1]);
    pieces.forEach((piece, k) => {
      if (k) {
        assert.ok(Math.abs(piece.from / pieces[k - 1].to - 1) < 1e-6);
        piece.at.forEach((a, i) => {
          const C = piece.from; // α is continuous
          assert.ok(Math.abs(a + C * piece.slope[i] - pieces[k - 1].at[i] - C * pieces[k - 1].slope[i]) < 1e-5 * C);
        });
      }
      for (const t of [0.1, 0.9]) {
        const C = piece.from + t * (piece.to - piece.from);
        const { alpha } = problem.at(C);
        alpha.forEach((a, i) => assert.ok(Math.abs(a - piece.at[i] - C * piece.slope[i]) < 1e-6 * C));
      }
    });
    breakpoints(pieces).forEach((b) => assert.match(sentence(b), /^At C = .* sample \d+ .*\.$/));
  }
});

test("features that separate: no breakpoint, α = 0", () => {
  const points = overlap().map((p) => ({ ...p, label: p.y > 0 ? 1 : -1 }));
  const { pieces } = beginPath(points, { features: "linear", width: 0.5 }).path.advance();
  assert.equal(breakpoints(pieces).length, 0);
  assert.ok(pieces[0].at.every((a) => a === 0));
});

test("equal samples with both labels are drawn, and counted as unclear at most", () => {
  const points = [...overlap(), ...overlap().slice(0, 3).map((p) => ({ ...p, label: -p.label }))];
  const { pieces } = beginPath(points, { features: "linear", width: 0.5 }).path.advance();
  assert.equal(pieces[0].from, LIMITS[0]);
  assert.equal(pieces.at(-1).to, LIMITS[1]);
});

test("the likelihood does not see the free part, and the landscape's minimum is the least of its values", () => {
  const points = wave();
  const moved = points.map((p) => ({ x: p.x, y: p.y + 3 - 2 * p.x }));
  const [a, b] = [points, moved].map((list) => judge(sample(list, 1, [0, 10]), 1.3, 1e-2));
  assert.ok(Math.abs(a.deviance - b.deviance) < 1e-8);
  const data = sample(points, 1, [0, 10]);
  const landscape = startLandscape(data, WIDTHS, REGS).advance();
  const least = best(landscape, landscape.deviance);
  for (const y of REGS) {
    for (const x of WIDTHS) assert.ok(judge(data, 10 ** x, 10 ** y).deviance >= least.value);
  }
});

test("the pair is the most violating of all, the step the lowest point of its segment", () => {
  for (const second of [false, true]) {
    const state = prepare(few(), { features: "bias", width: 0.5, C: 1, rho: 1 });
    for (let k = 0; k < 40; k++) {
      const pair = pick(state, second);
      const { v, beta, lo, hi, K } = state;
      const m = v.length;
      let [widest, gain] = [0, 0];
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < m; j++) {
          if (!(beta[i] < hi[i] && beta[j] > lo[j] && v[i] > v[j])) continue;
          widest = Math.max(widest, v[i] - v[j]);
          const eta = K.data[i * m + i] + K.data[j * m + j] - 2 * K.data[i * m + j];
          if (i === pair.i) gain = Math.max(gain, (v[i] - v[j]) ** 2 / eta);
        }
      }
      assert.ok(Math.abs(pair.violation - widest) < 1e-12);
      if (second) assert.ok(Math.abs(pair.s ** 2 / pair.eta - gain) < 1e-9 * gain);
      else assert.ok(Math.abs(pair.s - widest) < 1e-12);
      const q = (d) => {
        const trial = { ...state, beta: Float64Array.from(beta) };
        trial.beta[pair.i] += d;
        trial.beta[pair.j] -= d;
        return measure(trial).q;
      };
      for (const d of range(0, pair.room, 21)) assert.ok(q(pair.step) <= q(d) + 1e-12);
      move(state, pair);
      assert.ok(state.beta.every((b, i) => b >= lo[i] && b <= hi[i]));
      assert.ok(Math.abs(state.beta.reduce((a, b) => a + b)) < 1e-12);
    }
  }
});

test("a frame of a drag costs its share with as many samples as there may be", () => {
  const random = randomNumbers(99);
  const plane = (n) => Array.from({ length: n }, () => {
    const [x, y] = [1.9 * (2 * random() - 1), 1.4 * (2 * random() - 1)];
    return { x, y, label: y - 0.4 * x + random() - 0.5 > 0 ? 1 : -1 };
  });
  const spend = (f) => {
    const before = work.done;
    f();
    return work.done - before;
  };
  const within = (spent) => assert.ok(spent <= SHARE + STEP + 0.5e6, `${spent}`);
  const [xs, ys] = [range(-2, 2, 49), range(-1.5, 1.5, 37)];
  const sixty = plane(60);
  const fits = follow((last) => beginLosses(sixty, { features: "quadratic", width: 0.3, reg: 1e-3 }, last));
  for (let f = 0; f < 20; f++) {
    sixty[3].x = Math.sin(f);
    within(spend(() => {
      const { shown } = fits.step(true);
      if (shown) Object.values(shown.machines).forEach((m) => onGrid(shown, m, xs, ys));
    }));
  }
  const forty = plane(40);
  let last = null;
  for (let f = 0; f < 10; f++) { // every frame of a drag starts the path anew
    forty[3].x = Math.sin(f);
    within(spend(() => {
      const problem = beginPath(forty, { features: "linear", width: 0.5 });
      last = problem.at(1, last);
      problem.path.advance(SHARE);
    }));
  }
  const line = Array.from({ length: 60 }, () => ({ x: 10 * random(), y: random() }));
  within(spend(() => {
    const data = sample(line, 2, [0, 10]);
    judge(data, 1, 1e-2);
    startLandscape(data, WIDTHS, REGS).advance(SHARE / 2);
  }));
  const state = prepare(plane(60), { features: "linear", width: 0.5, C: 10, rho: 1 });
  within(spend(() => prepare(plane(60), { features: "linear", width: 0.5, C: 10, rho: 1 })));
  within(spend(() => { for (let k = 0; k < 2000; k++) move(state, pick(state, true) ?? { i: 0, j: 1, step: 0 }); }));
});
