// The playgrounds' modules, each against its definition.  Run by `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { begin as beginBasis } from "../../book/_playgrounds/basisfunctions.mjs";
import { begin as beginClassification, onGrid } from "../../book/_playgrounds/classification.mjs";
import { compute as computeRegression } from "../../book/_playgrounds/regression.mjs";
import { coordinates, orthonormalize, product, value } from "../../book/_playgrounds/basis.mjs";
import { conditionalSpace } from "../../book/_playgrounds/conditional.mjs";
import { contour, segments } from "../../book/_playgrounds/contour.mjs";
import { evaluate, polynomials, radial } from "../../book/_playgrounds/features.mjs";
import { factor, fit, printed26 } from "../../book/_playgrounds/grls.mjs";
import { cross, gaussian, gaussianOnGrid, gram } from "../../book/_playgrounds/kernels.mjs";
import * as la from "../../book/_playgrounds/linalg.mjs";
import { chooseMultipliers, leastDistance, nonnegativeLeastSquares } from "../../book/_playgrounds/multipliers.mjs";
import { range, ticks } from "../../book/_playgrounds/plot.mjs";
import { fitSVM } from "../../book/_playgrounds/svm.mjs";
import { digits, follow, randomNumbers, SHARE } from "../../book/_playgrounds/ui.mjs";

const random = randomNumbers(12345);
const uniform = () => 2 * random() - 1;
const randomMatrix = (m, n) => la.matrix(m, n, uniform);
const vector = (n) => Float64Array.from({ length: n }, uniform);
const close = (a, b, tol = 1e-9) => {
  assert.equal(a.length, b.length);
  for (let i = 0; i < a.length; i++) assert.ok(Math.abs(a[i] - b[i]) <= tol, `${i}: ${a[i]} and ${b[i]}`);
};
const multiply = (A, B) => la.matrix(A.rows, B.cols, (i, j) => {
  let sum = 0;
  for (let k = 0; k < A.cols; k++) sum += A.data[i * A.cols + k] * B.data[k * B.cols + j];
  return sum;
});
const transpose = (A) => la.matrix(A.cols, A.rows, (i, j) => A.data[j * A.cols + i]);
const identity = (n) => la.matrix(n, n, (i, j) => (i === j ? 1 : 0));

test("cholesky, triangular solves and inverse", () => {
  const B = randomMatrix(12, 12);
  const A = multiply(B, transpose(B));
  const L = la.cholesky(A, 0.1);
  const shifted = la.matrix(12, 12, (i, j) => A.data[12 * i + j] + (i === j ? 0.1 : 0));
  close(multiply(L, transpose(L)).data, shifted.data);
  const x = vector(12);
  close(la.times(L, la.forward(L, x)), x);
  close(la.times(transpose(L), la.backward(L, x)), x);
  close(multiply(L, la.lowerInverse(L)).data, identity(12).data);
  close(multiply(L, la.forwardColumns(L, B)).data, B.data);
  assert.equal(la.cholesky(la.matrix(2, 2, (i, j) => (i === j ? 0 : 1))), null);
});

test("small solves, and a singular matrix is said to be one", () => {
  const A = randomMatrix(5, 5);
  const B = randomMatrix(5, 3);
  close(multiply(A, la.solve(A, B)).data, B.data);
  assert.equal(la.solve(la.fromRows([[1, 2], [2, 4]]), identity(2)), null);
});

test("singular values, of a matrix of full and of lower rank", () => {
  for (const A of [randomMatrix(9, 4), multiply(randomMatrix(9, 2), randomMatrix(2, 4))]) {
    const { U, s, V } = la.svd(A);
    const back = multiply(la.matrix(9, 4, (i, j) => U.data[4 * i + j] * s[j]), transpose(V));
    close(back.data, A.data);
    close(multiply(transpose(V), V).data, identity(4).data);
    assert.ok(s.every((v, k) => k === 0 || v <= s[k - 1]));
  }
  assert.equal(la.rankOf(la.svd(multiply(randomMatrix(9, 2), randomMatrix(2, 4))).s, 1e-10), 2);
});

test("least-norm solutions", () => {
  const A = randomMatrix(2, 5);
  const b = vector(2);
  const { x, N, rank } = la.leastNorm(A, b);
  close(la.times(A, x), b);
  assert.equal(rank, 2);
  close(multiply(A, N).data, new Float64Array(6));
  close(la.transposeTimes(N, x), new Float64Array(3));
});

test("nonnegative least squares satisfies its optimality conditions", () => {
  for (let trial = 0; trial < 20; trial++) {
    const rows = Array.from({ length: 12 }, () => vector(4));
    const b = vector(4);
    const u = nonnegativeLeastSquares(rows, b);
    const r = b.map((v, k) => v - rows.reduce((sum, a, i) => sum + u[i] * a[k], 0));
    rows.forEach((a, i) => {
      assert.ok(u[i] >= 0);
      assert.ok(la.dot(a, r) < 1e-9);
      if (u[i] > 1e-9) assert.ok(Math.abs(la.dot(a, r)) < 1e-9);
    });
  }
});

test("least distance: feasible, and no feasible point is nearer", () => {
  const G = [[1, 0], [0, 1], [1, 1]].map((r) => Float64Array.from(r));
  close(leastDistance(G, [1, -5, 3]), [1.5, 1.5]);
  close(leastDistance(G, [2, -5, 3]), [2, 1]);
  assert.equal(leastDistance([[1], [-1]].map((r) => Float64Array.from(r)), [1, 1]), null);
});

test("the rule for λ: least norm among those that separate", () => {
  const Q = la.fromRows([[0.6], [-0.8]]);
  const y = Float64Array.from([1, -1]);
  const nu = chooseMultipliers(new Float64Array(2), Q, y, Int8Array.from([-1, -1]));
  close(nu, [1 / 0.6]);
});

test("kernels: the grid is the sum", () => {
  const X = [[0.2, -0.3], [1, 0.5], [-1, 0.1]];
  const c = [1, -2, 0.5];
  const xs = range(-1, 1, 5);
  const ys = range(-1, 1, 4);
  const points = ys.flatMap((y) => xs.map((x) => [x, y]));
  close(gaussianOnGrid(0.7, X, c, xs, ys), la.times(cross(gaussian(0.7), points, X), c));
});

test("features", () => {
  const P = evaluate(polynomials(2, [0, 0], [2, 2]), [[2, 1], [0, 2]]);
  close(P.data, [1, 1, 0, 1, 0, 0, 1, -1, 1, 1, -1, 1]);
  assert.equal(polynomials(-1, [0], [1]).length, 0);
  close(evaluate(radial(), [[3, 4]]).data, [1, 25]);
});

test("G-RLS: the saddle system, leave-one-out by refitting, (26) exact at the anchors", () => {
  const X = Array.from({ length: 15 }, () => [10 * random()]);
  const y = vector(15);
  const G = gram(gaussian(1.5), X);
  const P = evaluate(polynomials(2, [0], [10]), X);
  const reg = 1e-2;
  const full = fit(G, P, y, reg, factor(G, reg));
  const Gc = la.times(G, full.c);
  const Pl = la.times(P, full.lam);
  close(Gc.map((v, i) => v + 15 * reg * full.c[i] + Pl[i]), y);
  close(la.transposeTimes(P, full.c), new Float64Array(3));
  for (const i of [0, 7]) {
    const others = X.map((_, k) => k).filter((k) => k !== i);
    const part = fit(la.select(G, others, others), la.select(P, others), others.map((k) => y[k]), (reg * 15) / 14);
    const at = others.reduce((sum, k, j) => sum + G.data[15 * i + k] * part.c[j], 0) +
      la.dot(P.data.subarray(3 * i, 3 * i + 3), part.lam);
    assert.ok(Math.abs(full.loo[i] - (y[i] - at)) < 1e-9);
  }
  const wrong = printed26(G, P, y, reg);
  close(wrong.values.slice(0, 3), y.slice(0, 3));
  assert.ok(wrong.objective > full.objective);
  assert.equal(printed26(G, la.matrix(15, 2, () => 1), y, reg), null);
});

test("conditional kernel: zero at the anchors, cardinal features there", () => {
  const anchors = [[1], [4], [8]];
  const space = conditionalSpace(gaussian(2), polynomials(2, [0], [10]), anchors);
  close(space.cardinal(anchors).data, identity(3).data);
  close(space.H(anchors, [[2], [3.3]]).data, new Float64Array(6));
  close(space.K(anchors).data, identity(3).data);
  assert.equal(conditionalSpace(gaussian(2), polynomials(1, [0], [10]), [[3], [3]]), null);
});

test("basis: norm one, orthonormal, dependent functions left out", () => {
  const f = { center: 1, width: 0.5 };
  const g = { center: 1.6, width: 1.4 };
  const xs = range(-12, 14, 20001);
  const h = xs[1] - xs[0];
  const integral = (u) => xs.reduce((sum, x) => sum + u(x) * h, 0);
  assert.ok(Math.abs(integral((x) => value(f, x) * value(g, x)) - product(f, g)) < 1e-9);
  const basis = orthonormalize([f, g, f, { center: 3, width: 1 }]);
  assert.equal(basis.kept.length, 3);
  const Z = xs.map((x) => coordinates(basis, x));
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j <= i; j++) {
      const inner = Z.reduce((sum, z) => sum + z[i] * z[j] * h, 0);
      assert.ok(Math.abs(inner - (i === j ? 1 : 0)) < 1e-8);
    }
  }
});

test("SVM-GB: certified for every start, also the warm one, and where the features separate", () => {
  for (const m of [8, 40, 120]) {
    for (const [degree, width, C] of [[0, 0.5, 1], [1, 0.3, 100], [2, 1, 10], [1, 3, 1]]) {
      const X = Array.from({ length: m }, () => [uniform(), uniform()]);
      const y = Float64Array.from(X, (x) => (Math.sin(4 * x[0]) + x[1] + 0.4 * uniform() > 0 ? 1 : -1));
      const features = polynomials(degree, [-1, -1], [1, 1]);
      let last = null;
      for (let step = 0; step < 4; step++) {
        const now = fitSVM(gram(gaussian(width), X), evaluate(features, X), y, C, last);
        assert.ok(now.gap <= 1e-8 * (now.primal + C), `gap ${now.gap} of ${now.primal}`);
        close(la.transposeTimes(evaluate(features, X), now.beta), new Float64Array(features.length), 1e-9 * C);
        assert.ok(now.alpha.every((a) => a >= 0 && a <= C));
        last = now;
        X[0] = [uniform(), uniform()];
      }
    }
  }
});

test("marching squares", () => {
  assert.deepEqual(segments([1, 1, 1, 1]), []);
  assert.deepEqual(segments([-1, 1, 1, -1]), [[0, 2]]);
  assert.equal(segments([1, -1, 1, -1]).length, 2);
  const same = (v) => v;
  assert.equal(contour([-1, 1, -1, 1], [0, 1], [0, 1], 0, same, same), "M0.5 0.0L0.5 1.0");
});

test("numbers and ticks", () => {
  assert.equal(digits(0.1234567), "0.123457");
  assert.equal(digits(1e-9), "1.00000e-9");
  assert.equal(digits(NaN), "–");
  close(ticks([-2, 6]), [-2, 0, 2, 4, 6]);
  assert.ok(ticks([-0.05, 0.07]).includes(0));
  const again = randomNumbers(12345);
  assert.ok(Array.from({ length: 1000 }, again).every((v) => v >= 0 && v < 1));
});

// What a frame costs, in multiplications: the same on every machine.  A frame that no longer fits its
// share spends more than SHARE by one step of a fit, a factor of a 200 × 200 matrix.
const STEP = 1.9e6;

/** Drag a point through `frames` frames, then wait; every frame is charged to `spent`. */
function drag(point, begin, frames, draw = () => {}) {
  const fits = follow(begin);
  let state = { done: false };
  for (let f = 0; f < 100 && !state.done; f++) state = fits.step(f === 0); // the page has loaded
  const spent = [];
  let settling = 0;
  for (let f = 0; f < frames || !state.done; f++) {
    if (f < frames) [point.x, point.y] = [1.5 * Math.sin(f / 5), Math.cos(f / 4)];
    const before = la.work.done;
    state = fits.step(f < frames);
    draw(state.shown);
    spent.push(la.work.done - before);
    settling += f >= frames;
    assert.ok(settling < 20, "a drag that has stopped is still not solved after twenty frames");
  }
  return { spent, shown: state.shown };
}

test("a frame of a drag costs its share with 200 points: classification, every feature set", () => {
  const points = Array.from({ length: 200 }, () => {
    const [x, y] = [1.95 * uniform(), 1.45 * uniform()];
    return { x, y, label: Math.sin(2 * x) + y + 0.3 * uniform() > 0 ? 1 : -1 };
  });
  const xs = range(-2, 2, 41);
  const ys = range(-1.5, 1.5, 31);
  for (const features of ["bias", "linear", "quadratic", "radial"]) {
    for (const width of [0.1, 3]) {
      for (const C of [0.01, 1000]) {
        const begin = (last) => beginClassification(points, { features, width, C }, last);
        const { spent, shown } = drag(points[7], begin, 10, (f) => onGrid(f, xs, ys));
        const most = Math.max(...spent);
        assert.ok(most <= SHARE + STEP + 0.5e6, `${features}, σ ${width}, C ${C}: ${most}`);
        assert.ok(shown.done && shown.gap <= 1e-8 * (shown.primal + C));
      }
    }
  }
});

test("a frame of a drag costs its share: basis functions, with their earlier steps", () => {
  const points = Array.from({ length: 200 }, () => {
    const x = 5 + 5 * uniform();
    return { x, y: Math.sin(2 * x) + 0.3 * uniform() > 0 ? 1 : -1 };
  });
  const functions = points.slice(0, 12).map(({ x }, k) => ({ x, y: [0.5, 1, 2][k % 3] }));
  for (const C of [0.01, 1000]) {
    const fits = follow((last) => beginBasis(points, functions, { C, degree: 1 }, last));
    let state = { done: false };
    for (let f = 0; f < 400 && !state.done; f++) {
      const before = la.work.done;
      functions[3].x = 5 + Math.sin(Math.min(f, 10) / 6);
      state = fits.step(f <= 10);
      const spent = la.work.done - before;
      assert.ok(spent <= SHARE + STEP + 0.5e6, `C ${C}: ${spent}`);
    }
    assert.ok(state.done);
    assert.equal(state.shown.steps.length, 12);
    state.shown.steps.forEach((v, k) => assert.ok(k === 0 || v <= state.shown.steps[k - 1] * (1 + 1e-9)));
    assert.ok(state.shown.gap <= 1e-8 * (state.shown.primal + C));
  }
});

test("a frame of a drag costs its share with 200 points: regression, all curves", () => {
  const points = Array.from({ length: 200 }, () => ({ x: 5 + 5 * uniform(), y: 2 + 3 * uniform() }));
  const settings = { width: 0.5, reg: 1e-2, degree: 4, at: 5, printed: true };
  const before = la.work.done;
  computeRegression(points, settings, range(0, 10, 121));
  assert.ok(la.work.done - before <= SHARE + 2 * STEP, `${la.work.done - before}`);
});

test("what is shown before a fit is done is proved by its gap", () => {
  const points = Array.from({ length: 60 }, () => ({ x: uniform(), y: uniform(), label: uniform() > 0 ? 1 : -1 }));
  const settings = { features: "linear", width: 1, C: 10 };
  const fit = beginClassification(points, settings);
  const best = beginClassification(points, settings).advance();
  let before = Infinity;
  while (!fit.done) {
    const now = fit.advance(0);
    if (!now) continue;
    assert.ok(now.dual <= best.primal + 1e-9 && now.primal >= best.primal - 1e-9);
    assert.ok(now.primal - best.primal <= now.gap + 1e-9);
    before = now.gap;
  }
  assert.ok(before <= 1e-8 * (best.primal + 10));
});
