// Explanation methods: available ones, each one's explanation of a prediction, and faithfulness scores.
import { candidate } from "./data.js";

export const OWN = "attention"; // method of an explanation without a name
const CHANCE = "random"; // baseline order of the scores
const SURE = 0.05; // p-value below which a method is better than chance

export function methodName({ t }, name) {
  return t("methodNames")[name] ?? name;
}

// Available methods; the best first if they were graded, else that of the heat map.
export function methodsOf({ prediction, state, methods, grades }) {
  const { explanation } = candidate(prediction, state.rank);
  const own = explanation?.method ?? OWN;
  const names = [...new Set([own, ...methods, ...Object.keys(explanation?.reasons ?? {})])];
  const grade = (name) => grades?.methods[name]?.deletion.value ?? -Infinity;
  return grades ? names.sort((a, b) => (grade(a) === grade(b) ? 0 : grade(b) - grade(a))) : names;
}

export function ownOf({ prediction, state }) {
  return candidate(prediction, state.rank).explanation?.method ?? OWN;
}

// Explanation of a prediction by a method; null if it has none.
export function reasonOf({ explanation }, name) {
  return explanation?.reasons?.[name] ?? ((explanation?.method ?? OWN) === name ? explanation : null);
}

// Fraction of each target unit's relevance on the source: by the shown method, or the best comparable one.
export function sourceShares(viewer) {
  const { explanation } = viewer.current();
  const reasons = explanation?.reasons ?? {};
  const method = explanation?.sides?.source ? explanation.method : explanation && methodsOf(viewer).find((name) => reasons[name]?.sides?.source);
  const shares = explanation?.sides?.source ?? reasons[method]?.sides.source;
  if (!shares || !viewer.view || viewer.view.rowSide !== "target") return null;
  return { method, of: viewer.view.rows.map(({ pieces }) => pieces.reduce((sum, piece) => sum + (shares[piece] ?? 0), 0) / pieces.length) };
}

// The most faithful of these methods; also notes the unmeasured ones.
export function gradeLine(viewer, names) {
  const { t, grades } = viewer;
  const graded = names.filter((name) => grades?.methods[name]);
  if (graded.length < 2) return t("ungraded");
  const [best] = graded.sort((a, b) => grades.methods[b].deletion.value - grades.methods[a].deletion.value);
  const sure = grades.methods[best].deletion.against_random < SURE;
  return t(sure ? "graded" : "gradedByChance", graded.length, methodName(viewer, best), grades.lines);
}

// The same for all graded methods, for an answer without a table of reasons; "" if none were graded.
export function gradesLine(viewer) {
  const names = Object.keys(viewer.grades?.methods ?? {}).filter((name) => name !== CHANCE);
  return names.length > 1 ? gradeLine(viewer, names) : "";
}
