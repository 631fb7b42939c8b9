// The other translations to choose from, and the flags of the shown one.
import { certainty, isCalibrated, kinds } from "./data.js";
import { button, element, ifChanged } from "./elements.js";
import { amount, compared, isolated, percent, visible } from "./text.js";

const UNREAD = /^(<unk>|<0x[0-9A-F]{2}>)$/; // unknown pieces
const PLAIN = ["repeated", "unfinished", "number", "unknown", "dropped", "invented", "name"]; // flags without a value
const FEW = 6; // flags, and candidates, shown at first

export function drawCandidates(viewer) {
  const { parts, prediction, state } = viewer;
  const all = [prediction, ...prediction.alternatives];
  parts.candidatesBox.hidden = all.length < 2;
  const shown = viewer.allCandidates || all.length <= FEW + 1 || state.rank >= FEW ? all : all.slice(0, FEW);
  ifChanged(parts.candidates, [all.map((each) => [written(each), certainty(each), isCalibrated(each)]), shown.length, state.rank], () => listCandidates(viewer, all, shown));
}

function listCandidates(viewer, all, shown) {
  const { parts, prediction, state } = viewer;
  parts.candidates.replaceChildren(...shown.map((each, rank) => {
    const words = compared(written(each), written(prediction)).map(([word, changed]) => (changed ? element("mark", {}, word) : word));
    return element("li", {}, button({ "aria-pressed": String(rank === state.rank) }, () => viewer.choose({ rank }),
      element("span", { class: "quiet" }, String(rank + 1)), element("span", { class: "text", dir: "auto" }, ...words),
      element("span", { class: "score", title: viewer.t(isCalibrated(each) ? "calibratedTip" : "scoreTip") }, certainty(each) === null ? "" : percent(certainty(each)))));
  }), ...(shown.length < all.length ? [element("li", {}, button({}, () => showAll(viewer, "candidates"), viewer.t("more", all.length - FEW)))] : []));
}

// Translation with placeholders put back, which the model does not read.
function written(prediction) {
  return prediction.translation ?? prediction.text;
}

export function drawFlags(viewer) {
  const { parts, t } = viewer;
  const { flags: all = [], explanation } = viewer.current();
  const grave = explanation ? warnings(all, explanation) : [];
  parts.warnings.replaceChildren(...grave.map((kind) => element("p", {}, t(kind))));
  const flags = grave.length ? all.filter((flag) => PLAIN.includes(flag.kind)) : all;
  parts.flagsBox.hidden = !flags.length || !explanation;
  const shown = !explanation ? [] : viewer.allFlags || flags.length <= FEW + 1 ? flags : flags.slice(0, FEW);
  ifChanged(parts.flags, [shown, flags.length, explanation?.source_words, explanation?.target_words, explanation?.shares], () => listFlags(viewer, flags, shown));
}

function listFlags(viewer, flags, shown) {
  const { parts, t } = viewer;
  const { explanation } = viewer.current();
  parts.flags.replaceChildren(...shown.map((flag) => {
    const word = explanation[`${flag.side}_words`][flag.word]?.text ?? "";
    const said = flag.kind === "unsure" ? percent : (value) => amount({ shares: explanation.shares !== false }, value); // a probability or a weight
    const untold = PLAIN.includes(flag.kind) || flag.value === null || (flag.kind === "untranslated" && flag.value === 0);
    const value = untold ? "" : ` ${said(flag.value)}`;
    const about = flag.kind === "unsure" && value ? t("chance", value.trim()) : `${t("flagKinds")[flag.kind]}${value}`;
    return element("li", {}, button({ class: `flag ${flag.kind}` }, () => showFlag(viewer, flag),
      element("b", { dir: "auto" }, visible(word)), " ", element("span", {}, about, ...meant(flag, word, t))));
  }), ...(explanation && shown.length < flags.length ? [element("li", {}, button({}, () => showAll(viewer, "flags"), t("more", flags.length - FEW)))] : []));
}

// Source word of a flag, and its usual translation if that is missing.
function meant({ side, source = "", suggestion = "" }, word, t) {
  const [known, linked] = [suggestion, source].map((text) => text !== "" && text.toLowerCase() !== word.toLowerCase());
  return [linked && side === "target" && ` · ${t("ofSource", isolated(source))}`, known && ` · ${t("usually", isolated(suggestion))}`];
}

// A flag of most words is shown once.
export function warnings(flags, { source_tokens: tokens, source_words: sources, target_words: targets }) {
  const most = (kind, words) => 2 * flags.filter((flag) => flag.kind === kind).length > Math.max(words.length - 1, 1); // but for the end
  const strange = tokens.filter((token) => UNREAD.test(token)).length;
  if (strange > 2 && 2 * strange > tokens.length) return ["mostlyUnread"];
  if (most("untranslated", targets)) return ["mostlyUntranslated"];
  return [most("unattended", sources) && "mostlySkipped", most("unsure", targets) && "mostlyUnsure"].filter(Boolean);
}

function showAll(viewer, name) {
  Object.assign(viewer, name === "flags" ? { allFlags: true } : { allCandidates: true });
  drawCandidates(viewer);
  drawFlags(viewer);
  viewer.parts[name].querySelectorAll("button")[FEW].focus();
}

function showFlag(viewer, flag) {
  const { kind } = viewer.state;
  const fits = ["alignment", "cross"].includes(kind) ? kind : kinds(viewer.current().explanation)[0];
  viewer.choose({ unit: "words", kind: fits, heads: fits === kind ? viewer.state.heads : null });
  viewer.pin({ line: flag.side === "source" ? "keys" : "queries", at: flag.word });
}
