// Formulas are set after the page can be used: those on the screen first, the others a few at a time.
//
// `KERNELBOOK_MATH` is resolved when the last one is set.

window.KERNELBOOK_MATH = (() => {
  const config = document.querySelector("script[data-mathjax]");
  if (!config) return Promise.resolve();
  const BATCH = 20;
  const turn = () => new Promise((done) => setTimeout(done));
  const load = () => new Promise((done, fail) => {
    const script = document.createElement("script");
    window.MathJax.startup = { ...window.MathJax.startup, typeset: false };
    Object.assign(script, { src: config.dataset.mathjax, async: true, onload: done, onerror: fail });
    document.head.append(script);
  });
  const ready = document.readyState === "loading"
    ? new Promise((done) => addEventListener("DOMContentLoaded", done)) : Promise.resolve();
  const set = async () => {
    await ready;
    const found = [...document.querySelectorAll(".math")];
    if (!found.length) return;
    await load();
    await window.MathJax.startup.promise;
    const middle = innerHeight / 2;
    const far = new Map(found.map((e) => [e, e.offsetParent ? Math.abs(e.getBoundingClientRect().top - middle) : 1e9]));
    found.sort((a, b) => far.get(a) - far.get(b));
    for (let i = 0; i < found.length; i += BATCH) {
      await window.MathJax.typesetPromise(found.slice(i, i + BATCH));
      await turn();
    }
  };
  return set();
})();
