// Terms to keep: the field for them, what became of each, and what the score of a translation is made of.
import { element } from "./explain/elements.js";

const PART = /\s*(?:\t|=|→|⇒)\s*/u; // between a term and its translations
const POINT = 2; // digits of a share

// The terms that are written in a field, as the server reads them: a tab between term and translation.
export function terms(field) {
  return field.value.split("\n").map((line) => line.trim().replace(PART, "\t")).filter(Boolean).join("\n");
}

// Fills a place with how often each term of a whole file was used, and what is told of single sentences.
export function drawCounts(place, t, { terms: counts = [], warnings = [] }) {
  const told = ({ source, targets, used, found }) => term({ source, targets, used: used === found, told: t("usedOf", used, found) }, t);
  place.replaceChildren(...[
    counts.length > 0 && element("ul", { class: "terms", "aria-label": t("glossary") }, ...counts.map(told)),
    ...warnings.map((warning) => element("p", { class: "told" }, warning)),
  ].filter(Boolean));
  place.hidden = !place.childElementCount;
}

// Fills a place with what is told of a sentence besides its text.
export function drawReport(place, t, { details = {}, score }) {
  const { terms: uses = [], term_cost: cost = 0, warning = "", shares = {} } = details;
  place.replaceChildren(...[
    uses.length > 0 && element("ul", { class: "terms", "aria-label": t("glossary") }, ...uses.map((use) => term(use, t))),
    cost > 0 && element("p", { class: "quiet" }, t("termCost", cost.toFixed(POINT))),
    warning !== "" && element("p", { class: "told" }, warning),
    Object.keys(shares).length > 0 && made(shares, score, t),
  ].filter(Boolean));
  place.hidden = !place.childElementCount;
}

function term({ source, targets, used, told = "" }, t) {
  const more = told || (used ? "" : t("unused"));
  return element("li", { class: used ? "kept" : "lost" },
    element("bdi", {}, source), " → ", element("bdi", {}, targets.join(" | ")), more && ` (${more})`);
}

// The shares of a score sum to it.
function made(shares, score, t) {
  const rows = Object.entries(shares).map(([name, share]) => element("tr", {},
    element("th", { scope: "row" }, t("features")[name] ?? name), element("td", {}, signed(share))));
  return element("details", { class: "score" }, element("summary", {}, t("score", signed(score))), element("table", {}, ...rows));
}

function signed(value) {
  return value.toFixed(POINT).replace("-", "−");
}
