// Outputs as elements, in the form that the stored ones have.

import { withoutColours } from "./messages.mjs";

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** One output; `alt` describes the stored picture that this one replaces. */
export function render(output, alt) {
  if (output.kind === "stream") return lines(output.text, output.name === "stderr" ? "kb-error" : "");
  if (output.kind === "error") return lines(output.text || `${output.name}: ${output.value}`, "kb-error");
  const { data } = output;
  const picture = data["image/png"] ? `data:image/png;base64,${text(data["image/png"])}`
    : data["image/svg+xml"] ? `data:image/svg+xml;utf8,${encodeURIComponent(text(data["image/svg+xml"]))}` : null;
  if (picture) {
    const words = alt ? `Drawn anew on this page. The stored picture shows: ${alt}` : "A picture drawn on this page";
    return element("img", { src: picture, alt: words });
  }
  if (data["text/html"]) {
    const box = element("div", { class: "output text_html" });
    box.innerHTML = text(data["text/html"]); // what the reader's own kernel has made
    return box;
  }
  return lines(withoutColours(text(data["text/markdown"] ?? data["text/plain"] ?? "")));
}

/** Multi-line strings may come in pieces. */
const text = (value) => (Array.isArray(value) ? value.join("") : String(value));

function lines(content, kind = "") {
  const pre = element("pre", {}, content);
  return element("div", { class: `output stream highlight ${kind}`.trim() }, pre);
}
