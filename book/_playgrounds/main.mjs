// Finds the places for playgrounds in the page and fills them.

import { anchors } from "./anchors.mjs";
import { basisFunctions } from "./basisfunctions.mjs";
import { classification } from "./classification.mjs";
import { likelihood } from "./likelihood.mjs";
import { losses } from "./losses.mjs";
import { path } from "./path.mjs";
import { regression } from "./regression.mjs";
import { smo } from "./smo.mjs";

const PLAYGROUNDS = {
  anchors, "basis-functions": basisFunctions, classification, likelihood, losses, path, regression, smo,
};

export function start(page) {
  for (const root of page.querySelectorAll("[data-playground]")) {
    PLAYGROUNDS[root.dataset.playground](root);
  }
}

if (typeof document !== "undefined") {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start(document));
  else start(document);
}
