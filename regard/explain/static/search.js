// Kept and pruned hypotheses of the search: the answer step by step, each with its alternatives as a tree that opens.
import { isText } from "./data.js";
import { button, element, ifChanged } from "./elements.js";
import { percent, visible } from "./text.js";

const ROOT = -1;

export function drawSearch(viewer) {
  const { parts, prediction, t } = viewer;
  const tree = prediction.details?.search;
  const can = Boolean(viewer.steps) && isText(prediction) && Boolean(prediction.text);
  parts.searchBox.hidden = !tree && !can;
  const note = tree ? [t("searchNote"), tree.whole ? "" : t("searchCut")] : [prediction.searched ? t("unsearched") : ""];
  parts.searchNote.textContent = note.filter(Boolean).join(" ");
  ifChanged(parts.search, [tree, Boolean(prediction.searched)], () => {
    const ask = button({}, () => { ask.disabled = true; viewer.steps(prediction); }, t("showSearch"));
    parts.search.replaceChildren(...(tree ? [stepsOf(t, grown(tree), ROOT)] : prediction.searched ? [] : [ask]));
  });
}

// Children of each node, best first, and the one that continues: towards the answer, else the longest.
export function grown({ nodes, answer }) {
  const after = new Map([[ROOT, []]]);
  nodes.forEach((node, at) => { after.set(at, []); after.get(node.parent).push(at); });
  const lasts = nodes.map(({ fate }) => (fate === "dropped" ? 0 : 1));
  for (let at = nodes.length - 1; at >= 0; at--) {
    const { parent } = nodes[at];
    if (parent !== ROOT && lasts[at]) lasts[parent] = Math.max(lasts[parent], lasts[at] + 1);
  }
  const answered = new Set();
  for (let at = answer ?? ROOT; at !== ROOT; at = nodes[at].parent) answered.add(at);
  const next = (at) => after.get(at).reduce((best, one) => {
    if (!lasts[one]) return best;
    return best === null || answered.has(one) || (lasts[one] > lasts[best] && !answered.has(best)) ? one : best;
  }, null);
  return { nodes, after, next };
}

// The pieces after a node, one a step, each with the alternatives after the same prefix.
function stepsOf(t, tree, start) {
  const list = element("ol", { class: "steps" });
  for (let at = start; at !== null && tree.after.get(at).length;) {
    const next = tree.next(at);
    const others = tree.after.get(at).filter((one) => one !== next);
    const head = next === null ? [element("span", { class: "quiet" }, t("wentNoFurther"))] : told(t, tree.nodes[next]);
    list.append(element("li", {}, others.length ? opening(head, t("others", others.length), () => branches(t, tree, others)) : element("p", {}, ...head)));
    at = next;
  }
  return list;
}

function branches(t, tree, nodes) {
  return element("ul", { class: "branches" }, ...nodes.map((at) => {
    const { fate } = tree.nodes[at];
    const line = [...told(t, tree.nodes[at]), element("span", { class: `fate ${fate}` }, t("fates")[fate])];
    return element("li", {}, tree.after.get(at).length ? opening(line, beyond(tree, at), () => stepsOf(t, tree, at)) : element("p", {}, ...line));
  }));
}

// Text after a node, to the end of its path.
function beyond(tree, start) {
  const written = [];
  for (let at = tree.next(start); at !== null; at = tree.next(at)) written.push(tree.nodes[at].token);
  return spelt(written.join(""));
}

// Its content is made when it is first opened.
function opening(head, more, inside) {
  const made = element("details", {}, element("summary", {}, ...head, more && element("bdi", { class: "quiet more" }, more)));
  made.addEventListener("toggle", () => { if (made.children.length === 1) made.append(inside()); });
  return made;
}

// A piece, its probability and its accumulated score; of an end, after an equals sign, the score that ranks the answer.
function told(t, { token, log_prob: chance, score, fate }) {
  const sum = `${fate === "ended" ? "= " : ""}${(score ?? -Infinity).toFixed(2).replace("-", "−")}`;
  return [element("bdi", { class: "piece" }, spelt(token)), element("span", { class: "quiet", title: t("searchTip") }, `${percent(Math.exp(chance ?? -Infinity))} · ${sum}`)];
}

function spelt(token) {
  return visible(token.replaceAll("\u2581", " ").trim() || token, false);
}
