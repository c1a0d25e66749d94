// What passes between the page and a kernel: Jupyter's messages, as plain data.

/** A request to run `code`; `ids` makes identifiers. */
export function executeRequest(code, session, id) {
  return {
    channel: "shell",
    header: {
      msg_id: id, session, username: "reader", date: new Date().toISOString(),
      msg_type: "execute_request", version: "5.3",
    },
    parent_header: {},
    metadata: {},
    content: { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false, stop_on_error: true },
    buffers: [],
  };
}

/** The outputs of a cell after one more message; anything but an output leaves them as they are. */
export function withMessage(outputs, { header, content }) {
  const kind = header.msg_type;
  if (kind === "clear_output") return [];
  if (kind === "stream") {
    const last = outputs.at(-1);
    if (last?.kind === "stream" && last.name === content.name) {
      return [...outputs.slice(0, -1), { ...last, text: overwritten(last.text + content.text) }];
    }
    return [...outputs, { kind, name: content.name, text: overwritten(content.text) }];
  }
  if (kind === "display_data" || kind === "execute_result") return [...outputs, { kind: "data", data: content.data }];
  if (kind === "error") {
    return [...outputs, {
      kind, name: content.ename, value: content.evalue, text: withoutColours(content.traceback.join("\n")),
    }];
  }
  return outputs;
}

/** Text without the escape codes that colour it in a terminal. */
export function withoutColours(text) {
  return text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
}

/** What a terminal would show: after a carriage return a line is written again. */
export function overwritten(text) {
  return text.replace(/\r\n/g, "\n").split("\n").map((line) => {
    let shown = "";
    for (const part of line.split("\r")) shown = part + shown.slice(part.length);
    return shown;
  }).join("\n");
}
