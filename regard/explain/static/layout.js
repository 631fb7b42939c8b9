// Layout of the heat map for the available width.
import { rightToLeft, unitText } from "./text.js";

export const FONTS = "system-ui, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Naskh Arabic', sans-serif";
const LARGE = 64; // words of a side; above, the map is a canvas
const LEAST_CELL = 16; // pixels; labels still stand apart, and a map wider than the page scrolls
const LEAST_LARGE = 2; // pixels of a cell of a large map without labels
const LABELLED = 12; // pixels a cell needs for a label
const MOST_CELL = 40;
let pen = null; // measures text

export function layout(view, room) {
  const large = Math.max(view.rows.length, view.columns.length) > LARGE;
  const mirrored = rightToLeft(view.columns.map((unit) => unit.text));
  const rooms = large ? forLarge(view, room) : forWords(view, room, mirrored);
  return {
    ...rooms, large, mirrored, columns: view.columns.length, rows: view.rows.length,
    labels: { rows: view.rows.map(label), columns: view.columns.map(label) },
    xOf: (column) => rooms.left + rooms.cell * (mirrored ? view.columns.length - 1 - column : column),
    yOf: (row) => rooms.top + rooms.cell * row,
  };
}

// Cell of the map at a place in pixels; null outside.
export function meant(map, x, y) {
  const shown = Math.floor((x - map.left) / map.cell), row = Math.floor((y - map.top) / map.cell);
  const column = map.mirrored ? map.columns - 1 - shown : shown;
  const [inRows, inColumns] = [row >= 0 && row < map.rows, column >= 0 && column < map.columns];
  if (inRows && inColumns) return { line: "queries", at: row, column };
  if (inRows && shown < 0) return { line: "queries", at: row };
  return inColumns && row < 0 && row > -3 ? { line: "keys", at: column } : null;
}

// The cell an arrow key leads to; null for other keys and beyond the edge.
export function neighbour(map, row, column, event) {
  const ahead = map.mirrored ? -1 : 1;
  const goals = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - ahead], ArrowRight: [row, column + ahead],
    Home: [event.ctrlKey ? 0 : row, 0], End: [event.ctrlKey ? map.rows - 1 : row, map.columns - 1],
  };
  const [r, c] = goals[event.key] ?? [-1, -1];
  return r >= 0 && r < map.rows && c >= 0 && c < map.columns ? [r, c] : null;
}

function forWords(view, room, mirrored) {
  const [rows, columns] = [view.rows.map(label), view.columns.map(label)];
  const count = Math.max(columns.length, 1);
  const size = count > 24 ? 12 : 13;
  const left = Math.ceil(widest(rows, size)) + 12;
  const lean = 0.72 * labelWidth(columns[mirrored ? 0 : count - 1] ?? "", size);
  const fits = Math.min((room - left - 4) / count, (room - left - lean - 13) / (count - 0.5)); // the last label leans out
  const cell = Math.max(LEAST_CELL, Math.min(MOST_CELL, Math.floor(fits)));
  const upright = widest(columns, size) <= cell - 2;
  const top = Math.ceil(upright ? size + 12 : 0.72 * widest(columns, size) + 16);
  return {
    left, top, cell, size, upright, labelled: true, height: top + cell * rows.length + 4,
    width: Math.ceil(left + cell * count + (upright ? 4 : Math.max(lean - cell / 2 + 12, 4))),
  };
}

// As large as the room allows; labels only if they are readable.
function forLarge(view, room) {
  const size = 11;
  const margin = Math.ceil(widest([...view.rows, ...view.columns].map(label), size)) + 12;
  const fits = Math.floor((room - margin) / view.columns.length);
  const labelled = fits >= LABELLED;
  const [left, top] = labelled ? [margin, margin] : [34, 20];
  const cell = labelled ? fits : Math.max(LEAST_LARGE, Math.min(LABELLED - 1, Math.floor((room - left) / view.columns.length)));
  return { left, top, cell, size, labelled, upright: false, width: left + cell * view.columns.length + 2, height: top + cell * view.rows.length + 2 };
}

function widest(labels, size) {
  return labels.reduce((most, text) => Math.max(most, labelWidth(text, size)), 0);
}

function labelWidth(text, size) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `600 ${size}px ${FONTS}`;
  return pen.measureText(text).width;
}

function label(unit) {
  const letters = [...unitText(unit)];
  return letters.length > 16 ? `${letters.slice(0, 15).join("")}…` : letters.join("");
}
