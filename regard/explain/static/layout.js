// Where everything of the heat map stands, for the room there is.
const LEAST_CELL = 16; // pixels; labels still stand apart, and a map wider than the page scrolls
const MOST_CELL = 40;
const FONTS = "system-ui, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";
const pen = document.createElement("canvas").getContext("2d"); // measures text

function labelWidth(text, size) {
  pen.font = `600 ${size}px ${FONTS}`;
  return pen.measureText(text).width;
}

function short(text) {
  const letters = [...text];
  return letters.length > 16 ? `${letters.slice(0, 15).join("")}…` : text;
}

function layout(room) {
  const labels = { rows: view.rows.map((unit) => short(visible(unit.text))), columns: view.columns.map((unit) => short(visible(unit.text))) };
  const count = Math.max(labels.columns.length, 1);
  const size = count > 24 ? 12 : 13;
  const left = Math.ceil(Math.max(0, ...labels.rows.map((text) => labelWidth(text, size)))) + 12;
  const widest = Math.max(0, ...labels.columns.map((text) => labelWidth(text, size)));
  const mirrored = rightToLeft(view.columns.map((unit) => unit.text));
  const lean = 0.72 * labelWidth(labels.columns[mirrored ? 0 : count - 1] ?? "", size);
  const cell = Math.max(LEAST_CELL, Math.min(MOST_CELL, Math.floor((room - left - lean / 2) / count)));
  const upright = widest <= cell - 2;
  const top = Math.ceil(upright ? size + 12 : 0.72 * widest + 16);
  return {
    labels, left, top, cell, size, upright, mirrored,
    width: Math.ceil(left + cell * count + (upright ? 4 : Math.max(lean - cell / 2 + 12, 4))),
    height: top + cell * labels.rows.length + 4,
  };
}
