// The tab of models other than translators: a field for each column of an example, the answer and its attention.
import { answerCard } from "./explain/answer.js";
import { element, fill } from "./explain/elements.js";
import { gradesLine } from "./explain/methods.js";
import { sideName } from "./explain/strings.js";
import { Viewer } from "./explain/viewer.js";
import { ask, patiently, Refused, rest } from "./api.js";
import { tell } from "./faults.js";
import { drawModelStart } from "./start.js";

const PAUSE = 250; // milliseconds without typing before a request
const TOO_LARGE = 413; // the status of an example whose maps are too large
const byId = (id) => document.getElementById(id);

export class ModelTab {
  // `key` returns the API key, `limit` the maximum characters of an example, `explained` the text of a fault.
  constructor({ t, key, limit, explained }) {
    Object.assign(this, { t, key, limit, explained, models: [], model: null, fields: [], prediction: null, fault: null, took: "", asking: new AbortController() });
    this.viewer = new Viewer(byId("model-view"), { standalone: () => ask("static/explain/standalone.html", { text: true }) });
    byId("asked").addEventListener("change", () => this.choose(byId("asked").value));
    byId("model-clear").addEventListener("click", () => this.clear());
  }

  // Models of /v1/models other than translators.
  offer(models) {
    this.models = models;
    fill(byId("asked"), models.map(({ name }) => [name, name]), models[0]?.name ?? "");
    byId("asked-label").hidden = !models.length;
    this.choose(models[0]?.name);
  }

  // Choose a model, and maybe an example: its columns with tabs between them. False if the model is missing.
  choose(name, line = null) {
    const model = this.models.find((each) => each.name === name);
    if (!model) return false;
    this.take(model, line);
    this.ask();
    return true;
  }

  // A link to a missing model: its text is kept, and no request is made until the reader writes or chooses.
  miss(name, line) {
    if (this.model) this.take(this.model, line);
    this.asking.abort();
    this.refuse(new Refused("noModel", { values: () => [name] }));
  }

  take(model, line) {
    const kept = this.model && String(this.model.given) === String(model.given) ? this.values() : [];
    const values = line === null ? kept : model.given.length > 1 ? line.split("\t") : [line];
    this.model = model;
    byId("asked").value = model.name;
    this.fields = model.given.map((column, at) => this.field(at, values[at] ?? ""));
    byId("columns").replaceChildren(...this.fields.map(({ parentNode }) => parentNode));
    this.speakFields();
  }

  field(at, value) {
    const made = element("textarea", { dir: "auto", spellcheck: "false", autocomplete: "off", rows: "3" });
    made.value = value;
    made.addEventListener("input", (event) => { if (!event.isComposing) this.ask({ pause: PAUSE }); });
    made.addEventListener("compositionend", () => this.ask({ pause: PAUSE }));
    element("label", { class: "field" }, element("span", { class: "side-title" }), made);
    return made;
  }

  values() {
    return this.fields.map((field) => field.value);
  }

  get written() {
    return this.fields.some((field) => field.value.trim());
  }

  clear() {
    for (const field of this.fields) field.value = "";
    this.ask();
    this.focus();
  }

  focus() {
    this.fields[0]?.focus();
  }

  // Predict again once every column is filled; cancels the request before.
  async ask({ pause = 0 } = {}) {
    this.asking.abort();
    const { signal } = this.asking = new AbortController();
    const values = this.values();
    this.tellFault(null);
    if (!this.model || values.some((value) => !value.trim())) return this.show(null);
    const size = [...values.join("\t")].length;
    if (this.limit() > 0 && size > this.limit()) return this.refuse(new Refused("tooLong", { values: () => [size, this.limit()] }));
    try {
      await rest(pause, signal);
      byId("reply").setAttribute("aria-busy", "true");
      const start = performance.now();
      const found = await patiently(() => this.predict(values, signal), signal, (fault) => this.tellFault(fault));
      if (signal.aborted) return undefined;
      this.tellFault(null);
      this.show(found.predictions[0], ((performance.now() - start) / 1000).toFixed(2));
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return undefined;
      if (!(error instanceof Refused)) throw error;
      this.refuse(error);
    }
    return undefined;
  }

  // With all maps, or without them if they are too large, or if the model has none.
  async predict(values, signal) {
    const { name, given, explains } = this.model;
    const key = this.key();
    const body = { model: name, examples: [Object.fromEntries(given.map((column, at) => [column, values[at]]))], explain: explains, ...(key ? { api_key: key } : {}) };
    if (!explains) return ask("v1/predict", { signal, body });
    try {
      return await ask("v1/predict", { signal, body: { ...body, maps: true } });
    } catch (error) {
      if (error.status !== TOO_LARGE) throw error;
      return ask("v1/predict", { signal, body });
    }
  }

  // Clears the answer to the example before.
  refuse(fault) {
    this.show(null);
    this.tellFault(fault);
  }

  tellFault(fault) {
    this.fault = fault;
    byId("model-fault").hidden = !fault;
    tell(byId("model-fault"), fault ? this.explained(fault) : undefined);
  }

  show(prediction, took = "") {
    Object.assign(this, { prediction, took });
    byId("reply").setAttribute("aria-busy", "false");
    if (prediction) this.viewer.show(prediction);
    this.draw();
  }

  draw() {
    const { t, prediction, model } = this;
    const card = prediction && (answerCard(prediction, t, model.given) ?? element("p", { class: "output", dir: "auto" }, prediction.text));
    const blind = prediction?.explanation && !prediction.explanation.maps.length;
    this.viewer.grades = model?.grades ?? null;
    const line = card ? gradesLine(this.viewer) : "";
    byId("reply").replaceChildren(...(card ? [card] : []), ...(line ? [element("p", { class: "quiet graded" }, line)] : []), ...(blind ? [element("p", { class: "quiet blind" }, t("blind"))] : []));
    byId("model-status").textContent = prediction ? t("ready", this.took) : "";
    byId("model-clear").hidden = !this.written;
    byId("model-view").hidden = !prediction?.explanation?.maps.length;
    this.drawStart();
  }

  // The model's description, and examples to try; only in the open tab.
  drawStart() {
    if (byId("panel-model").hidden || !this.model) return;
    drawModelStart(this.t, { model: this.model, written: this.written, tried: (line) => { this.choose(this.model.name, line); this.focus(); } });
  }

  speakFields() {
    this.fields.forEach((field, at) => {
      field.previousSibling.textContent = sideName(this.t, this.model.given[at]);
      field.placeholder = this.t("write");
    });
  }

  speak(t) {
    this.t = t;
    this.viewer.speak(t("tag") === "en" ? "en" : "zh");
    if (!this.model) return;
    this.speakFields();
    this.draw();
    this.tellFault(this.fault);
  }
}
