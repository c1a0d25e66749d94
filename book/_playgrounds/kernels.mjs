// The Gaussian kernel exp(−‖x−x'‖²/σ²); points are arrays of coordinates, σ is `width`.

import { matrix, work } from "./linalg.mjs";

const EXP = 10; // what an exponential costs, in multiplications

export function gaussian(width) {
  const scale = 1 / (width * width);
  return (x, z) => {
    let square = 0;
    for (let k = 0; k < x.length; k++) square += (x[k] - z[k]) * (x[k] - z[k]);
    return Math.exp(-square * scale);
  };
}

/** The symmetric matrix Φ(x_i, x_j). */
export function gram(kernel, X) {
  const m = X.length;
  work.done += EXP * (m * (m + 1)) / 2;
  const G = matrix(m, m);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j <= i; j++) G.data[i * m + j] = G.data[j * m + i] = kernel(X[i], X[j]);
  }
  return G;
}

/** The matrix Φ(x_i, z_j). */
export function cross(kernel, X, Z) {
  work.done += EXP * X.length * Z.length;
  return matrix(X.length, Z.length, (i, j) => kernel(X[i], Z[j]));
}

/**
 * Σ c_i exp(−‖x_i−·‖²/σ²) on the grid xs × ys, row by row of ys.
 *
 * A Gaussian in the plane is a product of two on the line: a sample costs one product a grid point.
 */
export function gaussianOnGrid(width, X, c, xs, ys) {
  const out = new Float64Array(xs.length * ys.length);
  const along = new Float64Array(xs.length);
  for (let i = 0; i < X.length; i++) {
    if (c[i] === 0) continue;
    work.done += xs.length * ys.length + EXP * (xs.length + ys.length);
    for (let j = 0; j < xs.length; j++) along[j] = Math.exp(-(((xs[j] - X[i][0]) / width) ** 2));
    for (let r = 0, at = 0; r < ys.length; r++) {
      const factor = c[i] * Math.exp(-(((ys[r] - X[i][1]) / width) ** 2));
      for (let j = 0; j < xs.length; j++, at++) out[at] += factor * along[j];
    }
  }
  return out;
}
