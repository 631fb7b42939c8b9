// Exports of the view: images, numbers, and a page that works from disk.
import { button, svgElement } from "./elements.js";
import { FONTS } from "./layout.js";
import { menu } from "./menu.js";
import { alone, mapDocument, PALETTE } from "./svg.js";
import { visible } from "./text.js";

const SCALE = 2; // pixels of a PNG for each of the page's
const LARGEST = 8192; // pixels of a side of a PNG

export function connectFiles(viewer) {
  const { t } = viewer;
  const offer = (key, kind, make, part = "") => button({}, async () => {
    const made = await make();
    save(`${viewer.name}${part}.${kind.toLowerCase()}`, made.type, made.content);
  }, t(key, kind));
  const title = () => viewer.current().text || viewer.name;
  viewer.parts.save.append(menu(t("save"),
    offer("saveWords", "SVG", () => svg(wordsDocument(viewer, title())), "-words"),
    offer("saveWords", "PNG", () => png(wordsDocument(viewer, title())), "-words"),
    offer("savePicture", "SVG", () => svg(mapDocument(viewer, title())), "-map"),
    offer("savePicture", "PNG", () => png(mapDocument(viewer, title())), "-map"),
    offer("saveNumbers", "CSV", () => ({ type: "text/csv;charset=utf-8", content: csv(viewer.view, viewer.state.share < 100 ? t("only", viewer.state.share) : "") })),
    offer("saveAll", "JSON", () => ({ type: "application/json", content: JSON.stringify(shown(viewer)) })),
    ...(viewer.standalone ? [offer("savePage", "HTML", async () => ({ type: "text/html", content: html(await viewer.standalone(), shown(viewer)) }))] : [])));
}

// The prediction, the state, and the words and weights shown.
export function shown({ prediction, state, view, grades, model }) {
  const { rows, columns, weights } = view;
  return { format: 1, predictions: [prediction], grades, model, state, shown: { rows: rows.map((unit) => unit.text), columns: columns.map((unit) => unit.text), weights } };
}

// JSON between the marks of an empty page's data, with the characters of HTML escaped.
export function html(page, data) {
  const text = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return page.replace(/(<script type="application\/json" id="data">)[^<]*(<\/script>)/, (_, open, close) => open + text + close);
}

// A leading sign starts a formula in a spreadsheet, so it gets an apostrophe. A hidden weight is not a zero: its
// cell stays empty, and the corner names the fraction shown.
export function csv({ rows, columns, weights, whole }, corner) {
  const number = (value, all) => (value === 0 && all !== 0 ? "" : +value.toFixed(6));
  const cell = (text) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
  const lines = [[corner, ...columns.map((unit) => unit.text)].map(cell), ...rows.map((unit, row) => [cell(unit.text), ...weights[row].map((value, column) => number(value, whole[row][column]))])];
  return `\ufeff${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function svg(content) {
  return { type: "image/svg+xml", content };
}

async function png(content) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(content)}`;
  await image.decode();
  const scale = Math.min(SCALE, LARGEST / Math.max(image.width, image.height));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(image.width * scale), Math.round(image.height * scale)];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  return { type: "image/png", content: blob };
}

// The words in their places, with the visible curves.
function wordsDocument(viewer, title) {
  const { parts } = viewer;
  const frame = parts.stage.getBoundingClientRect();
  const picture = svgElement("svg", { width: Math.ceil(frame.width), height: Math.ceil(frame.height), "font-family": FONTS, "font-size": 16,
    viewBox: `0 0 ${Math.ceil(frame.width)} ${Math.ceil(frame.height)}` }, svgElement("rect", { width: "100%", height: "100%", fill: PALETTE.paper }));
  for (const path of parts.links.children) {
    const copy = path.cloneNode();
    copy.setAttribute("stroke", copy.classList.contains("below") ? PALETTE.below : PALETTE.cell);
    copy.setAttribute("fill", "none");
    picture.append(copy);
  }
  for (const word of parts.stage.querySelectorAll(".token")) picture.append(...boxed(word, frame));
  return alone(picture, title);
}

function boxed(word, frame) {
  const { left, top, width, height } = word.getBoundingClientRect();
  const [x, y] = [left - frame.left, top - frame.top];
  const weight = parseFloat(word.style.getPropertyValue("--weight")) / 100 || 0;
  const active = word.classList.contains("active") || word.classList.contains("pinned");
  const box = { x, y, width, height, rx: 9 };
  return [svgElement("rect", { ...box, fill: PALETTE.paper }),
    svgElement("rect", { ...box, fill: word.classList.contains("below") ? PALETTE.below : PALETTE.cell, "fill-opacity": (0.4 * weight).toFixed(3), stroke: active ? PALETTE.cell : "#c9cfdf" }),
    svgElement("text", { x: x + width / 2, y: y + height / 2 + 5.5, "text-anchor": "middle", fill: PALETTE.ink }, visible(word.textContent, false))];
}

export function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
