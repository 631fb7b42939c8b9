// The two lines of words: to point at, to pin, to walk through by keyboard.
import { certainty, chance, confidence, isCalibrated } from "./data.js";
import { button, choice, element, ifChanged } from "./elements.js";
import { methodName, sourceShares } from "./methods.js";
import { sideName } from "./strings.js";
import { hiddenCodes, percent, rightToLeft, unitText, visible } from "./text.js";

const MOST_ACROSS = 60; // words of a column that the reader did not choose

export function drawWords(viewer) {
  const { parts, view, state, t } = viewer;
  const prediction = viewer.current();
  const sure = certainty(prediction);
  parts.score.textContent = sure === null ? "" : t("score", percent(sure));
  parts.score.title = t(isCalibrated(prediction) ? "calibratedTip" : "scoreTip");
  parts.means.textContent = sure === null ? "" : t(isCalibrated(prediction) ? "calibratedMeans" : "scoreMeans");
  parts.unfinished.hidden = prediction.finished;
  for (const name of ["stage", "readout", "across", "unit", "save"]) parts[name].hidden = !view;
  parts.plain.hidden = Boolean(view);
  parts.plain.textContent = visible(prediction.text, false);
  parts.legend.hidden = !view || view.rowSide !== "target" || !view.rows.some((unit) => chance(prediction, unit) !== null);
  choice(parts.unit, [["words", t("unitWords")], ["pieces", t("unitPieces")]], state.unit, (unit) => viewer.choose({ unit }));
  viewer.origins = sourceShares(viewer);
  parts.origin.hidden = !viewer.origins;
  parts.origin.textContent = viewer.origins ? t("origin", methodName(viewer, viewer.origins.method)) : "";
  if (!view) return;
  const moved = [drawLine(viewer, "keys", view.columns, view.columnSide), drawLine(viewer, "queries", view.rows, view.rowSide)].some(Boolean);
  if (moved || viewer.arranged !== state.across) arrange(viewer); // else the words have not moved
}

// Lines or columns as chosen; else columns if a line does not fit, since curves would run behind words.
export function arrange(viewer) {
  const { parts, state, t } = viewer;
  const lines = [parts.keys, parts.queries];
  Object.assign(viewer, { places: null, arranged: state.across });
  parts.stage.classList.remove("across");
  viewer.across = state.across ?? (lines.some(wraps) && lines.every((line) => line.children.length <= MOST_ACROSS));
  parts.stage.classList.toggle("across", viewer.across);
  choice(parts.across, [[false, t("lines")], [true, t("columns")]], viewer.across, (across) => viewer.choose({ across }));
}

function wraps({ firstChild, lastChild }) {
  return firstChild !== null && lastChild.offsetTop >= firstChild.offsetTop + firstChild.offsetHeight;
}

function drawLine(viewer, line, shown, side) {
  viewer.parts[`${line}Title`].textContent = sideName(viewer.t, side);
  const box = viewer.parts[line];
  const values = shown.map((unit) => (side === "target" && line === "queries" ? chance(viewer.current(), unit) : null));
  const origins = line === "queries" ? viewer.origins?.of : null;
  return ifChanged(box, [shown, values, origins], () => { // the same words stay, and with them pointer and focus
    box.dir = rightToLeft(shown.map((unit) => unit.text)) ? "rtl" : "ltr";
    box.replaceChildren(...shown.map((unit, at) => token(viewer, unit, at, line, { value: values[at], origin: origins?.[at] ?? null })));
  });
}

function token(viewer, unit, at, line, { value, origin }) {
  const made = button({ class: "token", tabindex: at === 0 ? "0" : "-1", "aria-pressed": "false" }, () => viewer.pin({ line, at }),
    element("bdi", { class: confidence(value) }, unitText(unit)), origin !== null && element("span", { class: "origin" }));
  if (origin !== null) made.lastChild.style.setProperty("--share", percent(origin));
  made.classList.toggle("special", unit.special);
  made.firstChild.classList.toggle("unknown", Boolean(unit.unknown));
  const tips = [value === null ? "" : viewer.t("chance", percent(value)), origin === null ? "" : viewer.t("originOf", percent(origin), percent(1 - origin)), unit.unknown ? viewer.t("unknown") : "", hiddenCodes(unit.text)].filter(Boolean);
  if (tips.length) made.title = tips.join(" · ");
  made.addEventListener("pointerenter", () => viewer.point({ line, at }));
  made.addEventListener("pointerleave", () => viewer.point(null));
  made.addEventListener("focus", () => { rove(made); viewer.point({ line, at }); });
  made.addEventListener("blur", () => viewer.point(null));
  return made;
}

function rove(made) {
  made.parentNode.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  made.tabIndex = 0;
}

// Along a line with its own arrows, to the other line with those across it.
export function moveInWords(viewer, event) {
  const at = event.target.closest(".token");
  if (!at) return;
  const line = at.parentNode;
  const all = [...line.children];
  const place = all.indexOf(at);
  const { across } = viewer;
  const ahead = line.dir === "rtl" && !across ? -1 : 1;
  const [back, forth, before, after] = across
    ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]
    : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  const steps = { [forth]: ahead, [back]: -ahead, Home: -place, End: all.length - 1 - place };
  let next = null;
  if (event.key in steps) next = all[place + steps[event.key]];
  else if (event.key === before || event.key === after) {
    const other = viewer.parts[event.key === before ? "keys" : "queries"];
    next = other === line ? null : other.querySelector('[tabindex="0"]');
  } else return;
  event.preventDefault();
  next?.focus();
}
