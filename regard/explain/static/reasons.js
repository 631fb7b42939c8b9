// Why this word: what several methods give to each word of the source, side by side, and how far each can be trusted.
import { candidate, joined, units } from "./data.js";
import { element, fill } from "./elements.js";
import { amount, percent, unitText } from "./text.js";

const OWN = "attention"; // the method of an explanation that names none
const SURE = 0.05; // p-value below which a method is better than chance

export function drawMethods(viewer) {
  const { parts, state, view } = viewer;
  const names = view ? methodsOf(viewer) : [];
  const own = ownOf(viewer);
  parts.methodLabel.hidden = names.length < 2;
  fill(parts.method, names.map((name) => [name === own ? "" : name, methodName(viewer, name)]), state.by);
  parts.method.onchange = () => viewer.choose({ by: parts.method.value, heads: null });
}

export function drawReasons(viewer) {
  const { parts, t, state, view } = viewer;
  const names = view && isOfWords(viewer) ? methodsOf(viewer) : [];
  parts.reasonsBox.hidden = names.length < 2;
  if (names.length < 2) return;
  const told = candidate(viewer.prediction, state.rank);
  const at = state.pinned?.line === "queries" && view.rowSide === "target" ? state.pinned.at : null;
  const unit = at === null ? null : units(told.explanation, "target", state)[at];
  parts.grade.textContent = gradeLine(viewer, names);
  parts.reasonsNote.textContent = !unit ? t("pickWord") : told.explanation.reasons ? "" : t(told.weighed ? "unweighed" : "weighing");
  parts.reasonsNote.hidden = !parts.reasonsNote.textContent;
  const there = Boolean(unit && told.explanation.reasons);
  parts.reasons.hidden = !there;
  parts.reasons.replaceChildren(...(there ? [tableOf(viewer, told.explanation, unit, names)] : []));
}

// What share of each target unit came from the source: by the method that is shown, or the best that can tell.
export function sourceShares(viewer) {
  const { explanation } = viewer.current();
  const reasons = explanation?.reasons ?? {};
  const by = explanation?.sides?.source ? explanation.by : explanation && methodsOf(viewer).find((name) => reasons[name]?.sides?.source);
  const shares = explanation?.sides?.source ?? reasons[by]?.sides.source;
  if (!shares || !viewer.view || viewer.view.rowSide !== "target") return null;
  return { by, of: viewer.view.rows.map(({ pieces }) => pieces.reduce((sum, piece) => sum + (shares[piece] ?? 0), 0) / pieces.length) };
}

export function methodName({ t }, name) {
  return t("methodNames")[name] ?? name;
}

// Those that there are, or can be asked for; the best first where they were graded, else the picture's own.
function methodsOf({ prediction, state, methods, grades }) {
  const { explanation } = candidate(prediction, state.rank);
  const own = explanation?.by ?? OWN;
  const names = [...new Set([own, ...methods, ...Object.keys(explanation?.reasons ?? {})])];
  const grade = (name) => grades?.methods[name]?.deletion.value ?? -Infinity;
  return grades ? names.sort((a, b) => (grade(a) === grade(b) ? 0 : grade(b) - grade(a))) : names;
}

function ownOf({ prediction, state }) {
  return candidate(prediction, state.rank).explanation?.by ?? OWN;
}

// Of a translation: only there each word that was written has weights of words that were given.
function isOfWords({ prediction, state }) {
  const { explanation } = candidate(prediction, state.rank);
  return !explanation.columns && explanation.source_tokens.length > 0;
}

// Which of these tells best what matters; what was not measured is said, too.
export function gradeLine(viewer, names) {
  const { t, grades } = viewer;
  const graded = names.filter((name) => grades?.methods[name]);
  if (graded.length < 2) return t("ungraded");
  const [best] = graded.sort((a, b) => grades.methods[b].deletion.value - grades.methods[a].deletion.value);
  const sure = grades.methods[best].deletion.against_random < SURE;
  return t(sure ? "graded" : "gradedByChance", graded.length, methodName(viewer, best), grades.lines);
}

function tableOf(viewer, explanation, unit, names) {
  const { t, state } = viewer;
  const columns = units(explanation, "source", state);
  const found = names.map((name) => explanation.reasons[name] ?? explanation);
  const rows = found.map(({ weights }) => joined(weights, [unit], columns)[0]);
  const most = Math.max(...rows.flat().map(Math.abs), 1e-9);
  const cell = (value) => {
    const made = element("td", { class: value < 0 ? "below" : null }, amount({ shares: true }, value).replace("-", "−"));
    made.style.setProperty("--weight", `${((100 * Math.abs(value)) / most).toFixed(1)}%`);
    return made;
  };
  const whole = found.map(({ sides }) => (sides?.source ? unit.pieces.reduce((sum, piece) => sum + (sides.source[piece] ?? 0), 0) / unit.pieces.length : null));
  const row = (label, cells) => element("tr", {}, element("th", { scope: "row" }, label), ...cells);
  return element("table", {}, element("caption", {}, t("reasonsOf", unitText(unit))),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, t("source")), ...names.map((name) => element("th", { scope: "col" }, methodName(viewer, name))))),
    element("tbody", {}, ...columns.map((column, at) => row(element("bdi", {}, unitText(column)), rows.map((values) => cell(values[at]))))),
    element("tfoot", {}, row(t("fromSource"), whole.map((share) => element("td", {}, share === null ? "–" : percent(share)))),
      row(t("fromWritten"), whole.map((share) => element("td", {}, share === null ? "–" : percent(1 - share))))));
}
