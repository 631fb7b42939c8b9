// A small picture of every head: a click takes it in or out, a double click leaves it alone.
import { mapsOf, measured, strength } from "./data.js";
import { button, element } from "./elements.js";
import { isOn, solo, toggled } from "./selection.js";
import { rightToLeft } from "./text.js";

const MOST = 4; // tiles beside each other
const FEW = 8; // heads in all that may have larger tiles
const LONG = 2; // times as long as wide may a tile be

export function drawTiles(viewer) {
  const { parts, view, state } = viewer;
  const { explanation } = viewer.current();
  const kind = state.kind === "alignment" ? "cross" : state.kind;
  const maps = explanation ? mapsOf(explanation, kind) : [];
  parts.overviewBox.hidden = !view || maps.reduce((sum, map) => sum + map.weights.length, 0) < 2;
  if (parts.overviewBox.hidden) return;
  parts.tiles.classList.toggle("few", maps.reduce((sum, map) => sum + map.weights.length, 0) <= FEW);
  const mirrored = rightToLeft(view.columns.map((unit) => unit.text));
  parts.tiles.replaceChildren(...maps.map((map, layer) => element("div", { class: "layer-row" },
    element("span", { "aria-hidden": "true" }, String(layer + 1)),
    element("span", { class: "heads", "data-columns": columnsOf(map.weights.length) }, ...map.weights.map((matrix, head) => tile(viewer, { kind, maps, layer, head }, picture(viewer, matrix, mirrored)))))));
}

function tile(viewer, { kind, maps, layer, head }, drawn) {
  const { state, t } = viewer;
  const label = t("headOf", layer + 1, head + 1);
  const on = state.kind === kind && isOn(state.heads, layer, head);
  const alone = ({ kind: was, heads } = state) => viewer.choose({ kind, heads: solo(was === kind ? heads : null, maps, layer, head) });
  const toggle = () => (state.kind === kind ? viewer.choose({ heads: toggled(state.heads, maps, layer, head) }) : alone());
  const made = button({ class: "tile", "aria-pressed": String(on), "aria-label": label, title: label }, (event) => {
    if (event.detail === 2) return alone(viewer.before); // the second click of a double click: as if there had been no first
    viewer.before = { kind: state.kind, heads: state.heads };
    return toggle();
  }, drawn);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    alone();
  });
  return made;
}

// As many beside each other as fill all lines alike.
export function columnsOf(heads) {
  return Math.ceil(heads / Math.ceil(heads / MOST));
}

// Pixels, mirrored as the map is.
function picture(viewer, matrix, mirrored) {
  const [height, width] = [Math.max(matrix.length, 1), Math.max(matrix[0]?.length ?? 1, 1)];
  const canvas = element("canvas", { width, height });
  canvas.style.aspectRatio = String(Math.min(Math.max(width / height, 1 / LONG), LONG));
  const pen = canvas.getContext("2d");
  const { color, caretColor } = getComputedStyle(viewer.parts.ramp);
  const range = measured(matrix);
  matrix.forEach((row, y) => row.forEach((value, x) => {
    pen.fillStyle = value < 0 ? caretColor : color;
    pen.globalAlpha = strength(range, value);
    pen.fillRect(mirrored ? width - 1 - x : x, y, 1, 1);
  }));
  return canvas;
}
