// The heat map of a long sentence: one image of pixels, explored with a cursor.
import { element } from "./elements.js";
import { FONTS } from "./layout.js";
import { paintCells } from "./pixels.js";
import { bands } from "./svg.js";

const STEP = 50; // words from number to number where there is no room for labels

export function canvasMap(viewer, map) {
  const box = element("div", { class: "canvas-map", tabindex: "0", role: "application", "aria-labelledby": `${viewer.prefix}caption` });
  const canvas = element("canvas", { "aria-hidden": "true" });
  const marks = element("div", { "aria-hidden": "true" });
  const sharp = Math.max(1, globalThis.devicePixelRatio || 1);
  [canvas.width, canvas.height] = [Math.round(map.width * sharp), Math.round(map.height * sharp)];
  [box.style.width, box.style.height] = [`${map.width}px`, `${map.height}px`];
  box.append(canvas, marks);
  const pen = canvas.getContext("2d");
  pen.scale(sharp, sharp);
  paintCells(pen, viewer, map);
  pen.fillStyle = viewer.colours.ink;
  pen.font = `${map.size}px ${FONTS}`;
  map.labelled ? labels(pen, map) : numbers(pen, map);
  let cursor = [0, 0];
  map.focus = (row, column) => {
    cursor = [row, column];
    if (document.activeElement === box) viewer.point({ line: "queries", at: row, column });
    else box.focus();
  };
  map.mark = (row, column) => {
    if (row !== null && column !== null) cursor = [row, column];
    marks.replaceChildren(...bands(map, row, column).map((band) => {
      const mark = element("div", { class: "mark-band" });
      Object.assign(mark.style, { left: `${band.x}px`, top: `${band.y}px`, width: `${band.width}px`, height: `${band.height}px` });
      return mark;
    }));
  };
  box.addEventListener("focus", () => viewer.point({ line: "queries", at: cursor[0], column: cursor[1] }));
  box.addEventListener("blur", () => viewer.point(null));
  return box;
}

function labels(pen, map) {
  pen.textAlign = "end";
  map.labels.rows.forEach((text, row) => pen.fillText(text, map.left - 8, map.yOf(row) + 0.5 * map.cell + map.size * 0.36));
  pen.textAlign = "start";
  map.labels.columns.forEach((text, column) => {
    pen.save();
    pen.translate(map.xOf(column) + map.cell / 2 + map.size * 0.36, map.top - 7);
    pen.rotate(-Math.PI / 2);
    pen.fillText(text, 0, 0);
    pen.restore();
  });
}

function numbers(pen, map) {
  pen.textAlign = "end";
  for (let row = 0; row < map.rows; row += STEP) pen.fillText(String(row + 1), map.left - 4, map.yOf(row) + map.size * 0.8);
  pen.textAlign = "center";
  for (let column = 0; column < map.columns; column += STEP) pen.fillText(String(column + 1), map.xOf(column) + map.cell / 2 + 4, map.top - 5);
}
