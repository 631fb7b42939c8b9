// Highlighted words of the two texts, for the word that a viewer points at.
import { candidate, units } from "./explain/data.js";
import { places } from "./explain/text.js";

const LEAST = 0.05; // minimum weight of a highlighted word

// {source, target}: lists of [start, end, weight, active] in the text and in the translation.
export function lit(viewer, written, from, { row, column, ofKeys, ofQueries }) {
  const found = { source: [], target: [] };
  const { view } = viewer;
  if (!view || (row === null && column === null)) return found;
  const told = candidate(viewer.prediction, viewer.state.rank);
  const add = (side, shown, active, weightAt) => {
    const places = side === "source" ? placed(written, shown, from) : placed(told.translation ?? told.text, shown);
    places.forEach((place, at) => {
      if (place && (at === active || weightAt(at) >= LEAST)) found[side].push([...place, Math.min(weightAt(at), 1), at === active]);
    });
  };
  add(view.columnSide, view.columns, column, ofKeys);
  add(view.rowSide, view.rows, row, ofQueries);
  return found;
}

// Places of words, or of pieces without their space mark, in a text.
export function placed(text, shown, from = 0) {
  return places(text, shown.map((unit) => ({ ...unit, text: unit.text.replace(/^[▁ ]+/, "") })), from);
}

// Starts of the sentences in the text: where they are found, else where the one
// before ends, since placeholders and addresses are removed before translation.
export function starts(text, sentences) {
  let from = 0;
  return sentences.map((sentence) => {
    const exact = text.indexOf(sentence.source, from);
    const start = exact >= 0 ? exact : from;
    const words = sentence.explanation ? placed(text, units(sentence.explanation, "source", { unit: "words", end: false }), start) : [];
    from = exact >= 0 ? exact + sentence.source.length : words.findLast(Boolean)?.[1] ?? start;
    return start;
  });
}

// A text cut into [text, word] with the words of its prediction; word is null between them.
export function cut(text, prediction) {
  const { explanation } = prediction;
  if (!explanation) return [[text, null]];
  const words = units(explanation, "target", { unit: "words", end: false });
  const parts = [];
  let from = 0;
  placed(text, words).forEach((place, at) => {
    if (!place) return;
    if (place[0] > from) parts.push([text.slice(from, place[0]), null]);
    parts.push([text.slice(...place), { ...words[at], at }]);
    [, from] = place;
  });
  if (from < text.length || !parts.length) parts.push([text.slice(from), null]);
  return parts;
}
