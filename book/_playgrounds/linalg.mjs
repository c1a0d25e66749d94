// Dense linear algebra, as much of it as the playgrounds need.
//
// A vector is a Float64Array, a matrix { rows, cols, data } with its rows one after the other.
//
// Whatever multiplies in a loop says how often: `work.done` counts, so that a fit can stop when its
// share of a frame is spent, and a test can count what a frame costs on any machine.

export const work = { done: 0 };

export function matrix(rows, cols, entry) {
  const data = new Float64Array(rows * cols);
  if (entry) {
    for (let i = 0, k = 0; i < rows; i++) for (let j = 0; j < cols; j++, k++) data[k] = entry(i, j);
  }
  return { rows, cols, data };
}

export function fromRows(rows, cols = rows.length ? rows[0].length : 0) {
  return matrix(rows.length, cols, (i, j) => rows[i][j]);
}

export function dot(x, y) {
  work.done += x.length;
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

/** Ax. */
export function times(A, x) {
  const { rows, cols, data } = A;
  work.done += rows * cols;
  const out = new Float64Array(rows);
  for (let i = 0, k = 0; i < rows; i++) {
    let sum = 0;
    for (let j = 0; j < cols; j++, k++) sum += data[k] * x[j];
    out[i] = sum;
  }
  return out;
}

/** Aᵀx. */
export function transposeTimes(A, x) {
  const { rows, cols, data } = A;
  work.done += rows * cols;
  const out = new Float64Array(cols);
  for (let i = 0, k = 0; i < rows; i++) for (let j = 0; j < cols; j++, k++) out[j] += data[k] * x[i];
  return out;
}

/** The rows of A, and the columns if they are named too. */
export function select(A, rows, cols) {
  if (!cols) return matrix(rows.length, A.cols, (i, j) => A.data[rows[i] * A.cols + j]);
  return matrix(rows.length, cols.length, (i, j) => A.data[rows[i] * A.cols + cols[j]]);
}

/** Lower triangular L with LLᵀ = A + diag(shift), or null if that is not positive definite. */
export function cholesky(A, shift = 0) {
  const n = A.rows;
  work.done += n ** 3 / 6;
  const L = matrix(n, n);
  const a = A.data;
  const l = L.data;
  for (let i = 0; i < n; i++) {
    const row = i * n;
    for (let j = 0; j <= i; j++) {
      const other = j * n;
      let sum = a[row + j] - dotOfRows(l, row, other, j);
      if (j < i) l[row + j] = sum / l[other + j];
      else {
        sum += typeof shift === "number" ? shift : shift[i];
        if (!(sum > 0)) return null;
        l[row + i] = Math.sqrt(sum);
      }
    }
  }
  return L;
}

/** Σ l[p + k] l[q + k] over k < n, in four sums: they do not wait for each other. */
function dotOfRows(l, p, q, n) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let k = 0;
  for (; k + 3 < n; k += 4) {
    s0 += l[p + k] * l[q + k];
    s1 += l[p + k + 1] * l[q + k + 1];
    s2 += l[p + k + 2] * l[q + k + 2];
    s3 += l[p + k + 3] * l[q + k + 3];
  }
  for (; k < n; k++) s0 += l[p + k] * l[q + k];
  return s0 + s1 + (s2 + s3);
}

/** x with Lx = b. */
export function forward(L, b) {
  const n = L.rows;
  work.done += n ** 2 / 2;
  const l = L.data;
  const x = Float64Array.from(b);
  for (let i = 0; i < n; i++) {
    let sum = x[i];
    for (let k = 0, at = i * n; k < i; k++, at++) sum -= l[at] * x[k];
    x[i] = sum / l[i * n + i];
  }
  return x;
}

/** x with Lᵀx = b. */
export function backward(L, b) {
  const n = L.rows;
  work.done += n ** 2 / 2;
  const l = L.data;
  const x = Float64Array.from(b);
  for (let i = n - 1; i >= 0; i--) {
    x[i] /= l[i * n + i];
    for (let k = 0, at = i * n; k < i; k++, at++) x[k] -= l[at] * x[i];
  }
  return x;
}

/** L⁻¹B, column by column of B. */
export function forwardColumns(L, B) {
  const n = L.rows;
  const l = L.data;
  const k = B.cols;
  work.done += (n ** 2 * k) / 2;
  const X = { rows: n, cols: k, data: Float64Array.from(B.data) };
  for (let i = 0; i < n; i++) {
    for (let p = 0; p < i; p++) {
      const factor = l[i * n + p];
      for (let j = 0; j < k; j++) X.data[i * k + j] -= factor * X.data[p * k + j];
    }
    for (let j = 0; j < k; j++) X.data[i * k + j] /= l[i * n + i];
  }
  return X;
}

/** L⁻¹, lower triangular. */
export function lowerInverse(L) {
  const n = L.rows;
  work.done += n ** 3 / 6;
  const l = L.data;
  const out = matrix(n, n);
  const x = out.data;
  for (let i = 0; i < n; i++) {
    const row = i * n;
    let k = 0;
    for (; k + 3 < i; k += 4) { // four rows at a time; what is above the diagonal is zero
      const at = k * n;
      const f0 = l[row + k];
      const f1 = l[row + k + 1];
      const f2 = l[row + k + 2];
      const f3 = l[row + k + 3];
      for (let j = 0; j <= k + 3; j++) {
        x[row + j] -= f0 * x[at + j] + f1 * x[at + n + j] + f2 * x[at + 2 * n + j] + f3 * x[at + 3 * n + j];
      }
    }
    for (; k < i; k++) {
      const factor = l[row + k];
      for (let j = 0, at = k * n; j <= k; j++, at++) x[row + j] -= factor * x[at];
    }
    for (let j = 0; j < i; j++) x[row + j] /= l[row + i];
    x[row + i] = 1 / l[row + i];
  }
  return out;
}

/** X with AX = B for a small square A (Gauss with row exchanges), or null if A is singular. */
export function solve(A, B) {
  const n = A.rows;
  work.done += n ** 2 * (n + B.cols);
  const a = Float64Array.from(A.data);
  const X = { rows: n, cols: B.cols, data: Float64Array.from(B.data) };
  const size = Math.max(...a.map(Math.abs));
  const swap = (data, cols, i, j) => {
    for (let k = 0; k < cols; k++) {
      [data[i * cols + k], data[j * cols + k]] = [data[j * cols + k], data[i * cols + k]];
    }
  };
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let i = c + 1; i < n; i++) if (Math.abs(a[i * n + c]) > Math.abs(a[pivot * n + c])) pivot = i;
    if (!(Math.abs(a[pivot * n + c]) > 1e-12 * size)) return null;
    swap(a, n, c, pivot);
    swap(X.data, X.cols, c, pivot);
    for (let i = 0; i < n; i++) {
      if (i === c) continue;
      const factor = a[i * n + c] / a[c * n + c];
      for (let k = c; k < n; k++) a[i * n + k] -= factor * a[c * n + k];
      for (let k = 0; k < X.cols; k++) X.data[i * X.cols + k] -= factor * X.data[c * X.cols + k];
    }
  }
  for (let i = 0; i < n; i++) for (let k = 0; k < X.cols; k++) X.data[i * X.cols + k] /= a[i * n + i];
  return X;
}

/**
 * A = U diag(s) Vᵀ by one-sided Jacobi rotations; s falls.  For matrices with few columns.
 *
 * The columns of U that belong to s = 0 are zero; V is square and orthogonal.
 */
export function svd(A) {
  const { rows: m, cols: n } = A;
  const columns = Array.from({ length: n }, (_, j) =>
    Float64Array.from({ length: m }, (_, i) => A.data[i * n + j]));
  const turns = Array.from({ length: n }, (_, j) =>
    Float64Array.from({ length: n }, (_, i) => (i === j ? 1 : 0)));
  const rotate = (x, y, cos, sin) => {
    work.done += 4 * x.length;
    for (let i = 0; i < x.length; i++) {
      const a = x[i];
      x[i] = cos * a - sin * y[i];
      y[i] = sin * a + cos * y[i];
    }
  };
  for (let sweep = 0, moved = true; moved && sweep < 40; sweep++) {
    moved = false;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const a = dot(columns[p], columns[p]);
        const b = dot(columns[q], columns[q]);
        const c = dot(columns[p], columns[q]);
        if (Math.abs(c) <= 1e-15 * Math.sqrt(a * b) || c === 0) continue;
        moved = true;
        const zeta = (b - a) / (2 * c);
        const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cos = 1 / Math.hypot(1, t);
        rotate(columns[p], columns[q], cos, cos * t);
        rotate(turns[p], turns[q], cos, cos * t);
      }
    }
  }
  const length = columns.map((x) => Math.sqrt(dot(x, x)));
  const order = length.map((_, j) => j).sort((i, j) => length[j] - length[i]);
  const unit = (j) => (length[j] > 0 ? 1 / length[j] : 0);
  return {
    U: matrix(m, n, (i, j) => columns[order[j]][i] * unit(order[j])),
    s: Float64Array.from(order, (j) => length[j]),
    V: matrix(n, n, (i, j) => turns[order[j]][i]),
  };
}

/** How many singular values exceed rtol times the largest. */
export function rankOf(s, rtol) {
  let rank = 0;
  while (rank < s.length && s[rank] > rtol * s[0] && s[rank] > 0) rank++;
  return rank;
}

/** The x of least norm that fits Ax = b best, and a basis N of what A leaves open. */
export function leastNorm(A, b, rtol = 1e-8) {
  const { U, s, V } = svd(A);
  const n = A.cols;
  const rank = A.rows ? rankOf(s, rtol) : 0;
  const along = transposeTimes(U, b);
  const x = new Float64Array(n);
  for (let k = 0; k < rank; k++) for (let j = 0; j < n; j++) x[j] += (V.data[j * n + k] * along[k]) / s[k];
  return { x, rank, N: matrix(n, n - rank, (i, j) => V.data[i * n + rank + j]) };
}
