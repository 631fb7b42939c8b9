// Controls of the shown attention: kind, layer, head, combination of heads, fraction of each row.
import { kinds, mapsOf, rollsOut, sidesOf } from "./data.js";
import { fill } from "./elements.js";
import { told, within } from "./selection.js";
import { sideName } from "./strings.js";
import { amount } from "./text.js";

export function drawControls(viewer) {
  const { parts, view, state, t } = viewer;
  if (!view) return;
  const { explanation } = viewer.current();
  const maps = mapsOf(explanation, state.kind);
  const heads = Math.max(0, ...maps.map((map) => map.weights.length));
  const now = told(state.heads, maps);
  const one = (count, value) => [["all", t("all")], ...Array.from({ length: count }, (_, at) => [at, String(at + 1)]),
    ...(value === "some" ? [["some", t("some")]] : [])];
  const joins = ["average", "strongest", ...(rollsOut(explanation, state) ? ["rollout"] : [])];
  if (!joins.includes(state.join)) state.join = "average";
  selector(viewer, "kind", kinds(explanation).map((kind) => [kind, kindName(explanation, kind, t)]), state.kind, (kind) => ({ kind, heads: null }));
  selector(viewer, "layer", one(maps.length, now.layer), now.layer, (layer) => ({ heads: within(maps, number(layer), other(now.head)) }), maps.length > 1);
  selector(viewer, "head", one(heads, now.head), now.head, (head) => ({ heads: within(maps, other(now.layer), number(head)) }), heads > 1);
  selector(viewer, "join", joins.map((join) => [join, t(join)]), state.join, (join) => ({ join }), maps.length * heads > 1);
  parts.end.checked = state.end;
  parts.end.onchange = () => viewer.choose({ end: parts.end.checked });
  if (Number(parts.share.value) !== state.share) parts.share.value = state.share;
  parts.shareTold.textContent = `${state.share}%`;
  parts.share.oninput = () => viewer.choose({ share: Number(parts.share.value) });
  parts.caption.textContent = [caption(viewer), ...scale(view, t)].join(" ");
  parts.ramp.classList.toggle("signed", view.signed);
}

// Meaning of rows and columns.
export function caption({ view, t }) {
  return t("caption", sideName(t, view.rowSide), sideName(t, view.columnSide));
}

function kindName(explanation, kind, t) {
  if (!explanation.columns || kind === "alignment") return t(kind);
  return sidesOf(explanation, kind).map((side) => sideName(t, side)).join(" → ");
}

// Meaning of the colours where weights are not a distribution.
function scale(view, t) {
  return [view.shares ? "" : t("noShares"), view.bounded ? "" : t("full", amount({ shares: false }, view.most)), view.signed ? t("below") : ""].filter(Boolean);
}

// Choose the next or the previous option of a selector. An alignment has neither layers nor heads:
// a step forward changes to cross-attention if it has several.
export function step(viewer, name, by) {
  if (viewer.state.kind === "alignment") {
    const maps = mapsOf(viewer.current().explanation, "cross");
    const count = name === "layer" ? maps.length : Math.max(0, ...maps.map((map) => map.weights.length));
    if (by < 0 || count < 2) return;
    viewer.choose({ kind: "cross", heads: null });
  }
  const select = viewer.parts[name];
  const next = viewer.parts[`${name}Label`].hidden ? null : select.options[select.selectedIndex + by];
  if (!next) return;
  select.value = next.value;
  select.onchange();
}

function selector(viewer, name, options, value, changes, shown = true) {
  const select = viewer.parts[name];
  viewer.parts[`${name}Label`].hidden = !shown;
  fill(select, options, value);
  select.onchange = () => viewer.choose(changes(select.value));
}

function number(value) {
  return /^\d+$/.test(value) ? Number(value) : "all";
}

function other(value) {
  return value === "some" ? "all" : value;
}
