// The training pairs that taught a word: shown for the pinned word, to be dropped or corrected.
import { units } from "./data.js";
import { button, element, ifChanged } from "./elements.js";
import { save } from "./files.js";
import { visible } from "./text.js";

export function drawTaught(viewer) {
  const { parts, prediction, state, t } = viewer;
  const found = state.rank === 0 ? prediction.taught : null;
  parts.taughtBox.hidden = !found;
  if (!found) return;
  const word = pinnedWord(viewer, found);
  parts.taughtNote.textContent = word ? t(evidence(word.pairs), visible(word.word, false)) : t("pickTaught");
  ifChanged(parts.taught, word, () => parts.taught.replaceChildren(...(word?.pairs ?? []).map((one) => pairItem(viewer, found, one))));
  drawList(viewer);
}

// Whether pairs link the word to its source words, have it elsewhere, have its source word alone, or there are none.
function evidence(pairs) {
  if (!pairs.length) return "taughtNone";
  if (pairs.some(({ link }) => link > 0)) return "taughtBy";
  return pairs[0].target.length ? "taughtNear" : "taughtWithout";
}

function pinnedWord(viewer, found) {
  const first = pinnedPiece(viewer);
  return first === null ? null : found.words.findLast(({ piece }) => piece <= first) ?? null;
}

// The first piece of the pinned word of the translation; null where none is pinned.
export function pinnedPiece({ prediction, state, view }) {
  if (state.pinned?.line !== "queries" || view?.rowSide !== "target") return null;
  return units(prediction.explanation, "target", state)[state.pinned.at]?.pieces[0] ?? null;
}

// Both texts with the aligned words marked, their place in the files, and the correction of the pair.
function pairItem(viewer, found, one) {
  const { t } = viewer;
  const pair = found.pairs[one.pair];
  const { files } = found.corpora[pair.corpus];
  const key = `${files.join(" ")}:${pair.line}`;
  const known = viewer.corrections.get(key);
  const text = (side) => element("p", { dir: "auto", class: side }, ...marked(pair[side], one[side]));
  const edited = element("textarea", { rows: "2", dir: "auto", "aria-label": t("mendedTarget"), hidden: known?.mended === undefined ? "" : null });
  edited.value = known?.mended ?? pair.target;
  const keep = (changes) => {
    const values = { files, line: pair.line, source: pair.source, target: pair.target, ...changes };
    if (changes) viewer.corrections.set(key, values); else viewer.corrections.delete(key);
    item.classList.toggle("dropped", Boolean(changes?.drop));
    drop.setAttribute("aria-pressed", String(Boolean(changes?.drop)));
    mend.setAttribute("aria-pressed", String(changes?.mended !== undefined));
    edited.hidden = changes?.mended === undefined;
    drawList(viewer);
  };
  const is = (name) => viewer.corrections.get(key)?.[name] !== undefined;
  const drop = button({ "aria-pressed": String(Boolean(known?.drop)) }, () => keep(is("drop") ? null : { drop: true }), t("dropPair"));
  const mend = button({ "aria-pressed": String(known?.mended !== undefined) }, () => keep(is("mended") ? null : { mended: edited.value }), t("mendPair"));
  edited.addEventListener("input", () => keep({ mended: edited.value }));
  const place = `${name(files[0])}:${pair.line}`;
  const context = one.context.toFixed(2);
  const kind = one.link > 0 ? t("taughtLink", one.link.toFixed(2), context) : t(one.target.length ? "taughtContext" : "taughtSource", context);
  const item = element("li", { class: known?.drop ? "dropped" : null }, text("source"), text("target"), edited,
    element("div", { class: "bar" }, element("span", { class: "quiet", title: files.join("\n") }, `${place} · ${kind}`), element("span", { class: "choices" }, drop, mend)));
  return item;
}

function drawList(viewer) {
  const { parts, t, corrections } = viewer;
  const listed = [...corrections.values()];
  parts.corrections.hidden = listed.length === 0;
  const commands = new Set(listed.map((one) => `regard data mend ${one.files.map(quoted).join(" ")} --list corrections.jsonl --to SOURCE TARGET`));
  parts.corrections.replaceChildren(...(listed.length ? [
    button({}, () => save("corrections.jsonl", "application/jsonl", listed.map((one) => `${JSON.stringify(one)}\n`).join("")), t("saveCorrections", listed.length)),
    element("p", { class: "quiet" }, t("mendCommand"), ...[...commands].flatMap((command) => [" ", element("code", {}, command)])),
  ] : []));
}

const quoted = (file) => (/^[\w./@%+=:,-]+$/.test(file) ? file : `'${file.replaceAll("'", `'"'"'`)}'`); // as a shell reads it

const name = (file) => file.split("/").at(-1);

// Places count characters, and a string of JavaScript has two units for some.
function marked(text, places) {
  const characters = [...text];
  const parts = [];
  let at = 0;
  for (const [first, behind] of [...places].sort((a, b) => a[0] - b[0])) {
    parts.push(visible(characters.slice(at, first).join(""), false), element("mark", {}, visible(characters.slice(first, behind).join(""), false)));
    at = behind;
  }
  return [...parts, visible(characters.slice(at).join(""), false)];
}
