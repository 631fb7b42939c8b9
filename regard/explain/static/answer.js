// Answers other than texts: labels with probabilities, tags under words, a span of a text; and the attended words.
import { confidence, isText, joined, mapsOf, questions, sidesOf, units } from "./data.js";
import { element } from "./elements.js";
import { methodName, OWN } from "./methods.js";
import { sideName } from "./strings.js";
import { amount, percent, places, visible } from "./text.js";

const FEW = 6; // labels shown at first
const NAMED = 3; // words named beside their text
const LEAST = 0.03; // minimum weight of a named word
const WORDS = { unit: "words", end: true };

// The card of a prediction; null for a text. `given`: the names of its columns, if it has no explanation.
export function answerCard(prediction, t, given = []) {
  const card = cardOf(prediction);
  if (card === null) return null;
  const values = prediction.source.split("\t");
  const names = [...given, ...Object.keys(prediction.explanation?.columns ?? {}).slice(given.length)];
  const columns = values.map((text, at) => ({ name: names[at] ?? "", text, start: values.slice(0, at).join("\t").length + (at && 1) }));
  return element("section", { class: "card answer-card", "aria-label": t("answer") },
    ...card(prediction, t),
    warned(prediction, t),
    ...columns.map((column) => columnOf(prediction, column, t, columns.length > 1)),
    ...columns.map((column) => byMethods(prediction, column, t)),
    ...tables(prediction, columns, t));
}

// Head of a card by kind of answer; null for a text.
function cardOf(prediction) {
  if (isText(prediction)) return null;
  return { label: labels, tags: () => [] }[prediction.answers] ?? said;
}

// Reason for an answer other than the requested one, if the model gave it.
function warned({ details }, t) {
  const told = details?.warning ?? "";
  const [, column] = /^the model knows no word of the (\w+)/.exec(told) ?? [];
  const words = column ? t("unread", sideName(t, column)) : told.startsWith("the text is empty") ? t("nothingGiven") : told;
  return words !== "" && element("div", { class: "warnings", role: "status" }, element("p", {}, words));
}

function labels({ text, details }, t) {
  const all = Object.entries(details?.probabilities ?? {}).sort((a, b) => b[1] - a[1]);
  const title = t(details?.calibrated ? "calibratedLabels" : "uncalibratedLabels");
  const list = (some) => element("ol", { class: "shares", title }, ...some.map(share));
  const rest = all.slice(FEW);
  return [element("p", { class: "verdict" }, element("bdi", {}, visible(text, false))), list(all.slice(0, FEW)),
    rest.length > 0 && element("details", {}, element("summary", {}, t("moreLabels", rest.length)), list(rest))];
}

function share([name, value]) {
  const bar = element("span", { class: "share-bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${(100 * (value ?? 0)).toFixed(2)}%`);
  return element("li", {}, element("bdi", { class: "share-name" }, visible(name, false)), bar, element("span", { class: "share-value" }, precise(value ?? 0)));
}

// Enough digits that only 1 is shown as 100% and only 0 as 0%.
function precise(value) {
  return value > 0.995 || value < 0.005 ? `${+(100 * value).toFixed(2)}%` : percent(value);
}

function said({ text }) {
  return [element("p", { class: "verdict" }, element("bdi", {}, visible(text, false)))];
}

// Text of a column with its attended words marked.
function columnOf(prediction, column, t, several) {
  const seen = lookedAt(prediction.explanation, column.name);
  const method = prediction.explanation?.method;
  const marks = { tags: tagged, span: marked }[prediction.answers]?.(prediction, column) ?? [];
  return element("div", { class: "given", "data-column": column.name },
    several && column.name && element("h3", { class: "side-title" }, sideName(t, column.name)),
    element("p", { class: `read of-${prediction.answers}`, dir: "auto", title: seen && t(method ? "restsTip" : "looksTip") }, ...inPlace(column.text, [...marks, ...coloured(seen, column, t)])),
    seen && element("p", { class: "quiet" }, t(method ? "restsMost" : "lookedMost", named(seen, column, t))));
}

// Weights of learned queries for each word of a column, the mean of its first map; null without attention to it.
export function lookedAt(explanation, name) {
  const maps = explanation?.columns ? mapsOf(explanation, `>${name}`).slice(0, 1) : [];
  if (!maps.length) return null;
  const words = units(explanation, name, WORDS);
  const rows = maps.flatMap((map) => map.weights.flat());
  const whole = joined(rows, [{ pieces: rows.map((_, at) => at) }], words)[0];
  return { words, offsets: explanation.offsets?.[name], weights: whole, shares: maps.every((map) => map.shares), most: Math.max(...whole.map(Math.abs)) };
}

function named(seen, { text }, t) {
  const found = placed(seen, text);
  const spelt = (at) => (found[at] ? text.slice(...found[at]) : seen.words[at].text);
  const order = seen.weights.map((_, at) => at).sort((a, b) => seen.weights[b] - seen.weights[a]);
  const worth = order.slice(0, NAMED).filter((at) => seen.weights[at] >= LEAST * (seen.shares ? 1 : seen.most));
  return worth.map((at) => `${seen.words[at].special ? t("end") : `\u2068${visible(spelt(at))}\u2069`} ${amount(seen, seen.weights[at])}`).join(" · ") || t("nothing");
}

// Marks as [start, end, element]; the strongest word of a text has the full colour.
function coloured(seen, { text }, t) {
  return !seen ? [] : placed(seen, text).flatMap((place, at) => {
    if (!place) return [];
    const { unknown } = seen.words[at];
    const tip = [amount(seen, seen.weights[at]), ...(unknown ? [t("unknown")] : [])].join(" · ");
    const kind = ["seen", unknown && "unknown", seen.weights[at] < 0 && "below"].filter(Boolean).join(" ");
    const made = element("span", { class: kind, "data-weight": seen.weights[at], title: tip }, visible(text.slice(...place), false));
    made.style.setProperty("--weight", `${(100 * Math.abs(seen.weights[at]) / (seen.most || 1)).toFixed(1)}%`);
    return [[...place, made]];
  });
}

// Place of each word, from the explanation; searched for in the text without one.
function placed({ words, offsets }, text) {
  if (!offsets) return places(text, words);
  const where = starts(text);
  return words.map(({ pieces }) => {
    const found = pieces.map((piece) => offsets[piece]).filter(Boolean);
    return found.length ? [where[Math.min(...found.map(([first]) => first))], where[Math.max(...found.map(([, behind]) => behind))]] : null;
  });
}

// Start of each character in UTF-16 units, and the end: places count code points.
function starts(text) {
  const found = [0];
  for (const character of text) found.push(found.at(-1) + character.length);
  return found;
}

function tagged({ source, details: { words, offsets, tags, probabilities } }) {
  const where = starts(source);
  return words.map((word, at) => [...offsets[at].map((place) => where[place]), element("span", { class: "tagged" },
    element("span", {}, visible(word, false)),
    element("span", { class: `tag ${confidence(probabilities[at] ?? null)}`, title: precise(probabilities[at] ?? 0) }, visible(tags[at], false)))]);
}

function marked({ source, details }, { text, start }) {
  const where = starts(source);
  const [from, to] = [where[details.start] - start, where[details.end] - start];
  return from < 0 || to > text.length || from >= to ? [] : [[from, to, element("mark", {}, visible(text.slice(from, to), false))]];
}

// A text with some of its parts as elements; the first of overlapping parts stays.
function inPlace(text, marks) {
  const parts = [], taken = [];
  for (const mark of marks) if (!taken.some(([from, to]) => mark[0] < to && mark[1] > from)) taken.push(mark);
  let at = 0;
  for (const [start, end, made] of taken.sort((a, b) => a[0] - b[0])) {
    parts.push(visible(text.slice(at, start), false), made);
    at = end;
  }
  return [...parts, visible(text.slice(at), false)];
}

// Attention to units besides the columns, such as sentences of a story: a row for each, a column for each query.
function tables({ explanation }, columns, t) {
  if (!explanation?.columns) return [];
  const others = Object.keys(explanation.columns).filter((name) => !columns.some((column) => column.name === name) && mapsOf(explanation, `>${name}`).length);
  return others.map((name) => table(explanation, name, t));
}

function table(explanation, name, t) {
  const maps = mapsOf(explanation, `>${name}`);
  const rows = units(explanation, name, { unit: "pieces", end: false });
  const heads = questions(explanation, { kind: `>${name}`, heads: null });
  const matrix = maps.flatMap((map) => map.weights[0].map((_, query) => rows.map(({ pieces: [key] }) => mean(map.weights.map((head) => head[query]?.[key] ?? 0)))));
  const shares = maps.every((map) => map.shares);
  const most = shares ? 1 : Math.max(...matrix.flat().map(Math.abs)) || 1;
  const side = sideName(t, sidesOf(explanation, `>${name}`)[1]);
  return weighed({ caption: t("lookedAt"), side, heads: heads.map(({ text }) => text), rows, matrix, shares, most });
}

// A row for each word, a column for each row of `matrix`.
function weighed({ caption, side, heads, rows, matrix, shares, most }) {
  const cell = (value) => {
    const made = element("td", { "data-weight": value, class: value < 0 ? "below" : null }, amount({ shares }, value).replace("-", "−"));
    made.style.setProperty("--weight", `${(100 * Math.abs(value) / most).toFixed(1)}%`);
    return made;
  };
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, element("table", { class: "looks" }, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, side), ...heads.map((text) => element("th", { scope: "col", dir: "auto" }, visible(text, false))))),
    element("tbody", {}, ...rows.map(({ text }, at) => element("tr", {}, element("th", { scope: "row", dir: "auto" }, visible(text.trim(), false)), ...matrix.map((row) => cell(row[at])))))));
}

// Relevance of each word of a column by several methods, side by side.
function byMethods({ text, explanation }, { name }, t) {
  const others = Object.entries(explanation?.columns ? explanation.reasons ?? {} : {});
  const found = [[explanation?.method ?? OWN, explanation], ...others.map(([method, one]) => [method, { ...explanation, ...one }])]
    .map(([method, one]) => [method, others.length ? lookedAt(one, name) : null]).filter(([, seen]) => seen);
  if (found.length < 2) return false;
  const matrix = found.map(([, { weights }]) => weights);
  const most = Math.max(...matrix.flat().map(Math.abs)) || 1;
  const heads = found.map(([method]) => methodName({ t }, method));
  return weighed({ caption: t("labelReasons", visible(text, false)), side: sideName(t, name), heads, rows: found[0][1].words, matrix, shares: true, most });
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
