// Which sections answer a question, the best first: phrases before words, titles before texts.

/** Lower case, accents off, hyphens and quotes as spaces: "Leave-one-out" is "leave one out". */
export function plain(text) {
  return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/[-‐‑–—_'’"“”().,;:!?[\]/]+/g, " ").replace(/\s+/g, " ").trim();
}

/** The beginning that a word shares with its other forms. */
export function stem(word) {
  return word.length > 4 ? word.replace(/(?:ies|es|s|ing|ed|e|y)$/, "") : word;
}

/** The index, ready to be asked: `pages` are [name, title, [[id, title, text, term], …]]. */
export function prepare(pages) {
  return pages.flatMap(([page, pageTitle, rows]) => rows.map(([id, title, text, term], i) => ({
    page, pageTitle, id, title, text, term, first: i === 0, titleWords: ` ${plain(title)} `, words: ` ${plain(text)} `,
  })));
}

/** The sections that hold all words of the question, with a score. */
export function rank(entries, question) {
  const phrase = plain(question);
  if (!phrase) return [];
  const stems = phrase.split(" ").map(stem);
  const start = ` ${stems.length > 1 ? phrase.split(" ").slice(0, -1).join(" ") + " " : ""}${stems.at(-1)}`;
  return entries.map((entry) => ({ entry, score: score(entry, phrase, start, stems) }))
    .filter(({ score: s }) => s > 0).sort((a, b) => b.score - a.score);
}

function score({ titleWords, words, first, term }, phrase, start, stems) {
  let sum = 0;
  if (titleWords === ` ${phrase} `) sum += 200;
  if (titleWords.includes(start)) sum += 100 + (first ? 20 : 0) + (term ? 10 : 0) - titleWords.length / 20;
  const inTitle = stems.filter((s) => titleWords.includes(` ${s}`)).length;
  if (inTitle === stems.length) sum += 60;
  const inText = stems.filter((s) => words.includes(` ${s}`)).length;
  const times = words.split(start).length - 1;
  if (times) sum += 40 + Math.min(times, 10);
  if (!sum && stems.some((s) => !titleWords.includes(` ${s}`) && !words.includes(` ${s}`))) return 0;
  return sum + 10 * inTitle + inText;
}

/** The words around the first place, in three pieces: before, the place itself, after. */
export function around(text, question, reach = 110) {
  const lower = text.toLowerCase();
  const stems = plain(question).split(" ").filter(Boolean).map(stem);
  const pattern = stems.map((s) => s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\w*[\\s\\-‐‑–—_'’.,]+");
  const match = lower.match(new RegExp(`(?<![a-z])${pattern}\\w*`)) ??
    stems.map((s) => lower.match(new RegExp(`(?<![a-z])${s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\w*`))).find(Boolean);
  if (!match) return [text.slice(0, 2 * reach), "", ""];
  const [from, to] = [match.index, match.index + match[0].length];
  const before = text.slice(Math.max(0, from - reach), from);
  const after = text.slice(to, to + reach);
  return [
    from > reach ? `… ${before.replace(/^\S*\s/, "")}` : before, text.slice(from, to),
    to + reach < text.length ? `${after.replace(/\s\S*$/, "")} …` : after,
  ];
}
