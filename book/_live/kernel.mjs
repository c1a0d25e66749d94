// One kernel: a Python process on this machine that runs cells one after the other.
//
// Jupyter Server starts, interrupts and ends it by REST, and carries its messages through a WebSocket.  The
// browser holds the server's cookie since `make live` opened the first page; a request that changes something
// repeats the cookie `_xsrf` in a header, which a page of another origin cannot read.

import { executeRequest, withMessage } from "./messages.mjs";

/** Why a cell was not run to its end, in words. */
export const TROUBLE = {
  restarted: "The kernel died and was started again: its variables are gone. Use “Run all above” before this cell.",
  dead: "The kernel died and does not start again. End “make live” with Ctrl-C, start it again and reload the page.",
  ended: "The kernel was ended, perhaps after an hour without work: its variables are gone. The next run starts a new one.",
  gone: "The server does not answer. Start “make live” again in the checkout and open the address it prints.",
  refused: "The server refuses this page. Open the address that “make live” printed: it carries the key.",
};

export class Kernel {
  /**
   * folder     where the cells run, seen from the server's root
   * memory     { get, set, delete }: the kernel of this page survives a reload
   * changed    called with "starting", "idle", "busy" or a key of TROUBLE
   * fetch, socket, cookie, id: the browser's means, or a test's
   */
  constructor({ folder, memory, changed, fetch, socket, cookie, id }) {
    Object.assign(this, { folder, memory, changed, fetch, socket, cookie, id });
    this.session = id();
    this.jobs = new Map();
    this.connection = null;
    this.kernel = null;
  }

  /** Runs the code; `show` gets the outputs as they grow.  Resolves to { ok, error, trouble }. */
  async run(code, show) {
    try {
      this.connection ??= this.connect();
      await this.connection;
    } catch (error) {
      this.connection = null;
      return this.stop(error.trouble ?? "gone");
    }
    return new Promise((resolve) => {
      const message = executeRequest(code, this.session, this.id());
      this.jobs.set(message.header.msg_id, { show, resolve, outputs: [], reply: null, idle: false });
      this.channel.send(JSON.stringify(message));
      this.changed("busy");
    });
  }

  interrupt() {
    return this.ask("POST", `/${this.kernel}/interrupt`);
  }

  /** A new process for the same page; what is running ends. */
  async restart() {
    if (!this.kernel) return;
    await this.ask("POST", `/${this.kernel}/restart`);
    this.continued = false;
    this.finish({ ok: false });
    this.changed("idle");
  }

  async connect() {
    this.changed("starting");
    const known = this.memory.get();
    const alive = known && (await this.ask("GET", `/${known}`, [200, 404])).status === 200;
    this.kernel = alive ? known : (await (await this.ask("POST", "", [201], {
      name: "python3", path: this.folder,
    })).json()).id;
    this.memory.set(this.kernel);
    this.channel = await this.open(`/${this.kernel}/channels?session_id=${this.session}`);
    this.continued = alive;
  }

  async ask(method, path, expected = [200, 201, 204], body = null) {
    let answer;
    try {
      answer = await this.fetch(`/api/kernels${path}`, {
        method, credentials: "same-origin", body: body && JSON.stringify(body),
        headers: { "X-XSRFToken": this.cookie("_xsrf") ?? "" },
      });
    } catch {
      throw trouble("gone");
    }
    if (expected.includes(answer.status)) return answer;
    throw trouble([401, 403].includes(answer.status) ? "refused" : answer.status === 404 ? "ended" : "gone");
  }

  open(path) {
    return new Promise((resolve, reject) => {
      const channel = this.socket(`/api/kernels${path}`);
      channel.onopen = () => resolve(channel);
      channel.onmessage = ({ data }) => { if (typeof data === "string") this.hear(JSON.parse(data)); };
      channel.onclose = () => {
        reject(trouble("gone"));
        if (channel === this.channel) this.lost();
      };
    });
  }

  /** The connection closed: is the server away, or only the kernel? */
  async lost() {
    this.connection = null;
    let reason = "gone";
    try {
      await this.ask("GET", `/${this.kernel}`, [200]);
    } catch (error) {
      reason = error.trouble;
    }
    if (reason === "ended") this.memory.delete();
    this.stop(reason);
  }

  hear(message) {
    const { header, parent_header: parent, content } = message;
    const state = header.msg_type === "status" ? content.execution_state : null;
    if (state === "restarting") return this.stop("restarted");
    if (state === "dead") {
      this.memory.delete();
      return this.stop("dead");
    }
    const job = this.jobs.get(parent?.msg_id);
    if (!job) return undefined;
    if (header.msg_type === "execute_reply") job.reply = content;
    if (state === "idle") job.idle = true;
    const outputs = withMessage(job.outputs, message);
    if (outputs !== job.outputs) job.show(job.outputs = outputs);
    if (job.idle && job.reply) {
      this.jobs.delete(parent.msg_id);
      if (!this.jobs.size) this.changed("idle");
      job.resolve({ ok: job.reply.status === "ok", error: job.reply.ename ?? null });
    }
    return undefined;
  }

  stop(reason) {
    const result = { ok: false, trouble: reason };
    this.continued = false; // the variables of before the page was loaded are gone, too
    this.finish(result);
    this.changed(reason);
    return result;
  }

  finish(result) {
    for (const job of this.jobs.values()) job.resolve(result);
    this.jobs.clear();
  }
}

function trouble(reason) {
  return Object.assign(new Error(reason), { trouble: reason });
}
