// The view of one prediction: words, curves, map, heads, candidates. A function of plain JSON, several may share a page.
import { coloursOf } from "./pixels.js";
import { drawCandidates, drawFlags } from "./candidates.js";
import { drawControls, step } from "./controls.js";
import { candidate, explainedBy, firstState, isText, isWritten, makeView } from "./data.js";
import { keepingFocus } from "./elements.js";
import { connectFiles } from "./files.js";
import { highlight, same } from "./highlight.js";
import { drawMap, focusInMap } from "./heatmap.js";
import { build } from "./parts.js";
import { drawMethods, drawReasons } from "./reasons.js";
import { ALONE, ANSWERED, speaker, WEIGHED } from "./strings.js";
import { drawSearch } from "./search.js";
import { keepInTab, keptInTab } from "./settings.js";
import { drawTable } from "./table.js";
import { drawSegments } from "./segments.js";
import { drawTaught } from "./taught.js";
import { drawTiles } from "./tiles.js";
import { arrange, drawWords, moveInWords } from "./words.js";

let count = 0;
const WORDINGS = { alone: ALONE, answered: ANSWERED };

// `standalone` returns the text of an empty page, for files; `complete` fetches the maps of a candidate, `weigh` the reasons
// of other methods, `steps` the steps of the search. `methods` are the available ones, `grades` their faithfulness scores
// in the run; `model` is the name of the answering model where others explain the same answer beside it. `open`:
// "Why?" is open at first; later as it was left in this tab.
export class Viewer {
  constructor(host, { language = "en", name = "attention", standalone = null, complete = null, weigh = null, steps = null, open = false } = {}) {
    Object.assign(this, { host, name, standalone, complete, weigh, steps, methods: [], grades: null, model: "", prefix: `viewer${++count}-`, language, wording: "" });
    this.opened = (keptInTab("why") ?? (open ? "open" : "closed")) === "open";
    this.t = this.speaker();
    Object.assign(this, { prediction: null, state: firstState(), pointed: null, across: false, view: null, map: null, places: null });
    this.corrections = new Map(); // training pairs that are to be dropped or mended, by file and line
    this.whenPointed = () => {};
    this.whenChosen = () => {};
    this.build();
    this.width = 0;
    new ResizeObserver(() => this.resized()).observe(host);
  }

  build() {
    this.parts = build(this);
    connectFiles(this);
    this.parts.stage.addEventListener("keydown", (event) => moveInWords(this, event));
    this.parts.tableBox.addEventListener("toggle", () => drawTable(this));
    this.parts.why.addEventListener("toggle", () => this.toggled());
  }

  // Show a prediction of `to_json`; the selected layers and heads stay unless `state` has others.
  show(prediction, state = {}) {
    this.prediction = prediction;
    const { explanation } = prediction;
    this.speak(this.language, wordingOf(prediction) ?? this.wording);
    this.pointed = null;
    Object.assign(this, { allFlags: false, allCandidates: false });
    Object.assign(this.state, { rank: 0, pinned: null }, state);
    this.render();
    this.complete?.(prediction, this.state.rank);
    this.wantReasons();
  }

  // The map is laid out again: its width is known once it is visible.
  toggled() {
    if (this.parts.why.open === this.opened) return;
    this.opened = this.parts.why.open;
    keepInTab("why", this.opened ? "open" : "closed");
    this.render();
    this.wantReasons();
  }

  current() {
    return explainedBy(candidate(this.prediction, this.state.rank), this.state.method);
  }

  // Request the other methods once they are to be shown.
  wantReasons() {
    const { method, pinned, rank } = this.state;
    if ((method || (this.opened && pinned?.line === "queries")) && this.methods.length) this.weigh?.(this.prediction, rank);
  }

  choose(changes) {
    const stays = Object.keys(changes).every((key) => ["method", "heads", "join", "share", "across"].includes(key));
    Object.assign(this.state, changes);
    if (!stays) this.state.pinned = null;
    this.render();
    if ("rank" in changes) {
      this.whenChosen(this.state.rank);
      this.complete?.(this.prediction, this.state.rank);
    }
    this.wantReasons();
  }

  // A note in place of the maps while a request runs.
  wait(is) {
    this.parts.none.textContent = this.t(is ? "loading" : "none");
  }

  point(what) {
    if (same(this.pointed, what)) return;
    this.pointed = what;
    highlight(this);
  }

  pin(what) {
    this.state.pinned = same(this.state.pinned, what) ? null : what;
    highlight(this);
    drawReasons(this);
    drawTaught(this);
    drawSegments(this);
    this.wantReasons();
  }

  free() {
    this.pointed = null;
    this.state.pinned = null;
    highlight(this);
    drawReasons(this);
    drawTaught(this);
    drawSegments(this);
  }

  // In a language; `wording`: for answers other than translations.
  speak(language, wording = this.wording) {
    if (language === this.language && wording === this.wording) return this.recolour();
    Object.assign(this, { language, wording });
    this.t = this.speaker();
    this.build();
    return this.render();
  }

  // Images of pixels keep the colours of the theme in which they were rendered.
  recolour() {
    if (this.view && JSON.stringify(coloursOf(this)) !== JSON.stringify(this.colours)) this.render();
  }

  speaker() {
    const [plain, weighed] = [WORDINGS[this.wording] ?? {}, WEIGHED].map((more) => speaker(this.language, more));
    return (key, ...values) => (key in WEIGHED.en && this.prediction && this.current().explanation?.method ? weighed : plain)(key, ...values);
  }

  // [ ] go through the layers, comma and full stop through the heads.
  key(event) {
    const steps = { "[": ["layer", -1], "]": ["layer", 1], ",": ["head", -1], ".": ["head", 1] };
    if (event.key === "Escape") this.free();
    else if (event.key in steps && this.view) step(this, ...steps[event.key]);
    else return false;
    return true;
  }

  // Render all again. The pointed word stays if the words are the same as before.
  render() {
    if (!this.prediction) return;
    const { parts } = this;
    const [before, words] = [this.pointed, wordsOf(this.view)];
    const inMap = parts.heat.contains(document.activeElement);
    this.pointed = null;
    this.view = makeView(this.current(), this.state);
    keepingFocus([parts.keys, parts.queries, parts.unit, parts.across, parts.tiles, parts.candidates, parts.flags], () => this.draw());
    if (!before || !this.view) return;
    if (inMap) focusInMap(this, before);
    else if (wordsOf(this.view) === words) this.point(before);
  }

  draw() {
    const { parts, view } = this;
    this.colours = coloursOf(this);
    parts.mapBox.hidden = !view;
    parts.none.hidden = Boolean(view);
    drawCandidates(this);
    drawFlags(this);
    drawControls(this);
    drawTiles(this);
    drawMethods(this);
    drawReasons(this);
    drawTaught(this);
    drawSegments(this);
    drawSearch(this);
    drawWords(this);
    drawMap(this);
    drawTable(this);
    parts.why.hidden = [parts.reasonsBox, parts.taughtBox, parts.segmentsBox, parts.searchBox, parts.mapBox, parts.overviewBox].every(({ hidden }) => hidden);
    highlight(this);
  }

  resized() {
    if (this.host.clientWidth === this.width) return;
    this.width = this.host.clientWidth;
    if (this.view) {
      keepingFocus([this.parts.across], () => arrange(this));
      drawMap(this);
    }
    highlight(this);
  }
}

function wordsOf(view) {
  return view && JSON.stringify([view.rows, view.columns]);
}

// "" for a translation, "alone" for a text that is not a translation, "answered" for labels and the like; null: unknown.
function wordingOf(prediction) {
  const { explanation } = prediction;
  if (!isText(prediction) || !isWritten(prediction)) return "answered";
  if (!explanation) return null;
  return explanation.source_tokens.length ? "" : "alone";
}
