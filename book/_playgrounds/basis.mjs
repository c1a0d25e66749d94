// Gaussians of any widths on the line, of norm one in L₂, made orthonormal one at a time.
//
//     f_j(x) = (2/πσ²)^¼ exp(−(x−z)²/σ²),   ⟨f, f'⟩ = √(2σσ'/(σ²+σ'²)) exp(−(z−z')²/(σ²+σ'²))
//
// A function is { center, width }.  Gram–Schmidt is a growing Cholesky factor G = LLᵀ: a new function
// is a new row, and what was computed before stays.  x̂ = L⁻¹f(x) are the coordinates of a sample.

import { forward, matrix } from "./linalg.mjs";

export function value({ center, width }, x) {
  return Math.sqrt(Math.sqrt(2 / Math.PI) / width) * Math.exp(-(((x - center) / width) ** 2));
}

export function product(f, g) {
  const s = f.width ** 2 + g.width ** 2;
  return Math.sqrt((2 * f.width * g.width) / s) * Math.exp(-((f.center - g.center) ** 2) / s);
}

/** The functions that are not combinations of those before, their positions, and L on them. */
export function orthonormalize(functions) {
  const kept = [];
  const positions = [];
  const rows = [];
  functions.forEach((f, position) => {
    const row = new Float64Array(kept.length + 1);
    let rest = 1;
    for (let j = 0; j < kept.length; j++) {
      let sum = product(f, kept[j]);
      for (let k = 0; k < j; k++) sum -= row[k] * rows[j][k];
      row[j] = sum / rows[j][j];
      rest -= row[j] * row[j];
    }
    if (rest <= 1e-12) return;
    row[kept.length] = Math.sqrt(rest);
    kept.push(f);
    positions.push(position);
    rows.push(row);
  });
  return { kept, positions, L: matrix(rows.length, rows.length, (i, j) => (j <= i ? rows[i][j] : 0)) };
}

/** x̂ = (e_1(x), …, e_M(x)). */
export function coordinates({ kept, L }, x) {
  return forward(L, kept.map((f) => value(f, x)));
}

/** The matrix with a row x̂_i for each sample. */
export function coordinateMatrix(basis, xs) {
  const rows = xs.map((x) => coordinates(basis, x));
  return matrix(xs.length, basis.kept.length, (i, j) => rows[i][j]);
}
