// A small picture of every head, which is also the way to choose one.
function drawOverview() {
  const explanation = current().explanation;
  const kind = state.kind === "alignment" ? "cross" : state.kind;
  const maps = mapsOf(explanation, kind);
  byId("overview-box").hidden = maps.reduce((sum, each) => sum + each.weights.length, 0) < 2;
  byId("overview").replaceChildren(...maps.map((each, layer) => {
    const row = element("div", { class: "layer-row" });
    row.append(element("span", { "aria-hidden": "true" }, String(layer + 1)), ...each.weights.map((matrix, head) => thumb(kind, layer, head, matrix)));
    return row;
  }));
}

function thumb(kind, layer, head, matrix) {
  const on = state.kind === kind && state.layer === layer && state.head === head;
  const label = t("headOf", layer + 1, head + 1);
  const button = element("button", { type: "button", class: "thumb", "aria-pressed": String(on), "aria-label": label, title: label });
  button.append(miniature(matrix, rightToLeft(view.columns.map((unit) => unit.text))));
  button.addEventListener("click", () => choose(on ? { layer: "average", head: "average" } : { kind, layer, head }));
  return button;
}

// Mirrored as the map is.
function miniature(matrix, mirrored) {
  const [height, width] = [Math.max(matrix.length, 1), Math.max(matrix[0]?.length ?? 1, 1)];
  const canvas = element("canvas", { width, height });
  const scale = 62 / Math.max(width, height);
  canvas.style.width = `${Math.max(width * scale, 12)}px`;
  canvas.style.height = `${Math.max(height * scale, 12)}px`;
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.querySelector(".mark")).color;
  matrix.forEach((row, y) => row.forEach((value, x) => {
    pen.globalAlpha = Math.min(Math.max(value ?? 0, 0), 1);
    pen.fillRect(mirrored ? width - 1 - x : x, y, 1, 1);
  }));
  return canvas;
}
