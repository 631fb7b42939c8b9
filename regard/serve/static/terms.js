// Glossary terms: their field, the use of each, and the parts of a translation's score.
import { element } from "./explain/elements.js";

const POINT = 2; // digits of a part
const MUCH = 0.5; // nats a word: cost of terms that make a translation much less probable

// The terms in a field: the server reads all formats of glossaries.
export function terms(field) {
  return field.value.trim();
}

// Fill a place with the counts of each term in a file and of reused sentences, and the warnings of single sentences.
export function drawCounts(place, t, { terms: counts = [], warnings = [], memory = null }) {
  const told = ({ source, targets, used, found }) => term({ source, targets, used: used === found, told: t("usedOf", used, found) }, t);
  place.replaceChildren(...[
    counts.length > 0 && element("ul", { class: "terms", "aria-label": t("glossary") }, ...counts.map(told)),
    memory?.reused > 0 && element("p", { class: "quiet" }, t("reused", memory.reused, memory.sentences)),
    ...warnings.map((warning) => element("p", { class: "told" }, warning)),
  ].filter(Boolean));
  place.hidden = !place.childElementCount;
}

// Fill a place with the warnings of all sentences, and the parts of the score of one.
export function drawReport(place, t, sentences, at = 0) {
  const told = sentences.map(({ details = {} }, number) => ({ details, number: sentences.length > 1 ? number + 1 : null }));
  const uses = told.flatMap(({ details, number }) => (details.terms ?? []).map((use) => term({ ...use, number }, t)));
  const { score, details: { shares = {} } = {} } = sentences[at] ?? {};
  const open = place.querySelector("details.score")?.open ? "" : null; // the report is rendered again when explanations arrive
  place.replaceChildren(...[
    uses.length > 0 && element("ul", { class: "terms", "aria-label": t("glossary") }, ...uses),
    ...told.flatMap(({ details, number }) => remarks(details, t).map(([kind, text]) =>
      element("p", { class: kind }, number === null ? text : t("inSentence", number, text)))),
    Object.keys(shares).length > 0 && made(shares, score, t, open),
  ].filter(Boolean));
  place.hidden = !place.childElementCount;
}

// The warning of a sentence; without one, the cost of its terms.
function remarks({ term_cost: cost = 0, warning = "" }, t) {
  if (warning) return [["told", warning]];
  return cost > 0 ? [["quiet", t("termCost", cost >= MUCH)]] : [];
}

function term({ source, targets, used, told = "", number = null }, t) {
  const fate = told || (used ? "" : t("unused"));
  const more = fate && number !== null ? t("inSentence", number, fate) : fate;
  return element("li", { class: used ? "kept" : "lost" },
    element("bdi", {}, source), " → ", element("bdi", {}, targets.join(" | ")), more && ` (${more})`);
}

// The parts of a score sum to it.
function made(shares, score, t, open) {
  const rows = Object.entries(shares).map(([name, share]) => element("tr", {},
    element("th", { scope: "row" }, t("features")[name] ?? name), element("td", {}, signed(share))));
  return element("details", { class: "score", open }, element("summary", {}, t("score", signed(score))), element("table", {}, ...rows));
}

function signed(value) {
  return value.toFixed(POINT).replace("-", "−");
}
