// Why this word: relevance of each source word by several methods and models, side by side.
import { candidate, chance, isWritten, joined, units } from "./data.js";
import { element, fill, ifChanged } from "./elements.js";
import { gradeLine, methodName, methodsOf, ownOf, reasonOf } from "./methods.js";
import { amount, percent, places, unitText, visible } from "./text.js";

export function drawMethods(viewer) {
  const { parts, state, view } = viewer;
  const names = view ? methodsOf(viewer) : [];
  const own = ownOf(viewer);
  parts.methodLabel.hidden = names.length < 2;
  fill(parts.method, names.map((name) => [name === own ? "" : name, methodName(viewer, name)]), state.method);
  parts.method.onchange = () => viewer.choose({ method: parts.method.value, heads: null });
}

export function drawReasons(viewer) {
  const { parts, t, state, view } = viewer;
  const names = view && isOfWords(viewer) ? methodsOf(viewer) : [];
  const told = candidate(viewer.prediction, state.rank);
  const others = Object.entries(told.beside ?? {});
  parts.reasonsBox.hidden = names.length < (others.length ? 1 : 2);
  if (parts.reasonsBox.hidden) return;
  const unit = pinned(viewer, told.explanation);
  parts.grade.textContent = gradeLine(viewer, names);
  const known = told.explanation.reasons ?? (others.length ? {} : null);
  parts.reasonsNote.textContent = !unit ? t("pickWord") : known ? "" : t(told.weighed ? "unweighed" : "weighing");
  parts.reasonsNote.hidden = !parts.reasonsNote.textContent;
  const there = Boolean(unit && known);
  parts.reasons.hidden = !there;
  const asked = others.length ? names.filter((name) => reasonOf(told, name)) : names;
  const drawn = there ? numbersOf(viewer, [[viewer.model || t("thisModel"), told], ...others], unit, asked) : null;
  ifChanged(parts.reasons, drawn, () => parts.reasons.replaceChildren(...(there ? [tableOf(viewer, drawn)] : [])));
}

// The pinned word of the translation, whole where pieces are shown.
function pinned({ state, view }, explanation) {
  if (state.pinned?.line !== "queries" || view.rowSide !== "target") return null;
  const unit = units(explanation, "target", state)[state.pinned.at];
  return unit && (state.unit === "words" ? unit : units(explanation, "target", { ...state, unit: "words" }).find(({ pieces }) => pieces.includes(unit.pieces[0])));
}

// True for a translation: each target word has weights of source words.
function isOfWords({ prediction, state }) {
  const told = candidate(prediction, state.rank);
  return isWritten(told) && told.explanation.source_tokens.length > 0;
}

// Content of the table of a word: the words of the source, and their weights by each method and model.
function numbersOf(viewer, models, unit, names) {
  const [[, own]] = models;
  const state = { ...viewer.state, unit: "words" };
  const rows = units(own.explanation, "source", state);
  const about = { own, rows, unit, state, source: viewer.prediction.source };
  const columns = names.flatMap((name) => models.map(([model, prediction]) => ({ method: methodName(viewer, name), model, ...given(prediction, reasonOf(prediction, name), about) })));
  return { word: unitText(unit), rows: rows.map(unitText), columns, models: models.length };
}

// Relevance of each source word for a word of the translation, its fraction from the source, and its probability.
// Another model may split both texts into other words: these are matched by position.
function given(prediction, reason, { own, rows, unit, state, source }) {
  const words = (one, side) => (one.explanation ? units(one.explanation, side, state) : []);
  const [written, read] = ["target", "source"].map((side) => words(prediction, side));
  const mine = prediction === own ? unit : written.find((_, at) => at === counterpart(words(own, "target"), written, own.text, unit));
  if (!reason || !mine) return { values: rows.map(() => null), source: null, chance: null };
  const values = rows.map(() => 0);
  const homes = prediction === own ? rows.map((_, at) => at) : home(read, rows, source);
  joined(reason.weights, [mine], read)[0].forEach((value, at) => { if (homes[at] >= 0) values[homes[at]] += value; });
  const { source: sides } = reason.sides ?? {};
  return { values, source: sides ? mine.pieces.reduce((sum, piece) => sum + (sides[piece] ?? 0), 0) / mine.pieces.length : null, chance: chance(prediction, mine) };
}

function counterpart(words, others, text, unit) {
  return home(words, others, text)[words.findIndex(({ pieces }) => pieces[0] === unit.pieces[0])];
}

// Index of the other word at the place of each word in a text; -1 if there is none.
export function home(words, others, text) {
  const [mine, theirs] = [words, others].map((list) => places(text, list));
  return words.map(({ special }, at) => others.findIndex((other, to) => (special ? other.special
    : mine[at] && theirs[to] && theirs[to][0] < mine[at][1] && mine[at][0] < theirs[to][1])));
}

function tableOf({ t }, { word, rows, columns, models }) {
  const most = Math.max(...columns.flatMap(({ values }) => values).map(Math.abs), 1e-9);
  const cell = (value) => {
    const made = element("td", { class: value < 0 ? "below" : null }, value === null ? "–" : amount({ shares: true }, value).replace("-", "−"));
    made.style.setProperty("--weight", `${((100 * Math.abs(value)) / most).toFixed(1)}%`);
    return made;
  };
  const row = (label, cells) => element("tr", {}, element("th", { scope: "row" }, label), ...cells);
  const shares = (values) => values.map((share) => element("td", {}, share === null ? "–" : percent(share)));
  const methods = columns.filter((_, at) => at % models === 0).map(({ method }) => method);
  const heads = [element("tr", {}, element("th", { scope: "col", rowspan: models > 1 ? 2 : null }, t("source")),
    ...methods.map((method) => element("th", models > 1 ? { scope: "colgroup", colspan: models } : { scope: "col" }, method)))];
  if (models > 1) heads.push(element("tr", {}, ...columns.map(({ model }) => element("th", { scope: "col", class: "by-model" }, element("bdi", {}, visible(model, false))))));
  return element("table", { class: models > 1 ? "two-models" : null }, element("caption", {}, t("reasonsOf", word)),
    element("thead", {}, ...heads),
    element("tbody", {}, ...rows.map((text, at) => row(element("bdi", {}, text), columns.map(({ values }) => cell(values[at]))))),
    element("tfoot", {}, row(t("fromSource"), shares(columns.map(({ source }) => source))),
      row(t("fromWritten"), shares(columns.map(({ source }) => (source === null ? null : 1 - source)))),
      models > 1 && row(t("probability"), shares(columns.map((column) => column.chance)))));
}
