// A small heat map of every head: a click selects or deselects it, a double click selects it alone.
import { mapsOf } from "./data.js";
import { button, element } from "./elements.js";
import { pixels } from "./pixels.js";
import { isOn, solo, toggled } from "./selection.js";
import { rightToLeft } from "./text.js";

const MOST = 4; // tiles beside each other
const FEW = 8; // heads in all that may have larger tiles
const LONG = 2; // maximum ratio of the sides of a tile
const pictures = new WeakMap(); // of heads, by their weights

export function drawTiles(viewer) {
  const { parts, view, state } = viewer;
  const { explanation } = viewer.current();
  const kind = state.kind === "alignment" ? "cross" : state.kind;
  const maps = explanation ? mapsOf(explanation, kind) : [];
  parts.overviewBox.hidden = !view || maps.reduce((sum, map) => sum + map.weights.length, 0) < 2;
  if (parts.overviewBox.hidden) return;
  const mirrored = rightToLeft(view.columns.map((unit) => unit.text));
  const layers = maps.map((map) => map.weights.map((matrix) => picture(matrix, mirrored, viewer.colours)));
  const pictured = layers.flat();
  parts.tiles.classList.toggle("few", pictured.length <= FEW);
  if (!same(parts.tiles.pictured, pictured)) {
    parts.tiles.pictured = pictured;
    parts.tiles.replaceChildren(...layers.map((heads, layer) => element("div", { class: "layer-row" },
      element("span", { "aria-hidden": "true" }, String(layer + 1)),
      element("span", { class: "heads", "data-columns": columnsOf(heads.length) }, ...heads.map((drawn, head) => tile(viewer, { kind, maps, layer, head }, drawn))))));
  }
  layers.forEach((heads, layer) => heads.forEach((drawn, head) => press(drawn.parentNode, state.kind === kind && isOn(state.heads, layer, head))));
}

function same(before, now) {
  return before?.length === now.length && now.every((one, at) => one === before[at]);
}

function press(made, on) {
  if (made.getAttribute("aria-pressed") !== String(on)) made.setAttribute("aria-pressed", String(on));
}

function tile(viewer, { kind, maps, layer, head }, drawn) {
  const { t } = viewer;
  const label = t("headOf", layer + 1, head + 1);
  const alone = ({ kind: was, heads } = viewer.state) => viewer.choose({ kind, heads: solo(was === kind ? heads : null, maps, layer, head) });
  const toggle = () => (viewer.state.kind === kind ? viewer.choose({ heads: toggled(viewer.state.heads, maps, layer, head) }) : alone());
  const made = button({ class: "tile", "aria-pressed": "false", "aria-label": label, title: label }, (event) => {
    if (event.detail === 2) return alone(viewer.before); // the second click of a double click: undoes the first
    viewer.before = { kind: viewer.state.kind, heads: viewer.state.heads };
    return toggle();
  }, drawn);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    alone();
  });
  return made;
}

// Tiles in a line, so that all lines have about the same number.
export function columnsOf(heads) {
  return Math.ceil(heads / Math.ceil(heads / MOST));
}

// Rendered once for each head and theme; clicks change none of them.
function picture(matrix, mirrored, colours) {
  const kept = pictures.get(matrix);
  const told = `${mirrored} ${colours.above} ${colours.below}`;
  if (kept?.told === told) return kept.canvas;
  const canvas = pixels(matrix, { mirrored, colours });
  canvas.style.aspectRatio = String(Math.min(Math.max(canvas.width / canvas.height, 1 / LONG), LONG));
  pictures.set(matrix, { told, canvas });
  return canvas;
}
