// The heat map as SVG, inside the page and as a document of its own.
import { SVG, svgElement } from "./elements.js";
import { strength } from "./data.js";
import { FONTS } from "./layout.js";
import { amount, visible } from "./text.js";

const DENSE = 4096; // cells of a heat map; above, only visible weights have elements
const FAINT = 0.01;
export const PALETTE = { ink: "#171c2b", paper: "#ffffff", base: "#f1f3f9", cell: "#4338ca", below: "#b45309" };

// Give `map` functions that mark a row and a column, and one that focuses a cell. `bare`: the cells are painted behind it, and
// a cell becomes an element when it is first visited.
export function svgMap(viewer, map, { bare = false } = {}) {
  const { view } = viewer;
  const picture = svgElement("svg", { width: map.width, height: map.height, viewBox: `0 0 ${map.width} ${map.height}`,
    "font-family": FONTS, "font-size": map.size, role: "grid", "aria-labelledby": `${viewer.prefix}caption`,
    "aria-rowcount": map.rows, "aria-colcount": map.columns });
  const columns = map.labels.columns.map((text, column) => columnLabel(map, text, column, view.columns[column]));
  const rows = map.labels.rows.map((text, row) => svgElement("text", { x: map.left - 8, "text-anchor": "end",
    y: map.yOf(row) + 0.5 * map.cell + map.size * 0.36, fill: PALETTE.ink, ...underlined(view.rows[row]) }, text));
  const lines = view.rows.map((_, row) => svgElement("g", bare ? {} : { role: "row", "aria-rowindex": row + 1 }));
  const marks = svgElement("g");
  const cells = new Map();
  const cellAt = (row, column) => {
    const key = row * map.columns + column;
    if (!cells.has(key)) {
      cells.set(key, cell(viewer, map, row, column, bare));
      lines[row].append(cells.get(key), ...(bare ? [] : bar(map, row, column, view.weights[row][column])));
      if (bare) for (const [name, value] of [["role", "row"], ["aria-rowindex", row + 1]]) lines[row].setAttribute(name, value);
    }
    return cells.get(key);
  };
  const ground = [svgElement("rect", { class: "paper", width: map.width, height: map.height, fill: PALETTE.paper }),
    svgElement("rect", { class: "base", x: map.left, y: map.top, rx: 4, fill: PALETTE.base, width: map.cell * map.columns, height: map.cell * map.rows })];
  picture.append(...(bare ? [] : ground), ...(map.labelled ? [...columns, ...rows] : []), ...lines, marks);
  const dense = map.rows * map.columns <= DENSE;
  if (!bare) view.weights.forEach((weights, row) => weights.forEach((value, column) => { if (dense || strength(view, value) >= FAINT) cellAt(row, column); }));
  if (map.rows && map.columns) cellAt(0, 0).setAttribute("tabindex", "0");
  map.focus = (row, column) => {
    picture.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    cellAt(row, column).setAttribute("tabindex", "0");
    cellAt(row, column).focus();
  };
  map.relabel = () => cells.forEach((made, key) => made.setAttribute("aria-label", cellName(viewer, Math.floor(key / map.columns), key % map.columns)));
  let active = null;
  map.mark = (row, column) => {
    columns.forEach((label, at) => label.classList.toggle("active", at === column));
    rows.forEach((label, at) => label.classList.toggle("active", at === row));
    marks.replaceChildren(...bands(map, row, column).map((band) => svgElement("rect", { class: "band", ...band, rx: 4, fill: "none", stroke: PALETTE.cell })));
    active?.classList.remove("active");
    active = row !== null && column !== null ? cellAt(row, column) : null;
    active?.classList.add("active");
  };
  return picture;
}

// The boxes around a row and a column of the map.
export function bands(map, row, column) {
  const found = [];
  if (row !== null) found.push({ x: map.left, y: map.yOf(row), width: map.cell * map.columns, height: map.cell });
  if (column !== null) found.push({ x: map.xOf(column), y: map.top, width: map.cell, height: map.cell * map.rows });
  return found;
}

function columnLabel(map, text, column, unit) {
  const x = map.xOf(column) + map.cell / 2;
  const place = map.upright
    ? { x, y: map.top - 8, "text-anchor": "middle" }
    : { transform: `translate(${x + 3} ${map.top - 7}) rotate(-45)` };
  return svgElement("text", { ...place, fill: PALETTE.ink, ...underlined(unit) }, text);
}

// A word that the model does not know has dots below it.
function underlined({ unknown }) {
  return unknown ? { "text-decoration": "underline dotted" } : {};
}

function cellName({ view, t }, row, column) {
  return t("pair", visible(view.rows[row].text), visible(view.columns[column].text), amount(view, view.weights[row][column]));
}

function cell(viewer, map, row, column, bare) {
  const { view } = viewer;
  const value = view.weights[row][column];
  const inset = map.cell > 16 ? 1 : Math.min(0.5, map.cell / 8);
  const below = !bare && value < 0;
  const made = svgElement("rect", { class: below ? "cell below" : "cell", role: "gridcell", tabindex: "-1", "aria-colindex": column + 1,
    "aria-label": cellName(viewer, row, column),
    x: map.xOf(column) + inset, y: map.yOf(row) + inset, width: map.cell - 2 * inset, height: map.cell - 2 * inset,
    rx: map.cell > 16 ? 4 : 1.5, fill: below ? PALETTE.below : PALETTE.cell, "fill-opacity": bare ? 0 : strength(view, value).toFixed(3) });
  made.addEventListener("focus", () => viewer.point({ line: "queries", at: row, column }));
  made.addEventListener("blur", () => viewer.point(null));
  return made;
}

// A negative weight has a bar and another colour.
function bar(map, row, column, value) {
  if (!(value < 0)) return [];
  const [x, y] = [map.xOf(column), map.yOf(row) + map.cell / 2];
  return [svgElement("path", { class: "bar", "aria-hidden": "true", d: `M${x + 0.3 * map.cell} ${y}h${0.4 * map.cell}`, stroke: PALETTE.ink, "pointer-events": "none" })];
}

// The heat map alone, with its colours inside and pinned cells marked.
export function mapDocument(viewer, title) {
  const map = { ...viewer.map };
  const picture = svgMap(viewer, map);
  const { pinned } = viewer.state;
  map.mark(pinned?.line === "queries" ? pinned.at : null, pinned?.line === "keys" ? pinned.at : pinned?.column ?? null);
  return alone(picture, title);
}

export function alone(picture, title) {
  picture.setAttribute("xmlns", SVG);
  picture.setAttribute("role", "img");
  for (const part of picture.querySelectorAll("*")) {
    const tip = part.getAttribute("aria-label");
    for (const attribute of ["class", "role", "tabindex", "aria-rowindex", "aria-colindex", "aria-label", "aria-hidden"]) part.removeAttribute(attribute);
    if (tip !== null) part.append(svgElement("title", {}, tip));
  }
  for (const attribute of ["class", "aria-labelledby", "aria-rowcount", "aria-colcount", "aria-hidden"]) picture.removeAttribute(attribute);
  picture.prepend(svgElement("title", {}, visible(title, false)));
  return new XMLSerializer().serializeToString(picture);
}
