// What unfolds a solution, or a box, is named after it: "Solution of exercise 1.3", and not all of them alike.

addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".toggle-button")) {
    const box = button.closest(".admonition");
    const title = box?.querySelector(":scope > .admonition-title");
    button.querySelector("svg")?.setAttribute("aria-hidden", "true");
    if (!title) continue;
    const words = title.textContent.replace(/\s+/g, " ").trim();
    const exercise = box.previousElementSibling?.querySelector(".admonition-title .caption-number");
    const number = box.classList.contains("solution") && exercise?.textContent.match(/[\d.]+\d/)?.[0];
    button.setAttribute("aria-label", number ? `Solution of exercise ${number}` : words);
  }
});
