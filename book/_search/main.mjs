// The search page: results while the reader types, from the index that is loaded with it.

import { around, plain, prepare, rank } from "./rank.mjs";

const MOST = 40;

export function start(page, pages) {
  const results = page.getElementById("search-results");
  const field = page.querySelector(".bd-search-container input[name=q]");
  if (!results || !field) return;
  const entries = prepare(pages);
  const show = () => {
    const question = field.value;
    const found = rank(entries, question);
    const words = !plain(question) ? "" : found.length === 1 ? "One section has it." : `${found.length} sections have it.`;
    const none = "No section has these words. A shorter form may be found, and the index lists the terms.";
    const status = node("p", { class: "kb-found", role: "status" }, plain(question) && !found.length ? none : words);
    const list = node("ul", { class: "search" });
    for (const { entry } of found.slice(0, MOST)) list.append(item(entry, question));
    results.replaceChildren(status, list);
    results.dataset.state = "ready";
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
    show();
  });
  field.addEventListener("input", show);
  show();
}

function item({ page, pageTitle, id, title, text, first, term }, question) {
  const highlight = encodeURIComponent(plain(question));
  const link = node("a", { href: `${page}.html?highlight=${highlight}${first || !id ? "" : `#${id}`}` }, title || pageTitle);
  if (term) link.dataset.term = title;
  const [before, place, after] = around(text, question);
  return node("li", {}, link, first ? "" : node("span", { class: "kb-where" }, ` ${pageTitle}`),
    node("p", { class: "context" }, before, place ? node("mark", {}, place) : "", after));
}

function node(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

if (typeof document !== "undefined") {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => start(document, BOOK_TEXTS));
  else start(document, BOOK_TEXTS);
}
