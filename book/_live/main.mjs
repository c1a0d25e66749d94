// Makes the code cells of a page run, where `make live` serves it; elsewhere each says how to get there.
//
// No cell runs by itself.  The cells of a page share one kernel, which starts with the first run.

import { Cell } from "./cells.mjs";
import { Kernel, TROUBLE } from "./kernel.mjs";
import { element } from "./outputs.mjs";

/** `live` is { root }, the address under which the server has the book, or null. */
export function start(page, live) {
  const nodes = [...page.querySelectorAll(".cell:has(> .cell_input, > details > .cell_input)")];
  if (!nodes.length) return;
  const cells = [];
  const panel = live && new Panel(page, () => restart());
  const kernel = live && new Kernel({
    folder: chapterFolder(location.pathname, live.root),
    memory: memory(location.pathname),
    changed: (state) => panel.show(state),
    fetch: (...request) => fetch(...request),
    socket: (path) => new WebSocket(`${location.origin.replace(/^http/, "ws")}${path}`),
    cookie: (name) => page.cookie.match(new RegExp(`(?:^|; )${name}=([^;]*)`))?.[1],
    id: () => crypto.randomUUID(),
  });
  let queue = Promise.resolve();

  /** One after the other; the first that fails ends the run. */
  function run(some) {
    const todo = some.filter((cell) => !cell.busy);
    todo.forEach((cell) => cell.start());
    queue = queue.then(async () => {
      let failed = false;
      for (const cell of todo) {
        if (failed) {
          cell.finish({ ok: false });
          continue;
        }
        const result = await kernel.run(cell.code, (outputs) => cell.show(outputs));
        cell.finish(result, cells.slice(0, cell.number - 1).some((other) => !other.computed) && !kernel.continued);
        if (result.trouble) cells.forEach((other) => other !== cell && other.outdate());
        failed = !result.ok && !cell.mayFail;
      }
    });
    return queue;
  }

  async function restart() {
    try {
      await kernel.restart();
      cells.forEach((cell) => cell.outdate());
      panel.say("The kernel is new: no cell has been run yet.");
    } catch (error) {
      panel.show(error.trouble ?? "gone");
    }
  }

  nodes.forEach((node, i) => cells.push(new Cell(node, {
    number: i + 1, live: Boolean(live), run, above: () => cells.slice(0, i), interrupt: () => kernel.interrupt(),
  })));
}

/** The state of the kernel, at the edge of the window, from the first run on. */
class Panel {
  constructor(page, restart) {
    this.words = element("span", { role: "status" });
    const button = element("button", { type: "button", class: "kb-button" }, "Restart");
    button.addEventListener("click", restart);
    this.node = element("div", { class: "kb-panel", role: "group", "aria-label": "Python" }, this.words, button);
    this.node.hidden = true;
    page.body.append(this.node);
  }

  show(state) {
    this.node.dataset.state = state;
    const words = { starting: "Python starts …", idle: "Python is ready", busy: "Python is busy" };
    this.say(words[state] ?? TROUBLE[state]);
  }

  say(words) {
    this.node.hidden = false;
    this.words.textContent = words;
  }
}

/** /static/book/free/grls.html under the root /static/book is the folder "free". */
export function chapterFolder(path, root) {
  return decodeURIComponent(path).slice(root.length).split("/").slice(0, -1).filter(Boolean).join("/");
}

function memory(path) {
  const key = `kernel ${path}`;
  return {
    get: () => sessionStorage.getItem(key),
    set: (id) => sessionStorage.setItem(key, id),
    delete: () => sessionStorage.removeItem(key),
  };
}

if (typeof document !== "undefined") {
  const begin = () => start(document, window.KERNELBOOK_LIVE ?? null);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}
