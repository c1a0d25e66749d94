// The key / opens the search, like Ctrl+K, unless the reader is typing.

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const field = document.querySelector(".bd-search-container input") ?? null;
  const button = document.querySelector(".search-button__button");
  if (!field && !button) return;
  event.preventDefault();
  if (field) field.focus();
  else button.click();
});
