const slides = [...document.querySelectorAll("section")];
const notes = document.getElementById("notes");
const clock = document.getElementById("clock");
const start = Date.now();
let at = 0;

function fit(slide) {
  slide.style.fontSize = "";
  let size = parseFloat(getComputedStyle(slide).fontSize);
  while (slide.scrollHeight > slide.clientHeight + 1 && size > 13) {
    size *= 0.95;
    slide.style.fontSize = `${size}px`;
  }
}

function show(k) {
  at = Math.max(0, Math.min(slides.length - 1, k));
  slides.forEach((slide, n) => slide.classList.toggle("shown", n === at));
  const own = slides[at].querySelector(".notes");
  notes.innerHTML = own && own.innerHTML ? own.innerHTML : "<p>No notes.</p>";
  notes.scrollTop = 0;
  document.getElementById("place").textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${at + 1}`);
  fit(slides[at]);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const steps = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
  if (event.key in steps) show(at + steps[event.key]);
  else if (event.key === "Home") show(0);
  else if (event.key === "End") show(slides.length - 1);
  else if (event.key === "n") notes.hidden = !notes.hidden;
  else if (event.key === "t") clock.hidden = !clock.hidden;
  else return;
  event.preventDefault();
  fit(slides[at]);
});
addEventListener("click", (event) => {
  if (event.target.closest("a, aside, footer") || String(getSelection())) return;
  show(at + (event.clientX < innerWidth / 4 ? -1 : 1));
});
addEventListener("resize", () => fit(slides[at]));
addEventListener("hashchange", () => show((parseInt(location.hash.slice(1), 10) || 1) - 1));
setInterval(() => {
  clock.textContent = `${Math.floor((Date.now() - start) / 60000)} min`;
}, 1000);
show((parseInt(location.hash.slice(1), 10) || 1) - 1);
