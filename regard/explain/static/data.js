// From a prediction's JSON to labels and one matrix of weights: choosing, averaging, joining pieces to words.
import { isOn } from "./selection.js";

const START = "<s>"; // a decoder's first input
const END = "</s>";
const SLACK = 0.01; // rounding error of a weight

// Initial state of a viewer, plain values only, so that a link or a file can keep it. `across` is null until a
// reader chooses an arrangement of the words.
export function firstState() {
  return { rank: 0, kind: "alignment", method: "", heads: null, join: "average", share: 100, unit: "words", end: false, across: null, pinned: null };
}

export function candidate(prediction, rank) {
  return rank === 0 ? prediction : prediction.alternatives[rank - 1] ?? prediction;
}

// True for a text. Older pages have no kinds of answers: all are texts.
export function isText({ answers = "text" }) {
  return answers === "text";
}

// True if the explanation is about generated text; the words that fill the gaps of a column are not.
export function isWritten(prediction) {
  const columns = prediction.explanation?.columns;
  return !columns || (isText(prediction) && "target" in columns);
}

// A prediction with the weights, maps and sides of another method, if known.
export function explainedBy(prediction, method) {
  const reason = method && prediction.explanation?.reasons?.[method];
  return reason ? { ...prediction, explanation: { ...prediction.explanation, ...reason, method } } : prediction;
}

// Kinds of attention; of an example in columns, the pairs of columns, and the alignment if there is one.
export function kinds(explanation) {
  const { columns, maps, weights, alignment } = explanation;
  const found = columns ? byKind([...new Set(maps.map(pairOf))]) : ["cross", "encoder", "decoder"].filter((kind) => mapsOf(explanation, kind).length);
  return weights.length && (!columns || alignment.length) ? ["alignment", ...found] : found;
}

export function mapsOf({ columns, maps }, kind) {
  return maps.filter((map) => (columns ? pairOf(map) : map.kind) === kind);
}

// From one column to another first, then learned queries, then self-attention.
function byKind(pairs) {
  const rank = (pair) => { const [rows, columns] = pair.split(">"); return rows === columns ? 2 : Number(rows === ""); };
  return pairs.sort((a, b) => rank(a) - rank(b));
}

function pairOf({ queries, keys }) {
  return `${queries}>${keys}`;
}

// Sides of queries and keys: a side, a column, or "" for a learned query.
export function sidesOf({ columns }, kind) {
  if (columns && kind !== "alignment") return kind.split(">");
  return [kind === "encoder" ? "source" : "target", kind === "decoder" ? "target" : "source"];
}

// The words or pieces of a side: [{text, pieces, unknown, special, whole}]; whole is a unit of several words. A piece
// unknown to the model is shown as its word.
export function units(explanation, side, { unit, end }) {
  const { tokens, words } = explanation.columns?.[side] ?? { tokens: explanation[`${side}_tokens`], words: explanation[`${side}_words`] };
  const last = tokens.length - 1;
  const unknown = new Map(words.filter((word) => word.unknown && word.pieces.length === 1).map((word) => [word.pieces[0], word]));
  const all = unit === "words"
    ? words
    : tokens.map((text, position) => unknown.get(position) ?? { text, pieces: [position] });
  return all
    .map((each) => ({ ...each, whole: side in (explanation.columns ?? {}) && /\S \S/.test(each.text), special: tokens[last] === END && each.pieces[0] === last }))
    .filter((each) => end || !each.special);
}

// Target words as inputs of a decoder: shifted by one place, after the start,
// which is always shown, since the first word can attend only to it.
export function readUnits(explanation, state) {
  const count = explanation.target_tokens.length;
  const read = units(explanation, "target", state)
    .map((each) => ({ ...each, pieces: each.pieces.map((piece) => piece + 1).filter((piece) => piece < count) }))
    .filter((each) => each.pieces.length);
  return [{ text: START, pieces: [0], special: true }, ...read];
}

// Everything shown of a prediction's attention; null without attention. Replaces a missing kind.
export function makeView(prediction, state) {
  const { explanation } = prediction;
  if (!explanation) return null;
  const available = kinds(explanation);
  if (!available.includes(state.kind)) {
    state.kind = available[0] ?? "alignment";
    state.heads = null;
  }
  if (!available.length) return null;
  const [rowSide, columnSide] = sidesOf(explanation, state.kind);
  const rows = rowSide ? units(explanation, rowSide, state) : questions(explanation, state);
  const columns = state.kind === "decoder" ? readUnits(explanation, state) : units(explanation, columnSide, state);
  const whole = chosen(explanation, state, (matrix) => joined(matrix, rows, columns));
  return { rowSide, columnSide, rows, columns, whole, ...measured(whole), shares: areShares(explanation, state), weights: strongest(whole, state.share) };
}

// Rows of learned queries: the answer if there is only one; else the names of their maps, or their numbers.
export function questions(explanation, { kind, heads }) {
  const maps = mapsOf(explanation, kind).filter((map, layer) => map.weights.some((_, head) => isOn(heads, layer, head)));
  const names = maps.flatMap(({ name, weights: [rows] }) => rows.map((_, at) => (rows.length > 1 ? `${name} ${at + 1}` : name)));
  const alone = mapsOf(explanation, kind).length === 1;
  return names.map((name, at) => ({ text: !alone ? name : names.length > 1 ? String(at + 1) : explanation.target_tokens[0] ?? "", pieces: [at], special: false, whole: true }));
}

// Weight of the strongest colour: 1, or outside 0 … 1 the largest absolute weight.
export function measured(matrix) {
  let [most, least] = [0, 0];
  for (const row of matrix) for (const value of row) [most, least] = [Math.max(most, value ?? 0), Math.min(least, value ?? 0)];
  const bounded = least >= 0 && most <= 1 + SLACK;
  return { bounded, signed: least < 0, most: bounded ? 1 : Math.max(most, -least) };
}

// From 0 to 1, where 1 is the strongest colour; the sign is returned separately.
export function strength(view, value) {
  return Math.min(Math.abs(value ?? 0) / view.most, 1);
}

// True if every row of the joined weights sums to one, so that a weight is a percentage.
export function areShares(explanation, { kind }) {
  return kind === "alignment" ? explanation.shares !== false : mapsOf(explanation, kind).every((map) => map.shares !== false);
}

// The selected matrix, by words where these are shown: so the largest of shares is a share, too.
function chosen(explanation, state, byUnits) {
  if (state.kind === "alignment") return byUnits(explanation.weights);
  const layers = mapsOf(explanation, state.kind).map((map, layer) => map.weights.filter((_, head) => isOn(state.heads, layer, head)));
  if (state.join === "rollout" && rollsOut(explanation, state)) return byUnits(rollout(layers.filter((heads) => heads.length)));
  if (!sidesOf(explanation, state.kind)[0]) return byUnits(layers.filter((each) => each.length).flatMap((each) => combine(each, state.join === "strongest")));
  const heads = layers.flat();
  if (heads.length && state.join === "strongest") return combine(heads.map(byUnits), true);
  return byUnits(heads.length ? combine(heads, false) : []);
}

// Cell by cell: the mean of several matrices, or the largest absolute value.
export function combine(matrices, greatest) {
  if (matrices.length === 1) return matrices[0];
  return matrices[0].map((row, r) => row.map((_, c) => {
    let told = 0;
    for (const matrix of matrices) {
      const value = weight(matrix, r, c);
      if (!greatest) told += value;
      else if (Math.abs(value) > Math.abs(told)) told = value;
    }
    return greatest ? told : told / matrices.length;
  }));
}

// Rollout needs shares in every layer.
export function rollsOut(explanation, { kind }) {
  const maps = mapsOf(explanation, kind), [rows, columns] = sidesOf(explanation, kind);
  return rows === columns && kind !== "decoder" && maps.length > 1 && maps.every((map) => map.shares !== false);
}

// Attention rollout, each layer mixed by half with the residual connection: arXiv 2005.00928
export function rollout(layers) {
  const mixed = layers.map((heads) => combine(heads, false).map((row, r) => row.map((value, c) => ((value ?? 0) + (r === c ? 1 : 0)) / 2)));
  return mixed.reduce((below, layer) => layer.map((row) => below[0].map((_, c) => row.reduce((sum, value, k) => sum + value * below[k][c], 0))));
}

// Mean over the query pieces, sum over the key pieces: rows that sum to one still do.
export function joined(matrix, rows, columns) {
  return rows.map((row) => columns.map((column) => {
    let sum = 0;
    for (const r of row.pieces) for (const c of column.pieces) sum += weight(matrix, r, c);
    return sum / row.pieces.length;
  }));
}

// The fewest weights of each row that make up `share` % of its absolute sum; the others become zero.
export function strongest(matrix, share) {
  if (share >= 100) return matrix;
  return matrix.map((row) => {
    const order = row.map((_, at) => at).sort((a, b) => Math.abs(row[b]) - Math.abs(row[a]));
    let left = (share / 100) * row.reduce((sum, value) => sum + Math.abs(value), 0);
    const kept = new Set();
    for (const at of order) {
      if (left <= 1e-9) break;
      kept.add(at);
      left -= Math.abs(row[at]);
    }
    return row.map((value, at) => (kept.has(at) ? value : 0));
  });
}

// Probability of a target word, the product over its pieces, calibrated if they are; null if unknown.
export function chance(prediction, unit) {
  const { explanation, log_probs: logProbs, details } = prediction;
  if (!logProbs || logProbs.length !== explanation.target_tokens.length) return null;
  const values = unit.pieces.map((piece) => details?.confidences?.[piece] ?? (logProbs[piece] === null ? null : Math.exp(logProbs[piece])));
  return values.includes(null) ? null : values.reduce((product, value) => product * value, 1);
}

export function isCalibrated({ details }) {
  return Boolean(details?.calibrated);
}

// Confidence of the whole answer, as in JSON and Python, calibrated or not; of older files the
// geometric mean of the probabilities of all pieces; null if unknown. `sure`: the value of the search,
// where a forced pass has cut the text into other pieces since.
export function certainty(prediction) {
  const { details, log_probs: logProbs, sure = null } = prediction;
  if (sure !== null) return sure;
  if (typeof details?.confidence === "number") return details.confidence;
  if (!logProbs?.length || logProbs.includes(null)) return null;
  return Math.exp(logProbs.reduce((sum, value) => sum + value, 0) / logProbs.length);
}

export function confidence(value) {
  if (value === null) return "";
  if (value >= 0.8) return "sure";
  return value >= 0.5 ? "fair" : "poor";
}

function weight(matrix, row, column) {
  return matrix[row]?.[column] ?? 0;
}
