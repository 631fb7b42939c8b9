// The heat map: SVG up to 64 words, its cells painted where they are many, and a canvas above; all are walked through by keyboard.
import { canvasMap } from "./canvas.js";
import { element } from "./elements.js";
import { layout, meant, neighbour } from "./layout.js";
import { paintCells } from "./pixels.js";
import { svgMap } from "./svg.js";

const MANY = 1024; // cells; above, they are pixels, not elements

export function drawMap(viewer) {
  const { parts, view } = viewer;
  if (!view) {
    viewer.map = null;
    return parts.heat.replaceChildren();
  }
  const map = layout(view, parts.heat.clientWidth || 600);
  const words = [view.rows, view.columns].map((units) => units.map(({ text, unknown }) => [text, unknown]));
  const frame = JSON.stringify([map, words, viewer.language]);
  if (viewer.map?.frame === frame && viewer.map.repaint) return viewer.map.repaint();
  const many = map.rows * map.columns > MANY;
  const drawn = map.large ? canvasMap(viewer, map) : many ? paintedMap(viewer, map) : svgMap(viewer, map);
  parts.heat.replaceChildren(drawn);
  viewer.map = Object.assign(map, { frame });
  drawn.addEventListener("pointermove", (event) => viewer.point(under(map, event)));
  drawn.addEventListener("pointerleave", () => viewer.point(null));
  drawn.addEventListener("click", (event) => { const what = under(map, event); if (what) viewer.pin(what); });
  drawn.addEventListener("keydown", (event) => move(viewer, event));
  return undefined;
}

// Labels and marks as elements over painted cells. With other weights of the same words only these are painted again.
function paintedMap(viewer, map) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const sharp = Math.max(1, globalThis.devicePixelRatio || 1);
  [canvas.width, canvas.height] = [Math.round(map.width * sharp), Math.round(map.height * sharp)];
  const pen = canvas.getContext("2d");
  pen.scale(sharp, sharp);
  const box = element("div", { class: "painted-map" }, canvas, svgMap(viewer, map, { bare: true }));
  [box.style.width, box.style.height] = [`${map.width}px`, `${map.height}px`];
  map.repaint = () => {
    pen.clearRect(0, 0, map.width, map.height);
    paintCells(pen, viewer, map);
    map.relabel();
  };
  map.repaint();
  return box;
}

// Found by place: faint cells of a map have no element.
function under(map, event) {
  const frame = event.currentTarget.getBoundingClientRect();
  const scale = map.width / frame.width;
  return meant(map, (event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale);
}

function move(viewer, event) {
  const { pointed, map } = viewer;
  if (pointed?.column === undefined) return;
  if (event.key === "Enter" || event.key === " ") viewer.pin(pointed);
  else {
    const goal = neighbour(map, pointed.at, pointed.column, event);
    if (!goal && !/^(Arrow|Home|End)/.test(event.key)) return;
    if (goal) map.focus(...goal);
  }
  event.preventDefault();
}

export function focusInMap(viewer, { at, column }) {
  if (viewer.map && at < viewer.map.rows && column < viewer.map.columns) viewer.map.focus(at, column);
}

export function markMap(viewer, row, column) {
  viewer.map?.mark(row, column);
}
