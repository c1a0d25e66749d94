// The state of a playground as text, for a link that keeps it and for a chapter that starts from it.
//
//     width=0.5;degree=2;points=0.3,1.2_4.1,0.9
//
// Controls go by their names, their sliders by their positions; each list of points by its own name, a point
// as its numbers.  What cannot be read is left as it was: a link may be old or cut.

/** The text of `controls`, a list of inputs, and `lists`, { name: { points, keys } }. */
export function write(controls, lists) {
  const parts = controls.map((input) => [input.name, input.type === "checkbox" ? Number(input.checked) : input.value]);
  for (const [name, { points, keys }] of Object.entries(lists)) {
    parts.push([name, points.map((p) => keys.map((key) => Number(p[key].toFixed(4))).join(",")).join("_")]);
  }
  return parts.map(([name, value]) => `${name}=${value}`).join(";");
}

/** Sets what the text names; returns whether it named anything. */
export function read(text, controls, lists) {
  let any = false;
  for (const part of text.split(";")) {
    const [name, value] = part.split("=");
    const list = lists[name];
    const input = controls.find((c) => c.name === name);
    if (list && value) {
      const rows = value.split("_").map((row) => row.split(",").map(Number));
      const good = rows.every((row) => row.length === list.keys.length && row.every(Number.isFinite));
      if (!good || rows.length > 200) continue;
      list.points.splice(0, list.points.length, ...rows.map((row) =>
        list.place(Object.fromEntries(list.keys.map((key, k) => [key, row[k]])))));
      any = true;
    } else if (input && value !== undefined && value !== "") {
      if (input.type === "checkbox") input.checked = value === "1";
      else if (input.tagName === "SELECT" && ![...input.options].some((o) => o.value === value)) continue;
      else input.value = value;
      any = true;
    }
  }
  return any;
}
