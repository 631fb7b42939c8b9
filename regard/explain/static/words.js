// The two lines of words, the curves between them and the line that tells what is pointed at.
const LEAST = 0.08; // weight of a curve worth drawing

function drawWords() {
  const prediction = current();
  byId("score").textContent = prediction.score === null ? "" : t("score", decimal(prediction.score));
  byId("unfinished").hidden = prediction.finished;
  byId("stage").hidden = !view;
  byId("plain").hidden = Boolean(view);
  byId("plain").textContent = visible(prediction.text, false);
  byId("readout").hidden = !view;
  byId("legend").hidden = !view || !view.rows.some((unit) => view.rowSide === "target" && chance(unit) !== null);
  if (!view) return;
  drawLine("keys", view.columns, view.columnSide);
  drawLine("queries", view.rows, view.rowSide);
}

function drawLine(line, shown, side) {
  byId(`${line}-title`).textContent = t(side);
  const box = byId(line);
  box.dir = rightToLeft(shown.map((unit) => unit.text)) ? "rtl" : "ltr";
  box.replaceChildren(...shown.map((unit, at) => token(unit, at, line, side)));
}

function token(unit, at, line, side) {
  const button = element("button", { type: "button", class: "token", tabindex: at === 0 ? "0" : "-1", "aria-pressed": "false" });
  const shown = visible(unit.text);
  const value = side === "target" && line === "queries" ? chance(unit) : null;
  button.append(element("bdi", { class: confidence(value) }, shown));
  button.classList.toggle("special", unit.special);
  if (value !== null) button.title = t("chance", percent(value));
  button.addEventListener("pointerenter", () => point({ line, at }));
  button.addEventListener("pointerleave", () => point(null));
  button.addEventListener("focus", () => { rove(button); point({ line, at }); });
  button.addEventListener("blur", () => point(null));
  button.addEventListener("click", () => pin({ line, at }));
  return button;
}

function rove(button) {
  for (const other of button.parentNode.children) other.tabIndex = other === button ? 0 : -1;
}

// Left and right within a line, up and down between the lines.
function moveInWords(event) {
  const button = event.target.closest(".token");
  if (!button) return;
  const line = button.parentNode;
  const all = [...line.children];
  const at = all.indexOf(button);
  const step = line.dir === "rtl" ? -1 : 1;
  const steps = { ArrowRight: step, ArrowLeft: -step, Home: -at, End: all.length - 1 - at };
  let next = null;
  if (event.key in steps) next = all[at + steps[event.key]];
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const other = byId(event.key === "ArrowUp" ? "keys" : "queries");
    next = other === line ? null : other.querySelector('[tabindex="0"]');
  } else return;
  event.preventDefault();
  if (next) next.focus();
}

function same(a, b) {
  return Boolean(a && b) && a.line === b.line && a.at === b.at && a.column === b.column;
}

function point(what) {
  state.pointed = what;
  highlight();
}

function pin(what) {
  state.pinned = same(state.pinned, what) ? null : what;
  highlight();
}

// Everything that follows the pointer: tints, curves, bands in the map and the line of text.
function highlight() {
  if (!view) return;
  const target = state.pointed || state.pinned;
  const row = target && target.line === "queries" ? target.at : null;
  const column = target && target.line === "keys" ? target.at : target?.column ?? null;
  tint("keys", row, column, (at) => (row === null ? 0 : view.weights[row][at]));
  tint("queries", column, row, (at) => (column === null || row !== null ? 0 : view.weights[at][column]));
  drawLinks(row, column);
  markMap(row, column);
  byId("readout").textContent = told(row, column);
}

function tint(line, by, active, weightAt) {
  [...byId(line).children].forEach((button, at) => {
    const pinned = Boolean(state.pinned) && (state.pinned.line === line ? state.pinned.at : state.pinned.column) === at;
    button.style.setProperty("--weight", `${(100 * Math.min(weightAt(at), 1)).toFixed(1)}%`);
    button.classList.toggle("active", at === active);
    button.classList.toggle("pinned", pinned);
    button.setAttribute("aria-pressed", String(pinned));
  });
}

function told(row, column) {
  if (row !== null && column !== null) {
    return t("pair", name(view.rows[row]), name(view.columns[column]), percent(view.weights[row][column]));
  }
  if (row === null && column === null) return t("hint");
  const list = row !== null
    ? view.columns.map((unit, at) => [unit, view.weights[row][at]])
    : view.rows.map((unit, at) => [unit, view.weights[at][column]]);
  const most = list.filter(([, value]) => value >= 0.03).sort((a, b) => b[1] - a[1]).slice(0, 4);
  const named = most.map(([unit, value]) => `${name(unit)} ${percent(value)}`).join(" · ") || t("nothing");
  const head = row !== null ? t("looks", name(view.rows[row])) : t("seen", name(view.columns[column]));
  const sure = row !== null && view.rowSide === "target" ? chance(view.rows[row]) : null;
  return `${head} ${named}${sure === null ? "" : ` (${t("chance", percent(sure))})`}`;
}

function name(unit) {
  return `\u2068${visible(unit.text)}\u2069`; // isolated, so that a script from right to left leaves the line as it is
}

function drawLinks(row, column) {
  const box = byId("links");
  const frame = byId("stage").getBoundingClientRect();
  const [tops, bottoms] = ["keys", "queries"].map((line) => [...byId(line).children].map((button) => button.getBoundingClientRect()));
  const paths = [];
  view.weights.forEach((weights, r) => weights.forEach((value, c) => {
    const meant = (row === null || row === r) && (column === null || column === c);
    if (!meant || value < LEAST || !bottoms[r] || !tops[c]) return;
    const x1 = tops[c].left + tops[c].width / 2 - frame.left, y1 = tops[c].bottom - frame.top;
    const x2 = bottoms[r].left + bottoms[r].width / 2 - frame.left, y2 = bottoms[r].top - frame.top;
    const middle = (y1 + y2) / 2;
    paths.push(svgElement("path", {
      d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
      "stroke-width": 1 + 3.5 * value,
      "stroke-opacity": Math.min(row === null && column === null ? 0.75 * value : 0.15 + value, 1),
    }));
  }));
  box.replaceChildren(...paths);
}
