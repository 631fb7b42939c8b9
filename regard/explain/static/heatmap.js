// The heat map: SVG cells one can walk through by keyboard, and the same picture as a file.
const DENSE = 4096; // cells; above, only those worth seeing are drawn and the others when the keyboard comes by
const FAINT = 0.01;
const PALETTE = { ink: "#171c2b", paper: "#ffffff", base: "#f1f3f9", cell: "#4338ca" };
let map = null; // the geometry of the drawn map

function placeOf(column) {
  return map.left + map.cell * (map.mirrored ? view.columns.length - 1 - column : column);
}

function drawMap() {
  const box = byId("heat");
  if (!view) return;
  map = layout(box.clientWidth || 600);
  const svg = svgElement("svg", { width: map.width, height: map.height, viewBox: `0 0 ${map.width} ${map.height}`,
    "font-family": FONTS, "font-size": map.size, role: "grid", "aria-labelledby": "map-caption",
    "aria-rowcount": view.rows.length, "aria-colcount": view.columns.length });
  svg.append(svgElement("rect", { class: "paper", width: map.width, height: map.height, fill: PALETTE.paper }));
  svg.append(svgElement("rect", { class: "base", x: map.left, y: map.top, rx: 4, fill: PALETTE.base,
    width: map.cell * view.columns.length, height: map.cell * view.rows.length }));
  map.marks = svgElement("g");
  map.columnLabels = map.labels.columns.map(columnLabel);
  map.rowLabels = map.labels.rows.map((text, row) => svgElement("text", { x: map.left - 8, "text-anchor": "end",
    y: map.top + map.cell * (row + 0.5) + map.size * 0.36, fill: PALETTE.ink }, text));
  map.rows = view.rows.map((_, row) => svgElement("g", { role: "row", "aria-rowindex": row + 1 }));
  svg.append(...map.columnLabels, ...map.rowLabels, ...map.rows, map.marks);
  map.cells = new Map();
  const dense = view.rows.length * view.columns.length <= DENSE;
  view.weights.forEach((weights, row) => weights.forEach((value, column) => {
    if (dense || value >= FAINT) cellAt(row, column);
  }));
  box.replaceChildren(svg);
  svg.addEventListener("pointermove", (event) => point(under(event)));
  svg.addEventListener("pointerleave", () => point(null));
  svg.addEventListener("click", (event) => { const what = under(event); if (what) pin(what); });
  svg.addEventListener("keydown", moveInMap);
  if (view.rows.length && view.columns.length) cellAt(0, 0).setAttribute("tabindex", "0");
}

function columnLabel(text, column) {
  const x = placeOf(column) + map.cell / 2;
  const place = map.upright
    ? { x, y: map.top - 8, "text-anchor": "middle" }
    : { transform: `translate(${x + 3} ${map.top - 7}) rotate(-45)` };
  return svgElement("text", { ...place, fill: PALETTE.ink }, text);
}

function cellAt(row, column) {
  const key = row * view.columns.length + column;
  if (!map.cells.has(key)) {
    const value = view.weights[row][column];
    const inset = map.cell > 16 ? 1 : 0.5;
    const cell = svgElement("rect", { class: "cell", role: "gridcell", tabindex: "-1", "aria-colindex": column + 1,
      "aria-label": t("pair", visible(view.rows[row].text), visible(view.columns[column].text), percent(value)),
      x: placeOf(column) + inset, y: map.top + map.cell * row + inset, width: map.cell - 2 * inset, height: map.cell - 2 * inset,
      rx: map.cell > 16 ? 4 : 1.5, fill: PALETTE.cell, "fill-opacity": Math.min(Math.max(value, 0), 1).toFixed(3) });
    cell.addEventListener("focus", () => point({ line: "queries", at: row, column }));
    cell.addEventListener("blur", () => point(null));
    map.rows[row].append(cell);
    map.cells.set(key, cell);
  }
  return map.cells.get(key);
}

// By place, not by element: faint cells of a large map are not drawn.
function under(event) {
  const frame = event.currentTarget.getBoundingClientRect();
  const scale = map.width / frame.width;
  const x = Math.floor(((event.clientX - frame.left) * scale - map.left) / map.cell);
  const row = Math.floor(((event.clientY - frame.top) * scale - map.top) / map.cell);
  const column = map.mirrored ? view.columns.length - 1 - x : x;
  const [inRows, inColumns] = [row >= 0 && row < view.rows.length, column >= 0 && column < view.columns.length];
  if (inRows && inColumns) return { line: "queries", at: row, column };
  if (inRows && x < 0) return { line: "queries", at: row };
  return inColumns && row < 0 && row > -3 ? { line: "keys", at: column } : null;
}

function moveInMap(event) {
  const { pointed } = state;
  if (!pointed || pointed.column === undefined) return;
  const [row, column] = [pointed.at, pointed.column];
  const [lastRow, lastColumn] = [view.rows.length - 1, view.columns.length - 1];
  const step = map.mirrored ? -1 : 1;
  const goals = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - step], ArrowRight: [row, column + step],
    Home: [event.ctrlKey ? 0 : row, 0], End: [event.ctrlKey ? lastRow : row, lastColumn],
  };
  if (event.key === "Enter" || event.key === " ") pin(pointed);
  else if (event.key in goals) {
    const [r, c] = goals[event.key];
    if (r >= 0 && r <= lastRow && c >= 0 && c <= lastColumn) focusCell(r, c);
  } else return;
  event.preventDefault();
}

function focusCell(row, column) {
  byId("heat").querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  const cell = cellAt(row, column);
  cell.setAttribute("tabindex", "0");
  cell.focus();
}

function markMap(row, column) {
  if (!map) return;
  map.columnLabels.forEach((label, at) => label.classList.toggle("active", at === column));
  map.rowLabels.forEach((label, at) => label.classList.toggle("active", at === row));
  const width = map.cell * view.columns.length;
  const bands = [];
  if (row !== null) bands.push({ x: map.left, y: map.top + map.cell * row, width, height: map.cell });
  if (column !== null) bands.push({ x: placeOf(column), y: map.top, width: map.cell, height: map.cell * view.rows.length });
  map.marks.replaceChildren(...bands.map((band) => svgElement("rect", { class: "band", ...band, rx: 4, fill: "none", stroke: PALETTE.cell })));
  map.active?.classList.remove("active");
  map.active = row !== null && column !== null ? cellAt(row, column) : null;
  map.active?.classList.add("active");
}

// The picture alone, with its colours inside, as a document of its own.
function standaloneMap() {
  const copy = byId("heat").firstChild.cloneNode(true);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("role", "img");
  for (const part of copy.querySelectorAll("*")) {
    for (const attribute of ["class", "role", "tabindex", "aria-rowindex", "aria-colindex"]) part.removeAttribute(attribute);
    const tip = part.getAttribute("aria-label");
    if (tip !== null) {
      part.removeAttribute("aria-label");
      part.append(svgElement("title", {}, tip));
    }
  }
  for (const attribute of ["aria-labelledby", "aria-rowcount", "aria-colcount"]) copy.removeAttribute(attribute);
  copy.prepend(svgElement("title", {}, document.title));
  return new XMLSerializer().serializeToString(copy);
}
