// Predefined features: functions of a point that a learner may use for free.
//
// A feature map is a list of functions of a point.

import { matrix } from "./linalg.mjs";

/** The matrix P, P_ip = φ_p(x_i). */
export function evaluate(features, X) {
  return matrix(X.length, features.length, (i, p) => features[p](X[i]));
}

/** Monomials of total degree ≤ `degree` on the box [low, high]ᵈ scaled to [−1, 1]ᵈ; none for −1. */
export function polynomials(degree, low, high) {
  const center = low.map((l, k) => (l + high[k]) / 2);
  const half = low.map((l, k) => (high[k] - l) / 2 || 1);
  return exponents(degree, low.length).map((powers) => (x) => {
    let value = 1;
    for (let k = 0; k < powers.length; k++) value *= ((x[k] - center[k]) / half[k]) ** powers[k];
    return value;
  });
}

/** 1 and ‖x‖²: what is free is a circle around the origin. */
export function radial() {
  return [() => 1, (x) => x.reduce((sum, t) => sum + t * t, 0)];
}

function exponents(degree, d) {
  const out = [];
  const extend = (powers, left) => {
    if (powers.length === d - 1) out.push([...powers, left]);
    else for (let p = left; p >= 0; p--) extend([...powers, p], left - p);
  };
  for (let total = 0; total <= degree; total++) extend([], total);
  return out;
}
