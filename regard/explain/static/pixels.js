// Images of weights, one pixel a cell, for maps with too many cells for elements.
import { measured, strength } from "./data.js";
import { element } from "./elements.js";

const GAP = 16; // pixels of a cell; larger ones stand apart
const known = new Map(); // CSS colours → red, green, blue

// Colours of positive and negative weights, of zero, of the card and of text, in the page's theme.
export function coloursOf({ parts, host }) {
  const { color: above, caretColor: below, backgroundColor: nothing } = getComputedStyle(parts.ramp);
  return { above, below, nothing, card: getComputedStyle(parts.mapBox).backgroundColor, ink: getComputedStyle(host).color };
}

// The weight of a cell is its opacity. `mirrored` has the first column at the right.
export function pixels(matrix, { view = measured(matrix), mirrored, colours: { above, below } }) {
  const [height, width] = [Math.max(matrix.length, 1), Math.max(matrix[0]?.length ?? 1, 1)];
  const picture = element("canvas", { width, height });
  const pen = picture.getContext("2d");
  const image = pen.createImageData(width, height);
  const [plus, minus] = [parsed(above), parsed(below)];
  matrix.forEach((row, y) => row.forEach((value, x) => {
    const at = 4 * (y * width + (mirrored ? width - 1 - x : x));
    const colour = value < 0 ? minus : plus;
    for (let part = 0; part < 3; part++) image.data[at + part] = colour[part];
    image.data[at + 3] = Math.round(255 * strength(view, value));
  }));
  pen.putImageData(image, 0, 0);
  return picture;
}

// All cells of a map at their places, on a canvas as large as the map.
export function paintCells(pen, { view, colours }, map) {
  const [width, height] = [map.cell * map.columns, map.cell * map.rows];
  pen.imageSmoothingEnabled = false;
  pen.fillStyle = colours.nothing;
  pen.fillRect(map.left, map.top, width, height);
  if (map.rows && map.columns) pen.drawImage(pixels(view.weights, { view, mirrored: map.mirrored, colours }), map.left, map.top, width, height);
  if (map.large) return;
  pen.fillStyle = colours.ink;
  if (view.signed) drawBars(pen, view, map);
  pen.fillStyle = colours.card;
  const gap = map.cell > GAP ? 2 : 1;
  for (let row = 1; row < map.rows; row++) pen.fillRect(map.left, map.yOf(row) - gap / 2, width, gap);
  for (let column = 1; column < map.columns; column++) pen.fillRect(map.left + map.cell * column - gap / 2, map.top, gap, height);
}

// A negative weight has another colour, and a bar if there is room.
function drawBars(pen, view, map) {
  view.weights.forEach((row, r) => row.forEach((value, c) => {
    if (value < 0) pen.fillRect(map.xOf(c) + 0.3 * map.cell, map.yOf(r) + map.cell / 2 - 0.5, 0.4 * map.cell, 1);
  }));
}

// Red, green and blue of a CSS colour.
function parsed(colour) {
  if (!known.has(colour)) {
    const pen = element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    known.set(colour, [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3));
  }
  return known.get(colour);
}
