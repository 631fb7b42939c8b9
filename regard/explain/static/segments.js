// The segments of a translation memory that speak for a word: shown for the pinned word.
import { element, ifChanged } from "./elements.js";
import { pinnedPiece } from "./taught.js";
import { visible } from "./text.js";

export function drawSegments(viewer) {
  const { parts, prediction, state, t } = viewer;
  const found = state.rank === 0 ? prediction.details?.evidence : null;
  parts.segmentsBox.hidden = !found;
  if (!found) return;
  const piece = pinnedPiece(viewer);
  const word = found.find(({ pieces }) => pieces.includes(piece));
  const note = word ? t("segmentsBy", visible(word.word, false)) : t(piece === null ? "pickSegments" : "segmentsNone");
  parts.segmentsNote.textContent = note;
  ifChanged(parts.segments, word, () => parts.segments.replaceChildren(...(word?.segments ?? []).map((one) => segmentItem(t, one))));
}

function segmentItem(t, { source, target, percent, segment }) {
  const text = (side, words) => element("p", { dir: "auto", class: side }, visible(words, false));
  return element("li", {}, text("source", source), text("target", target),
    element("div", { class: "bar" }, element("span", { class: "quiet" }, t("segmentShare", percent, segment))));
}
