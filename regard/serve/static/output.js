// One translation: its text, sentence by sentence and word by word, and the view of the sentence that is chosen.
import { candidate, certainty, chance, confidence } from "./explain/data.js";
import { button, element } from "./explain/elements.js";
import { percent } from "./explain/text.js";
import { Viewer } from "./explain/viewer.js";
import { ask, patiently, Refused, rest } from "./api.js";
import { Alternatives } from "./alternatives.js";
import { cut, lit, starts } from "./marks.js";
import { drawSegments, remembers } from "./memory.js";
import { drawReport } from "./terms.js";

const LOOKED = "attention"; // the method of every explanation
const REST = 150; // milliseconds before the maps of a new sentence are requested

// Translation with placeholders put back, which the model does not read.
function written(prediction) {
  return prediction.translation ?? prediction.text;
}

// Fields of a further request about a sentence: with the document that it was translated with.
function given({ source, details }) {
  return { source_text: source, ...(details?.document ? { document: details.document } : {}) };
}

export class Output {
  // `name` returns a language by its code, `known` the entry of a model, `beside` the model of the other translation. Called:
  // `lights` with the highlighted source words, `chosen` with the selected sentence, `copied` with the text to copy,
  // `suggested` with the request for a better translation, `confirmed` after a translation is in the memory, `refused` with a fault.
  constructor({ t, name, known, lights, chosen, copied, shared, suggested, confirmed, refused, beside = () => null }) {
    Object.assign(this, { t, name, known, lights, chosen, confirmed, refused, beside, answer: null, asked: "", starts: [], at: 0, asking: null, ranks: [], offered: false, memories: [] });
    this.title = element("h2", { class: "by" });
    this.text = element("div", { class: "output", role: "group", "aria-live": "polite", "aria-busy": "false", dir: "auto" });
    this.status = element("span", { class: "quiet" });
    this.note = element("p", { class: "same", role: "status", hidden: "" });
    const suggest = () => suggested({ source_text: this.asked, source: this.from(), target: this.answer.target, model: this.model() ?? "", version: this.answer.texts[0].version ?? "", ...(this.key ? { api_key: this.key } : {}) }, this.whole());
    this.buttons = { confirm: button({}, () => this.confirm()), suggest: button({}, suggest), share: button({}, shared), copy: button({}, () => copied(this.whole())) };
    this.segments = element("ul", { class: "segments", hidden: "" });
    this.report = element("div", { class: "report", hidden: "" });
    this.pane = element("div", { class: "translation" }, this.title, this.note, this.text, this.segments, this.report,
      element("div", { class: "foot" }, this.status, element("span", { class: "buttons" }, ...Object.values(this.buttons))));
    this.alternatives = new Alternatives(this.pane, { t, chosen: (found) => this.replace(found), refused });
    this.heading = element("h2", { class: "looked-at" });
    this.steps = [-1, 1].map((by) => button({ class: "round" }, () => this.step(by), by < 0 ? "‹" : "›"));
    this.bar = element("div", { class: "walk" }, this.steps[0], this.heading, this.steps[1]);
    this.place = element("section", { class: "place", hidden: "" });
    const host = element("div");
    this.place.append(this.bar, host);
    this.viewer = new Viewer(host, { standalone: () => ask("static/explain/standalone.html", { text: true }), complete: (...what) => this.complete(...what), weigh: (...what) => this.weigh(...what), steps: (prediction) => this.search(prediction) });
    this.viewer.whenPointed = (told) => this.light(told);
    this.viewer.whenChosen = (rank) => { this.ranks[this.at] = rank; this.draw(); };
    this.speak(t);
  }

  // The answering model, which the server may have chosen.
  model() {
    return this.answer.texts[0].model ?? this.answer.model;
  }

  // `is`: the server accepts suggestions; `memories`: the languages of its memories, [source, target] of each.
  offer(is, memories) {
    Object.assign(this, { offered: is, memories });
    this.draw();
  }

  // Store the text and the shown translation in the memory.
  async confirm() {
    const { answer, asked, key } = this;
    const body = { source_text: asked, target_text: this.whole(), source: this.from(), target: answer.target };
    this.buttons.confirm.disabled = true;
    try {
      await ask("v1/memory", { body: { ...body, ...(key ? { api_key: key } : {}) } });
      this.confirmed();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refused(error);
    } finally {
      this.buttons.confirm.disabled = false;
    }
  }

  // A stored translation as a candidate of the selected sentence.
  use(text) {
    this.replace({ text, score: null, finished: true, log_probs: [], flags: [], alternatives: [], explanation: null });
    this.buttons.confirm.focus();
  }

  speak(t) {
    this.t = t;
    for (const [name, each] of Object.entries(this.buttons)) each.textContent = t(name);
    this.text.setAttribute("aria-label", t("translation"));
    this.alternatives.t = t;
    this.steps.forEach((each, at) => { each.title = t(at ? "nextSentence" : "sentenceBefore"); each.setAttribute("aria-label", each.title); });
    this.viewer.speak(t("tag") === "en" ? "en" : "zh");
    this.draw();
  }

  busy(is) {
    this.text.setAttribute("aria-busy", String(is));
    this.pane.classList.toggle("busy", is);
    this.status.textContent = is ? this.t("working") : this.took ?? "";
  }

  // An answer of /v1/translate to one text, or null when there is nothing to show.
  show(answer, { asked = "", took = "", key = null } = {}) {
    this.asking?.abort();
    this.alternatives.close();
    Object.assign(this, { answer, asked, key, took, ranks: [] });
    this.starts = starts(asked, this.sentences());
    this.at = Math.min(this.at, Math.max(this.sentences().length - 1, 0));
    this.busy(false);
    this.draw();
    this.place.hidden = !this.sentences().length;
    const { methods = [], grades = null } = (answer && this.known(this.model())) ?? {};
    Object.assign(this.viewer, { model: answer ? this.model() : "", methods: (methods ?? []).filter((method) => method !== LOOKED), grades });
    if (this.sentences().length) this.viewer.show(this.sentences()[this.at]);
  }

  sentences() {
    return this.answer?.texts[0].sentences ?? [];
  }

  shown(at) {
    const sentence = this.sentences()[at];
    return sentence && candidate(sentence, this.ranks[at] ?? 0);
  }

  // The whole text shown, with the chosen candidates.
  whole() {
    const sentences = this.sentences();
    if (!this.answer) return "";
    if (!sentences.length || !this.ranks.some(Boolean)) return this.answer.texts[0].translatedText;
    return sentences.map((sentence, at) => `${sentence.before}${written(this.shown(at))}${sentence.after}`).join("");
  }

  select(at) {
    if (at === this.at) return;
    this.at = at;
    this.draw();
    this.viewer.show(this.sentences()[at], { rank: this.ranks[at] ?? 0 });
    this.chosen(at);
  }

  // Keys: next and previous sentence, alternatives, and those of the view.
  pressed(event) {
    const actions = { n: () => this.step(1), p: () => this.step(-1), a: () => this.open() };
    return actions[event.key]?.() || this.viewer.key(event);
  }

  // To the next sentence, or the one before; false at the ends.
  step(by) {
    const at = this.at + by;
    if (!this.sentences()[at]) return false;
    this.select(at);
    return true;
  }

  // Alternatives to the word pointed at, or pinned, in the view below.
  open() {
    const { pointed, state, view } = this.viewer;
    const what = pointed ?? state.pinned;
    if (view?.rowSide !== "target" || state.unit !== "words" || what?.line !== "queries") return false;
    const shown = this.elementOf(what.at);
    return Boolean(shown) && this.offerOthers(shown, what.at);
  }

  // Element of a word in the selected sentence.
  elementOf(word) {
    const place = this.cut(this.at).filter(([, each]) => each !== null).findIndex(([, each]) => each === word);
    return this.words()[place];
  }

  // A sentence with placeholders has no alternatives: the server does not know them.
  offerOthers(element, word) {
    const told = this.shown(this.at), sentence = this.sentences()[this.at];
    if (!told.explanation || written(told) !== told.text) return false;
    this.alternatives.open(element, { ...given(sentence), target_text: told.text, word, source: this.from(), target: this.answer.target,
      model: this.model(), ...(this.key ? { api_key: this.key } : {}) });
    return true;
  }

  // Another translation of the selected sentence.
  replace(found) {
    const sentence = this.sentences()[this.at];
    const all = [sentence, ...sentence.alternatives];
    const known = all.findIndex((each) => each.text === found.text);
    if (known < 0) sentence.alternatives.push({ ...found, translation: found.text });
    this.viewer.choose({ rank: known < 0 ? all.length : known });
  }

  // Words of the translation of the selected sentence.
  words() {
    return [...this.text.querySelectorAll(this.sentences().length > 1 ? '.sentence[aria-pressed="true"] .word' : ".word")];
  }

  draw() {
    const { answer, t } = this;
    const several = this.sentences().length > 1;
    this.title.textContent = answer && this.several ? t("by", this.model()) : "";
    this.title.hidden = !this.title.textContent;
    this.heading.textContent = answer ? [this.several ? this.model() : "", several ? t("sentence", this.at + 1, this.sentences().length) : ""].filter(Boolean).join(" · ") : "";
    this.bar.hidden = !this.heading.textContent;
    this.steps.forEach((each, at) => { each.hidden = !several; each.disabled = !this.sentences()[this.at + (at ? 1 : -1)]; });
    this.drawNote();
    drawReport(this.report, t, this.sentences().map((_, at) => this.shown(at)), this.at);
    const shown = this.shown(this.at);
    drawSegments(this.segments, t, this.sentences()[this.at], shown && written(shown), (target) => this.use(target));
    for (const each of Object.values(this.buttons)) each.hidden = !answer;
    const stores = Boolean(answer) && this.sentences().length > 0 && remembers(this.memories, this.from(), answer.target);
    this.buttons.suggest.hidden = !(this.offered || stores) || !this.sentences().length;
    this.buttons.confirm.hidden = !stores;
    const drawn = JSON.stringify(answer && [this.at, t("tag"), answer.texts[0].translatedText, this.sentences().map((_, at) => this.cut(at))]);
    if (drawn === this.drawn) return undefined; // a screen reader repeats nothing, and the focus stays
    this.drawn = drawn;
    if (!answer) return this.text.replaceChildren();
    if (answer.target) this.text.lang = answer.target;
    this.viewer.name = `regard-${answer.source ?? ""}-${answer.target ?? ""}`;
    const parts = this.sentences().flatMap((sentence, at) => [sentence.before, this.sentence(at, several), sentence.after]);
    return this.text.replaceChildren(...(parts.length ? parts : [answer.texts[0].translatedText]));
  }

  // A note on a text that is in the target language already.
  drawNote() {
    const { answer, t } = this;
    const [text] = answer?.texts ?? [];
    const same = Boolean(text) && !text.sentences.length && this.from() === answer.target && /\p{L}/u.test(this.asked);
    this.note.textContent = same ? t("same", this.name(answer.target)) : text?.seems ? t("seems", this.name(answer.target)) : "";
    this.note.hidden = !this.note.textContent;
  }

  // The parts of a sentence: [text, position of the word, probability].
  cut(at) {
    const prediction = this.shown(at);
    return cut(written(prediction), prediction).map(([text, word]) => [text, word?.at ?? null, word && chance(prediction, word)]);
  }

  sentence(at, several) {
    const made = element("span", several ? { class: "sentence", role: "button", tabindex: "0", "aria-pressed": String(at === this.at) } : {});
    for (const [text, word, value] of this.cut(at)) made.append(word === null ? text : this.word(text, word, value, at));
    if (!several) return made;
    made.addEventListener("click", () => this.select(at));
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.select(at);
      this.text.querySelectorAll(".sentence")[at].focus();
    });
    return made;
  }

  word(text, word, value, at) {
    const made = element("span", { class: `word ${confidence(value)}`, title: value === null ? null : this.t("chance", percent(value)) }, text);
    const meant = { line: "queries", at: word };
    const { state } = this.viewer;
    const fits = () => at === this.at && state.unit === "words" && this.viewer.view?.rowSide === "target";
    made.addEventListener("pointerenter", () => { if (fits()) this.viewer.point(meant); });
    made.addEventListener("pointerleave", () => { if (fits()) this.viewer.point(null); });
    made.addEventListener("click", () => {
      this.select(at); // another sentence gets new elements
      if (fits()) this.viewer.pin(meant);
      const shown = this.elementOf(word);
      if (shown) this.offerOthers(shown, word);
    });
    return made;
  }

  // Highlight the words of both texts for the word pointed at below.
  light(told) {
    const { source, target } = lit(this.viewer, this.asked, this.starts[this.at], told);
    this.lights(source);
    const words = this.words();
    let start = 0, at = 0;
    for (const [part, word] of this.answer && this.shown(this.at) ? this.cut(this.at) : []) {
      const mark = word !== null && target.find(([from, to]) => from < start + part.length && to > start);
      if (word !== null && words[at]) {
        words[at].classList.toggle("active", Boolean(mark?.[3]));
        words[at++].style.setProperty("--weight", `${mark ? (100 * (mark[3] ? 1 : mark[2])).toFixed(1) : 0}%`);
      }
      start += part.length;
    }
  }

  // Request the maps of the shown candidate, unless it has them or the server has none.
  async complete(prediction, rank) {
    this.asking?.abort();
    const told = candidate(prediction, rank);
    if (!this.answer || told.asked || told.explanation?.maps.length || !told.text || prediction.explanation === null) return;
    await this.explain(prediction, told, {});
  }

  // Request the reasons of the other methods, which come with the maps.
  async weigh(prediction, rank) {
    const told = candidate(prediction, rank);
    const other = this.beside();
    const done = told.explanation?.reasons && (!other || told.beside);
    if (!this.answer || told === this.weighing || !told.text || !told.explanation || done || (told.weighed && !other)) return;
    this.weighing = told;
    await this.explain(prediction, told, { reasons: this.viewer.methods }, other);
    if (this.weighing === told) this.weighing = null;
  }

  // Request the kept and pruned hypotheses of the search.
  async search(prediction) {
    const { key, answer } = this;
    const body = { ...given(prediction), target_text: prediction.text, source: this.from(), target: answer.target, model: this.model(), steps: true };
    try {
      const found = await patiently(() => ask("v1/explain", { body: { ...body, ...(key ? { api_key: key } : {}) } }), undefined, () => {});
      Object.assign(prediction, { searched: true, details: { ...prediction.details, search: found.sentence.details?.search } });
    } catch {
      prediction.searched = true;
    }
    this.viewer.render();
  }

  async explain(prediction, told, more, other = null) {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    const { answer, key } = this;
    this.viewer.wait(true);
    try {
      await rest(REST, asking.signal);
      const body = { ...given(prediction), target_text: told.text, source: this.from(), target: answer.target, model: this.model(), ...more };
      const question = { body: { ...body, ...(key ? { api_key: key } : {}) }, signal: asking.signal };
      const found = await patiently(() => ask("v1/explain", question), asking.signal, () => {});
      const { explanation, log_probs: logProbs, flags, details: { confidences } = {} } = found.sentence;
      told.sure ??= certainty(told);
      if (explanation) Object.assign(told, { explanation, log_probs: logProbs, flags: told.finished ? flags : told.flags, details: { ...told.details, confidences } });
      Object.assign(told, { asked: true, weighed: "reasons" in more });
      if (other) await this.explainBeside(told, other, question);
    } catch (error) {
      if (error.name !== "AbortError") Object.assign(told, { asked: true, weighed: "reasons" in more, beside: told.beside ?? {} }); // the alignment that came with the translation still shows
    } finally {
      if (!asking.signal.aborted) {
        this.viewer.wait(false);
        this.viewer.render();
        this.draw();
      }
    }
  }

  // The same text and translation as another model explains them.
  async explainBeside(told, model, { body, signal }) {
    const question = { body: { ...body, model }, signal };
    const found = await patiently(() => ask("v1/explain", question), signal, () => {});
    told.beside = { [model]: found.sentence };
  }

  from() {
    return this.answer.texts[0].detectedLanguage?.language ?? this.answer.source;
  }
}
