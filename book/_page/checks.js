// "Check yourself": a question and the answer beneath it become a question that replies.
//
// The source is an admonition of the class `check`.  Numbered answers, with as many numbered
// replies under "Answer", become buttons; a reply that opens with a bold number becomes a field.
// Nothing is stored and nothing is counted.

(() => {
  const TRIED = { right: "✓", wrong: "✗" };

  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // "0,25", "1/4", "−2.5e-1" and "25 %" are numbers, too.
  const number = (text) => {
    const clean = text.replace(/\s/g, "").replace(/[−–]/g, "-").replace(",", ".");
    const [, top, bottom = "1", percent] = clean.match(/^([^/%]+)(?:\/([^/%]+))?(%?)$/) ?? [];
    if (!top || !/\d/.test(top) || !/\d/.test(bottom)) return NaN;
    return Number(top) / Number(bottom) / (percent ? 100 : 1);
  };

  // Replies wait where formulas are set; one at a time is moved to where it is read out.
  const replies = (box, waiting) => {
    const store = element("div", { className: "kb-replies", hidden: true });
    const said = element("div", { className: "kb-reply" });
    said.setAttribute("role", "status");
    store.append(...waiting.filter((reply) => reply));
    box.append(said, store);
    return (verdict, ...content) => {
      store.append(...[...said.children].filter((e) => waiting.includes(e)));
      said.replaceChildren(...content);
      said.dataset.verdict = verdict;
    };
  };

  const reply = (content) => element("div", {}, ...content);

  // A formula in words.  To a screen reader a button is its name alone, without the formulas inside.
  const spoken = (node) => {
    const [a, b, c] = [...node.children].map(spoken);
    const raised = (to) => (/^[′*+~]$/.test(to) ? to : to === "⊤" ? " transposed" : ` to the ${to}`);
    switch (node.localName) {
      case "mi": case "mn": case "mo": case "mtext": return node.textContent.normalize("NFKC").replace(/\u2061/g, "");
      case "msub": case "munder": return `${a} sub ${b}`;
      case "msup": case "mover": return `${a}${raised(b)}`;
      case "msubsup": case "munderover": return `${a} sub ${b}${raised(c)}`;
      case "mfrac": return `${a} over ${b}`;
      case "msqrt": return `root of ${[...node.children].map(spoken).join(" ")}`;
      default: return [...node.children].map(spoken).join(" ");
    }
  };

  const named = (button) => {
    if (!button.querySelector("mjx-container")) return;
    const copy = button.cloneNode(true);
    for (const formula of copy.querySelectorAll("mjx-container")) {
      const math = formula.querySelector("math");
      formula.replaceWith(math ? spoken(math) : "");
    }
    const words = copy.textContent.replace(/\s+/g, " ").replace(/([([{]) /g, "$1").replace(/ ([)\]},.])/g, "$1").trim();
    button.setAttribute("aria-label", button.dataset.verdict ? `${button.dataset.verdict}: ${words}` : words);
  };

  // "No." in bold at the head of a reply, in its first paragraph if it begins with one.
  const open = (made, word) => {
    const first = made.firstElementChild;
    (first?.tagName === "P" ? first : made).prepend(element("strong", { textContent: word }), " ");
    return made;
  };

  const choice = (box, options, list) => {
    const items = [...list.children];
    const right = items.findIndex((e) => /^\s*Right\./.test(e.textContent));
    const waiting = items.map((item, i) => {
      const made = reply(item.childNodes);
      if (i !== right) return open(made, "No.");
      const text = document.createTreeWalker(made, NodeFilter.SHOW_TEXT);
      while (text.nextNode()) {
        const node = text.currentNode;
        if (!node.data.includes("Right.")) continue;
        node.data = node.data.replace(/^\s*Right\.\s*/, "");
        break;
      }
      return open(made, "Right.");
    });
    list.parentElement.remove();
    const say = replies(box, waiting);
    options.classList.add("kb-choices");
    [...options.children].forEach((option, i) => {
      const inside = [...option.children].flatMap((e) => (e.tagName === "P" ? [...e.childNodes] : [e]));
      const button = element("button", { type: "button", className: "kb-choice" },
        ...(inside.length ? inside : option.childNodes));
      button.addEventListener("click", () => {
        const verdict = i === right ? "right" : "wrong";
        button.dataset.verdict = verdict;
        button.dataset.mark = TRIED[verdict];
        named(button);
        say(verdict, waiting[i]);
      });
      option.replaceChildren(button);
    });
  };

  const value = (box, answer) => {
    const body = [...answer.children].filter((e) => !e.matches(".admonition-title"));
    const first = body[0].querySelector("strong");
    const want = number(first.textContent);
    const near = first.nextSibling?.textContent.match(/^\s*±\s*(\d+(?:\.\d+)?(?:e-?\d+)?)/);
    const tolerance = near ? Number(near[1]) : 1e-9 * Math.abs(want);
    const list = body.find((e) => e.tagName === "UL");
    const slips = [...(list?.children ?? [])].map((item) => {
      const bold = item.querySelector("strong");
      return { is: number(bold.textContent), made: open(reply(item.childNodes), "No.") };
    });
    const solution = reply(body.filter((e) => e !== list));
    answer.remove();

    const field = element("input", { type: "text", size: 12, autocomplete: "off", spellcheck: false });
    const form = element("form", { className: "kb-value" },
      element("label", {}, "Your answer: ", field),
      element("button", { className: "kb-button", textContent: "Check" }));
    const show = element("button", { type: "button", className: "kb-button", textContent: "Show the answer" });
    form.append(show);
    box.append(form);
    const say = replies(box, [solution, ...slips.map((slip) => slip.made)]);
    const words = (text) => element("p", { textContent: text });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const typed = number(field.value);
      const slip = slips.find(({ is }) => Math.abs(typed - is) <= tolerance + 1e-9 * Math.abs(is));
      if (Number.isNaN(typed)) say("none", words(`“${field.value}” is not a number. Write 0.25, 1/4, 2.5e-1 or 25 %.`));
      else if (Math.abs(typed - want) <= tolerance * (1 + 1e-9)) say("right", element("strong", { textContent: "Right." }), solution);
      else if (slip) say("wrong", slip.made);
      else say("wrong", words(`${field.value.trim()} is not it. Try again, or look at the answer.`));
    });
    show.addEventListener("click", () => say("none", solution));
  };

  for (const box of document.querySelectorAll(".admonition.check")) {
    const answer = box.querySelector(".admonition");
    if (!answer) continue;
    const options = box.querySelector(":scope > ol");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Check yourself");
    if (options) choice(box, options, answer.querySelector(":scope > ol"));
    else value(box, answer);
  }
  addEventListener("load", () => window.KERNELBOOK_MATH?.then(() => {
    for (const button of document.querySelectorAll(".kb-choice")) named(button);
  }));
})();
