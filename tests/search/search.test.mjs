// The ranking of the search: phrases before words, titles before texts.  Run by `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { around, plain, prepare, rank, stem } from "../../book/_search/rank.mjs";

const entries = prepare([
  ["a", "Choosing", [["", "Choosing", "We leave one sample out and look at what is left.", false]]],
  ["b", "Least squares", [
    ["", "Least squares", "Kriging is least squares.", false],
    ["loo", "Leaving one out", "Leave-one-out errors cost nothing.", false],
  ]],
  ["g", "Glossary", [["term-k", "kriging", "Prediction of a random field.", true]]],
]);
const titles = (question) => rank(entries, question).map(({ entry }) => entry.title);

test("words are compared without case, accents, hyphens and quotes", () => {
  assert.equal(plain("Leave‑one-out, “naïve”"), "leave one out naive");
  assert.equal(stem("leaving"), "leav");
});

test("a phrase comes before its words, a title before a text", () => {
  assert.deepEqual(titles("leave one out"), ["Leaving one out", "Choosing"]);
  assert.deepEqual(titles("kriging"), ["kriging", "Least squares"]);
  assert.deepEqual(titles("no such words"), []);
  assert.deepEqual(titles(""), []);
});

test("the line under a result shows the place", () => {
  const [before, place, after] = around(`${"x ".repeat(200)}the leave-one-out errors ${"y ".repeat(200)}`, "leave one out");
  assert.equal(place, "leave-one-out");
  assert.ok(before.startsWith("… ") && before.length < 120);
  assert.ok(after.endsWith(" …"));
  assert.deepEqual(around("nothing here", "absent"), ["nothing here", "", ""]);
  assert.equal(around("f(x) is 1.", "f(x")[1] !== undefined, true);
});
