// One translation: its text, sentence by sentence and word by word, and the view of the sentence that is chosen.
import { candidate, chance, confidence } from "./explain/data.js";
import { button, element } from "./explain/elements.js";
import { percent } from "./explain/text.js";
import { Viewer } from "./explain/viewer.js";
import { ask, patiently, rest } from "./api.js";
import { cut, lit, starts } from "./marks.js";

const REST = 150; // milliseconds before the maps of a new sentence are asked for

// As it stands in the text: what the model was not shown is put back.
function written(prediction) {
  return prediction.translation ?? prediction.text;
}

export class Output {
  // `lights` hears which words of the source are lit, `chosen` which sentence is looked at, `copied` what is to be copied,
  // `suggested` what a better translation can be sent for.
  constructor({ t, lights, chosen, copied, shared, suggested }) {
    Object.assign(this, { t, lights, chosen, answer: null, asked: "", starts: [], at: 0, asking: null, ranks: [], offered: false });
    this.title = element("h2", { class: "by" });
    this.text = element("div", { class: "output", role: "group", "aria-live": "polite", "aria-busy": "false", dir: "auto" });
    this.status = element("span", { class: "quiet" });
    const suggest = () => suggested({ q: this.asked, source: this.from(), target: this.answer.target, ...(this.key ? { api_key: this.key } : {}) }, this.whole());
    this.buttons = { suggest: button({}, suggest), share: button({}, shared), copy: button({}, () => copied(this.whole())) };
    this.pane = element("div", { class: "translation" }, this.title, this.text,
      element("div", { class: "foot" }, this.status, element("span", { class: "buttons" }, ...Object.values(this.buttons))));
    this.heading = element("h2", { class: "why" });
    this.place = element("section", { class: "place", hidden: "" });
    const host = element("div");
    this.place.append(this.heading, host);
    this.viewer = new Viewer(host, { standalone: () => ask("static/explain/standalone.html", { text: true }), complete: (...what) => this.complete(...what) });
    this.viewer.whenPointed = (told) => this.light(told);
    this.viewer.whenChosen = (rank) => { this.ranks[this.at] = rank; this.draw(); };
    this.speak(t);
  }

  // The model that answered: the server may have chosen it.
  model() {
    return this.answer.texts[0].model ?? this.answer.model;
  }

  // Whether the server keeps better translations.
  offer(is) {
    this.offered = is;
    this.draw();
  }

  speak(t) {
    this.t = t;
    for (const [name, each] of Object.entries(this.buttons)) each.textContent = t(name);
    this.text.setAttribute("aria-label", t("translation"));
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
    Object.assign(this, { answer, asked, key, took, ranks: [] });
    this.starts = starts(asked, this.sentences());
    this.at = Math.min(this.at, Math.max(this.sentences().length - 1, 0));
    this.busy(false);
    this.draw();
    this.place.hidden = !this.sentences().length;
    if (this.sentences().length) this.viewer.show(this.sentences()[this.at]);
  }

  sentences() {
    return this.answer?.texts[0].sentences ?? [];
  }

  shown(at) {
    const sentence = this.sentences()[at];
    return sentence && candidate(sentence, this.ranks[at] ?? 0);
  }

  // All of the text as it is shown, with the candidates that were chosen.
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

  draw() {
    const { answer, t } = this;
    const several = this.sentences().length > 1;
    this.title.textContent = answer && this.several ? t("by", this.model()) : "";
    this.title.hidden = !this.title.textContent;
    this.heading.textContent = answer ? [this.several ? this.model() : "", several ? t("sentence", this.at + 1, this.sentences().length) : ""].filter(Boolean).join(" · ") : "";
    this.heading.hidden = !this.heading.textContent;
    for (const each of Object.values(this.buttons)) each.hidden = !answer;
    this.buttons.suggest.hidden = !this.offered || !this.sentences().length;
    const drawn = JSON.stringify(answer && [this.at, t("tag"), answer.texts[0].translatedText, this.sentences().map((_, at) => this.cut(at))]);
    if (drawn === this.drawn) return undefined; // so that nobody hears it twice, or loses a place in it
    this.drawn = drawn;
    if (!answer) return this.text.replaceChildren();
    if (answer.target) this.text.lang = answer.target;
    this.viewer.name = `regard-${answer.source ?? ""}-${answer.target ?? ""}`;
    const parts = this.sentences().flatMap((sentence, at) => [sentence.before, this.sentence(at, several), sentence.after]);
    return this.text.replaceChildren(...(parts.length ? parts : [answer.texts[0].translatedText]));
  }

  // The parts of a sentence: [text, position of the word, how sure it is].
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
    made.addEventListener("click", () => { if (fits()) this.viewer.pin(meant); });
    return made;
  }

  // The words of the two texts above that belong to what is pointed at below.
  light(told) {
    const { source, target } = lit(this.viewer, this.asked, this.starts[this.at], told);
    this.lights(source);
    const words = [...this.text.querySelectorAll(this.sentences().length > 1 ? '.sentence[aria-pressed="true"] .word' : ".word")];
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

  // Asks for the maps of the candidate that is looked at, unless it has them or the server has none to give.
  async complete(prediction, rank) {
    this.asking?.abort();
    const told = candidate(prediction, rank);
    if (!this.answer || told.asked || told.explanation?.maps.length || !told.text || prediction.explanation === null) return;
    const asking = this.asking = new AbortController();
    const { answer, key } = this;
    this.viewer.wait(true);
    try {
      await rest(REST, asking.signal);
      const body = { source_text: prediction.source, target_text: told.text, source: this.from(), target: answer.target, model: this.model() };
      const question = { body: { ...body, ...(key ? { api_key: key } : {}) }, signal: asking.signal };
      const found = await patiently(() => ask("v1/explain", question), asking.signal, () => {});
      const { explanation, log_probs: logProbs, flags } = found.sentence;
      if (explanation) Object.assign(told, { explanation, log_probs: logProbs, flags: told.finished ? flags : told.flags });
      told.asked = true;
    } catch (error) {
      if (error.name !== "AbortError") told.asked = true; // the alignment that came with the translation still shows
    } finally {
      if (!asking.signal.aborted) {
        this.viewer.wait(false);
        this.viewer.render({ same: true });
        this.draw();
      }
    }
  }

  from() {
    return this.answer.texts[0].detectedLanguage?.language ?? this.answer.source;
  }
}
