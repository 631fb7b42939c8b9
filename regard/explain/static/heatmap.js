// The heat map: SVG cells up to 64 words, a canvas above; both are walked through by keyboard.
import { canvasMap } from "./canvas.js";
import { layout, meant, neighbour } from "./layout.js";
import { svgMap } from "./svg.js";

export function drawMap(viewer) {
  const { parts, view } = viewer;
  viewer.map = null;
  if (!view) return parts.heat.replaceChildren();
  const map = layout(view, parts.heat.clientWidth || 600);
  const drawn = map.large ? canvasMap(viewer, map) : svgMap(viewer, map);
  parts.heat.replaceChildren(drawn);
  viewer.map = map;
  drawn.addEventListener("pointermove", (event) => viewer.point(under(map, event)));
  drawn.addEventListener("pointerleave", () => viewer.point(null));
  drawn.addEventListener("click", (event) => { const what = under(map, event); if (what) viewer.pin(what); });
  drawn.addEventListener("keydown", (event) => move(viewer, event));
  return undefined;
}

// By place, not by element: faint cells of a map are not drawn.
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
