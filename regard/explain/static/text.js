// Texts as people read them: nothing invisible, differences marked, numbers short.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Zs}\p{Noncharacter_Code_Point}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/gu;
const SIGN = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]"; // a word each
const LETTERS = `(?:(?!${SIGN})[\\p{L}\\p{M}\\p{N}\\p{Pc}])+`;
const CUT = new RegExp(`${SIGN}|\\s+|${LETTERS}(?:['’-]${LETTERS})*|.`, "gu"); // punctuation stands alone
const NEAR = 120; // maximum letters of a placeholder between two words
const COMPARED = 1e6; // pairs of words; texts with more are not compared

// A glyph for invisible characters and those that reorder others.
export function visible(text, spaces = true) {
  let shown = "";
  for (const character of String(text)) {
    const code = character.codePointAt(0);
    if (character === " ") shown += spaces ? "␣" : " ";
    else if (code < 0x20) shown += String.fromCodePoint(0x2400 + code);
    else if (!HIDDEN.test(character) || code === 0x200c || code === 0x200d) shown += character;
    else shown += `⟨${codePoint(code)}⟩`;
  }
  return shown;
}

// A word with a glyph for its spaces; a longer text stays the same.
export function unitText({ text, whole = false }) {
  return visible(text, !whole);
}

// Code points that `visible` replaces; empty for a plain text.
export function hiddenCodes(text) {
  const codes = [...String(text)].filter((character) => HIDDEN.test(character)).map((character) => codePoint(character.codePointAt(0)));
  return codes.join(" ");
}

function codePoint(code) {
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export function rightToLeft(texts) {
  const joined = texts.join("");
  return 2 * (joined.match(RIGHT_TO_LEFT) || []).length > (joined.match(/\p{L}/gu) || []).length;
}

// Isolated, so that a script from right to left leaves the line around it as it is.
export function isolated(text) {
  return `\u2068${visible(text)}\u2069`;
}

export function percent(value) {
  return `${Math.round(100 * value)}%`;
}

// A visible weight: in per cent where its row sums to one, else the number with its sign.
export function amount({ shares }, value) {
  return shares ? percent(value) : String(+value.toPrecision(3)).replace("-", "−");
}

// A text in parts as [text, changed]; changed are the words beyond the longest common part with the other.
export function compared(text, other) {
  const cut = (string) => visible(string, false).match(CUT) || [];
  const [words, others] = [cut(text), cut(other)];
  if (words.length * others.length > COMPARED) return [[visible(text, false), false]];
  const common = Array.from({ length: words.length + 1 }, () => new Array(others.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      common[i][j] = words[i] === others[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const told = [];
  for (let i = 0, j = 0; i < words.length;) {
    if (j < others.length && words[i] === others[j]) { add(told, words[i++], false); j++; }
    else if (j < others.length && common[i][j + 1] >= common[i + 1][j]) j++;
    else { add(told, words[i], Boolean(words[i].trim())); i++; }
  }
  return told;
}

// Neighbours that are alike are one part.
function add(parts, text, changed) {
  const last = parts.at(-1);
  if (last?.[1] === changed) last[0] += text;
  else parts.push([text, changed]);
}

// [start, end] of each word in a text; null if it is not found near the word before.
export function places(text, words, from = 0) {
  let after = from;
  return words.map((word) => {
    const start = word.special || !word.text ? -1 : text.slice(0, after + NEAR).indexOf(word.text, after);
    if (start < 0) return null;
    after = start + word.text.length;
    return [start, after];
  });
}
