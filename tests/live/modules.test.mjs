// The client of the kernels against a server that is made up: every message in, every word out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Kernel, TROUBLE } from "../../book/_live/kernel.mjs";
import { chapterFolder } from "../../book/_live/main.mjs";
import { executeRequest, overwritten, withMessage, withoutColours } from "../../book/_live/messages.mjs";

const outputs = (...messages) => messages.reduce(
  (found, [kind, content]) => withMessage(found, { header: { msg_type: kind }, content }), []);

test("a request has what the protocol asks for", () => {
  const { channel, header, content } = executeRequest("1 + 1", "s", "m");
  assert.equal(channel, "shell");
  assert.deepEqual([header.msg_id, header.session, header.msg_type], ["m", "s", "execute_request"]);
  assert.equal(content.code, "1 + 1");
  assert.equal(content.allow_stdin, false); // input() fails, instead of waiting for nobody
});

test("streams of one name are joined, others stand apart", () => {
  const found = outputs(["stream", { name: "stdout", text: "a" }], ["stream", { name: "stdout", text: "b\n" }],
    ["stream", { name: "stderr", text: "c" }]);
  assert.deepEqual(found.map(({ name, text }) => [name, text]), [["stdout", "ab\n"], ["stderr", "c"]]);
});

test("a progress bar writes its line again, and clear_output clears", () => {
  assert.equal(overwritten("10%\r50%\r100%\ndone"), "100%\ndone");
  assert.equal(overwritten("long line\rshort"), "shortline");
  assert.equal(overwritten("a\r\nb"), "a\nb");
  assert.deepEqual(outputs(["stream", { name: "stdout", text: "x" }], ["clear_output", {}]), []);
});

test("errors lose their colours and keep their words", () => {
  const [error] = outputs(["error", { ename: "ValueError", evalue: "no", traceback: ["\u001b[0;31mValueError\u001b[0m: no"] }]);
  assert.equal(error.text, "ValueError: no");
  assert.equal(withoutColours("\u001b[38;5;28;01mfor\u001b[39;00m"), "for");
});

test("other messages change nothing", () => {
  const before = outputs(["stream", { name: "stdout", text: "x" }]);
  for (const kind of ["status", "execute_input", "execute_reply", "comm_open"]) {
    assert.equal(withMessage(before, { header: { msg_type: kind }, content: {} }), before);
  }
});

test("the folder of a chapter, seen from the server's root", () => {
  assert.equal(chapterFolder("/static/book/free/grls.html", "/static/book"), "free");
  assert.equal(chapterFolder("/static/book/index.html", "/static/book"), "");
});

/** A kernel beside a server that is made up; `answers` maps "METHOD path" to a status. */
function machine(answers = {}, known = null) {
  const asked = [];
  const states = [];
  const sockets = [];
  let count = 0;
  const memory = { get: () => known, set: (id) => { known = id; }, delete: () => { known = null; } };
  const kernel = new Kernel({
    folder: "free", memory, changed: (state) => states.push(state), id: () => `id-${++count}`, cookie: () => "x",
    fetch: async (path, { method, body, headers }) => {
      asked.push([method, path, body, headers]);
      const status = answers[`${method} ${path}`] ?? (method === "POST" && path === "/api/kernels" ? 201 : 200);
      if (status === "down") throw new TypeError("no connection");
      return { status, json: async () => ({ id: "k" }) };
    },
    socket: (path) => {
      const socket = { path, sent: [], send: (text) => socket.sent.push(JSON.parse(text)) };
      sockets.push(socket);
      queueMicrotask(() => socket.onopen());
      return socket;
    },
  });
  const tell = (kind, parent, content) => sockets.at(-1).onmessage({ data: JSON.stringify({
    header: { msg_type: kind }, parent_header: parent ? { msg_id: parent } : {}, content }) });
  return { kernel, asked, states, sockets, tell, memory };
}

const soon = () => new Promise((done) => { setTimeout(done); });

/** Starts a run and waits until its request is out. */
async function started(made, code = "1", show = () => {}) {
  const result = made.kernel.run(code, show);
  await soon();
  return { result, id: made.sockets.at(-1).sent.at(-1).header.msg_id };
}

test("a run starts one kernel in the chapter's folder and ends with reply and idle, in either order", async () => {
  for (const order of [["execute_reply", "status"], ["status", "execute_reply"]]) {
    const made = machine();
    const shown = [];
    const { result, id } = await started(made, "print(1)", (found) => shown.push(found));
    assert.deepEqual(made.asked[0].slice(0, 3), ["POST", "/api/kernels", '{"name":"python3","path":"free"}']);
    assert.equal(made.asked[0][3]["X-XSRFToken"], "x");
    made.tell("stream", "someone-else", { name: "stdout", text: "not ours" });
    made.tell("stream", id, { name: "stdout", text: "1\n" });
    for (const kind of order) {
      made.tell(kind, id, kind === "status" ? { execution_state: "idle" } : { status: "ok" });
    }
    assert.deepEqual(await result, { ok: true, error: null });
    assert.deepEqual(shown.at(-1).map((o) => o.text), ["1\n"]);
    assert.deepEqual(made.states, ["starting", "busy", "idle"]);
    await started(made);
    assert.equal(made.asked.length, 1);
  }
});

test("an error is named", async () => {
  const made = machine();
  const { result, id } = await started(made);
  made.tell("execute_reply", id, { status: "error", ename: "NameError" });
  made.tell("status", id, { execution_state: "idle" });
  assert.deepEqual(await result, { ok: false, error: "NameError" });
});

test("a page that is loaded again finds its kernel, and a lost one is replaced", async () => {
  const again = machine({}, "old");
  await started(again);
  assert.deepEqual(again.asked.map(([method, path]) => `${method} ${path}`), ["GET /api/kernels/old"]);
  assert.equal(again.kernel.continued, true);
  const lost = machine({ "GET /api/kernels/old": 404 }, "old");
  await started(lost);
  assert.equal(lost.kernel.kernel, "k");
  assert.equal(lost.kernel.continued, false);
});

test("every way to lose a kernel has its words", async () => {
  for (const state of ["restarting", "dead"]) {
    const made = machine();
    const { result } = await started(made);
    made.tell("status", null, { execution_state: state });
    const reason = state === "dead" ? "dead" : "restarted";
    assert.equal((await result).trouble, reason);
    assert.equal(made.states.at(-1), reason);
  }
  for (const [status, reason] of [[200, "gone"], [404, "ended"], ["down", "gone"], [403, "refused"]]) {
    const made = machine({ "GET /api/kernels/k": status });
    const { result } = await started(made);
    made.sockets[0].onclose();
    assert.equal((await result).trouble, reason);
    assert.ok(TROUBLE[reason].length > 40);
  }
  for (const [status, reason] of [[403, "refused"], ["down", "gone"], [500, "gone"]]) {
    const made = machine({ "POST /api/kernels": status });
    assert.equal((await made.kernel.run("1", () => {})).trouble, reason);
  }
});

test("interrupt and restart go to the kernel of the page; a restart ends what runs", async () => {
  const made = machine();
  const { result } = await started(made);
  await made.kernel.interrupt();
  await made.kernel.restart();
  assert.deepEqual(await result, { ok: false });
  assert.deepEqual(made.asked.slice(1).map(([method, path]) => `${method} ${path}`),
    ["POST /api/kernels/k/interrupt", "POST /api/kernels/k/restart"]);
});
