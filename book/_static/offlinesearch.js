// The search page: texts that were stored beside it, and terms of the glossary by their names.

document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  if (location.protocol === "file:") {
    window.fetch = (url) => {
      const name = Object.keys(SEARCH_TEXTS).find((n) => String(url).split("#")[0].endsWith(`${n}.html`));
      return Promise.resolve({ ok: true, text: () => Promise.resolve(SEARCH_TEXTS[name] ?? "") });
    };
    Search.htmlToText = (text) => text;
  }
  const nameTerms = () => {
    for (const link of document.querySelectorAll('#search-results a[href*="#term-"]:not([data-term])')) {
      const term = decodeURIComponent(link.getAttribute("href").split("#term-")[1]).replaceAll("-", " ");
      link.dataset.term = term;
      link.textContent += `: ${term}`;
    }
  };
  const results = document.getElementById("search-results");
  if (results) new MutationObserver(nameTerms).observe(results, { childList: true, subtree: true });
});
