// From the page's JSON to labels and one matrix of weights: choosing, averaging, joining pieces to words.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Zs}\p{Noncharacter_Code_Point}]/u;

// A glyph for what would not be seen, or would move other characters about.
function visible(text, spaces = true) {
  let shown = "";
  for (const character of String(text)) {
    const code = character.codePointAt(0);
    if (character === " ") shown += spaces ? "␣" : " ";
    else if (code < 0x20) shown += String.fromCodePoint(0x2400 + code);
    else if (!HIDDEN.test(character) || code === 0x200c || code === 0x200d) shown += character;
    else shown += `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  }
  return shown;
}

function rightToLeft(texts) {
  const joined = texts.join("");
  const right = (joined.match(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu) || []).length;
  return 2 * right > (joined.match(/\p{L}/gu) || []).length;
}

function current() {
  const best = data.predictions[state.index];
  return state.rank === 0 ? best : best.alternatives[state.rank - 1];
}

// The words or pieces of a side: [{text, pieces, special}].
function units(explanation, side) {
  const tokens = explanation[`${side}_tokens`];
  const last = tokens.length - 1;
  const all = state.unit === "words"
    ? explanation[`${side}_words`]
    : tokens.map((text, position) => ({ text, pieces: [position] }));
  return all
    .map((unit) => ({ ...unit, special: tokens[last] === "</s>" && unit.pieces[0] === last }))
    .filter((unit) => state.end || !unit.special);
}

function kinds(explanation) {
  const found = ["cross", "encoder", "decoder"].filter((kind) => explanation.maps.some((map) => map.kind === kind));
  return explanation.weights.length ? ["alignment", ...found] : found;
}

function mapsOf(explanation, kind) {
  return explanation.maps.filter((map) => map.kind === kind);
}

// Cell by cell: the mean or the greatest of several matrices.
function combine(matrices, strongest) {
  if (matrices.length === 1) return matrices[0];
  return matrices[0].map((row, r) => row.map((_, c) => {
    const values = matrices.map((matrix) => weight(matrix, r, c));
    return strongest ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length;
  }));
}

function weight(matrix, row, column) {
  return matrix[row]?.[column] ?? 0;
}

// The piece-level matrix that the selectors ask for.
function chosen(explanation) {
  if (state.kind === "alignment") return explanation.weights;
  const maps = mapsOf(explanation, state.kind);
  const layers = maps[state.layer] ? [maps[state.layer]] : maps;
  const heads = layers.flatMap((map) => (map.weights[state.head] ? [map.weights[state.head]] : map.weights));
  return heads.length ? combine(heads, state.head === "strongest") : [];
}

// Mean over the pieces that look, sum over the pieces looked at: rows that add up to one still do.
function joined(matrix, rows, columns) {
  return rows.map((row) => columns.map((column) => {
    let sum = 0;
    for (const r of row.pieces) for (const c of column.pieces) sum += weight(matrix, r, c);
    return sum / row.pieces.length;
  }));
}

// All that is shown of the current prediction's attention; null when it carries none.
function makeView() {
  const explanation = current().explanation;
  if (!explanation) return null;
  const available = kinds(explanation);
  if (!available.includes(state.kind)) state.kind = available[0];
  if (!state.kind) return null;
  const rowSide = state.kind === "encoder" ? "source" : "target";
  const columnSide = state.kind === "decoder" ? "target" : "source";
  const rows = units(explanation, rowSide);
  const columns = units(explanation, columnSide);
  return { rowSide, columnSide, rows, columns, weights: joined(chosen(explanation), rows, columns) };
}

// The probability of a target word: that of all its pieces together; null when it is not known.
function chance(unit) {
  const { explanation, log_probs: logProbs } = current();
  if (!logProbs || logProbs.length !== explanation.target_tokens.length) return null;
  const values = unit.pieces.map((piece) => logProbs[piece]);
  return values.includes(null) ? null : Math.exp(values.reduce((sum, value) => sum + value, 0));
}

function confidence(value) {
  if (value === null) return "";
  if (value >= 0.8) return "sure";
  return value >= 0.5 ? "fair" : "poor";
}
