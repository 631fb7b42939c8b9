// Everything that follows the pointer: tints, curves, bands in the map and the line of text.
import { chance, strength } from "./data.js";
import { ifChanged, svgElement } from "./elements.js";
import { markMap } from "./heatmap.js";
import { amount, isolated, percent } from "./text.js";

const LEAST = 0.08; // of the strongest: minimum of a curve
const TOLD = 0.03; // minimum of a named word
const NAMED = 4; // words named in the readout

export function same(a, b) {
  return a === b || (Boolean(a && b) && a.line === b.line && a.at === b.at && a.column === b.column);
}

export function highlight(viewer) {
  const { view, state } = viewer;
  if (!view) return;
  const target = viewer.pointed || state.pinned;
  const row = target?.line === "queries" ? target.at : null;
  const column = target?.line === "keys" ? target.at : target?.column ?? null;
  const ofKeys = (at) => (row === null ? 0 : view.weights[row][at]);
  const ofQueries = (at) => (column === null || row !== null ? 0 : view.weights[at][column]);
  tint(viewer, "keys", column, ofKeys);
  tint(viewer, "queries", row, ofQueries);
  const strong = (weightAt) => (at) => strength(view, weightAt(at));
  drawLinks(viewer, row, column);
  markMap(viewer, row, column);
  viewer.parts.readout.textContent = sentence(viewer, row, column);
  viewer.whenPointed({ row, column, ofKeys: strong(ofKeys), ofQueries: strong(ofQueries) });
}

function tint(viewer, line, active, weightAt) {
  const { pinned } = viewer.state;
  const held = pinned && (pinned.line === line ? pinned.at : pinned.column);
  [...viewer.parts[line].children].forEach((button, at) => {
    const look = [(100 * strength(viewer.view, weightAt(at))).toFixed(1), weightAt(at) < 0, at === active, at === held];
    ifChanged(button, look, () => {
      button.style.setProperty("--weight", `${look[0]}%`);
      ["below", "active", "pinned"].forEach((name, which) => button.classList.toggle(name, look[1 + which]));
      button.setAttribute("aria-pressed", String(look[3]));
    });
  });
}

function sentence(viewer, row, column) {
  const { view, t } = viewer;
  if (row === null && column === null) return t("hint");
  if (row !== null && column !== null) {
    return t("pair", isolated(view.rows[row].text), isolated(view.columns[column].text), amount(view, view.weights[row][column]));
  }
  const list = row !== null
    ? view.columns.map((unit, at) => [unit, view.weights[row][at]])
    : view.rows.map((unit, at) => [unit, view.weights[at][column]]);
  const most = list.filter(([, value]) => strength(view, value) >= TOLD).sort((a, b) => strength(view, b[1]) - strength(view, a[1])).slice(0, NAMED);
  const named = most.map(([unit, value]) => `${isolated(unit.text)} ${amount(view, value)}`).join(" · ") || t("nothing");
  const head = row !== null ? t("looks", isolated(view.rows[row].text)) : t("seen", isolated(view.columns[column].text));
  const sure = row !== null && view.rowSide === "target" ? chance(viewer.current(), view.rows[row]) : null;
  const origin = row !== null ? viewer.origins?.of[row] : undefined;
  const more = [sure === null ? "" : t("chance", percent(sure)), origin === undefined ? "" : t("originOf", percent(origin), percent(1 - origin))].filter(Boolean);
  return t("readout", head, named, more.join(" · "));
}

// Places of the words, measured once after they were rendered or moved.
function measured(viewer) {
  const { parts, across } = viewer;
  const frame = parts.stage.getBoundingClientRect();
  const ends = (line, far) => [...parts[line].children].map((button) => {
    const box = button.getBoundingClientRect();
    return across
      ? [(far ? box.right : box.left) - frame.left, box.top + box.height / 2 - frame.top]
      : [box.left + box.width / 2 - frame.left, (far ? box.bottom : box.top) - frame.top];
  });
  return { keys: ends("keys", true), queries: ends("queries", false) };
}

function drawLinks(viewer, row, column) {
  const { view, across } = viewer;
  viewer.places ??= measured(viewer);
  const { keys, queries } = viewer.places;
  const paths = [];
  view.weights.forEach((weights, r) => {
    if (row !== null && row !== r) return;
    weights.forEach((value, c) => {
      const strong = strength(view, value);
      if ((column !== null && column !== c) || strong < LEAST || !queries[r] || !keys[c]) return;
      paths.push(svgElement("path", {
        d: curve(keys[c], queries[r], across),
        class: value < 0 ? "below" : null, "stroke-dasharray": value < 0 ? "6 5" : null,
        "stroke-width": (1 + 3.5 * strong).toFixed(2),
        "stroke-opacity": Math.min(row === null && column === null ? 0.75 * strong : 0.15 + strong, 1).toFixed(3),
      }));
    });
  });
  viewer.parts.links.replaceChildren(...paths);
}

function curve([x1, y1], [x2, y2], across) {
  const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const bends = across ? `${x} ${y1} ${x} ${y2}` : `${x1} ${y} ${x2} ${y}`;
  return `M${x1} ${y1}C${bends} ${x2} ${y2}`;
}
