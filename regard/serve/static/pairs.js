// Languages and models: selectors, swap, recent pairs.
import { button, element, fill } from "./explain/elements.js";
import { keep, kept } from "./explain/settings.js";
import { meant } from "./languages.js";

const RECENT = 4;
const byId = (id) => document.getElementById(id);

// `changed` is called after every choice; the choice is in `source`, `target`, `model` and `other`.
export class Pairs {
  constructor(languages, models, changed) {
    Object.assign(this, { languages, models, changed, source: "auto", target: "", model: "", other: "", detected: null, t: null });
    for (const name of ["source", "target", "model", "other"]) {
      byId(name).addEventListener("change", (event) => this.choose({ [name]: event.target.value }));
    }
    byId("swap").addEventListener("click", () => this.swap());
    byId("compare").addEventListener("click", () => this.compare());
    this.whenSwapped = () => {};
  }

  choose(changes) {
    this.take(changes);
    this.changed();
  }

  take(changes) {
    Object.assign(this, changes);
    this.settle();
    this.draw();
  }

  // True if a model translates from `source` into `target`; null, or "auto", matches any language.
  serves(source, target) {
    const [from, to] = [source, target].map((code) => code && code !== "auto" && meant(code, this.codes()));
    return this.models.some((model) => (!from || model.source === from) && (!to || model.target === to));
  }

  // Replace choices that the server does not have.
  settle() {
    const codes = this.codes();
    [this.source, this.target] = [meant(this.source, codes), meant(this.target, codes)];
    if (!this.sources().includes(this.source)) this.source = "auto";
    const targets = this.targets();
    if (!targets.includes(this.target)) this.target = targets[0] ?? "";
    const names = this.names();
    if (!names.includes(this.model)) this.model = names[0] ?? "";
    if (this.other && (!names.includes(this.other) || this.other === this.model)) this.other = names.find((name) => name !== this.model) ?? "";
  }

  // Source languages; some are targets only.
  sources() {
    return this.languages.filter((language) => language.targets.length).map((language) => language.code);
  }

  codes() {
    return this.languages.map((language) => language.code);
  }

  // The only source language; null if there are several.
  only() {
    const [first, ...others] = this.sources();
    return others.length ? null : first ?? null;
  }

  // The answering model, if known.
  shown() {
    return this.models.find((model) => model.name === this.model) ?? this.models.find((model) => model.target === this.target);
  }

  // The language of the text, if known.
  from() {
    return this.source === "auto" ? this.detected : this.source;
  }

  // True if every model that may answer has explanations; "": the model depends on the language of the text.
  explains(name) {
    return this.models.filter((model) => (name ? model.name === name : model.target === this.target)).every((model) => model.explains);
  }

  targets() {
    const meant = this.source === "auto" ? this.languages : this.languages.filter((language) => language.code === this.source);
    const all = [...new Set(meant.flatMap((language) => language.targets))];
    return all.filter((code) => code !== this.source && this.models.some((model) => model.target === code));
  }

  names() {
    return this.models.filter((model) => model.target === this.target && model.source === this.from()).map((model) => model.name);
  }

  found(detected) {
    if (detected === this.detected) return;
    this.detected = detected;
    if (this.source === "auto") { this.settle(); this.draw(); }
  }

  remember() {
    if (!this.from()) return;
    const pair = `${this.from()} ${this.target}`;
    const recent = [pair, ...this.recent().filter((each) => each !== pair)].slice(0, RECENT);
    keep("recent", JSON.stringify(recent));
    keep("pair", JSON.stringify([this.source, this.target]));
    this.drawRecent();
  }

  // Kept pairs may come from another server or another program.
  recent() {
    const known = new Set(this.models.map((model) => `${model.source} ${model.target}`));
    const pairs = read("recent").map((pair) => pair.split(" ").map((code) => meant(code, this.codes())).join(" "));
    return [...new Set(pairs)].filter((pair) => known.has(pair));
  }

  reversible() {
    return this.models.some((model) => model.source === this.target && model.target === this.from());
  }

  swap() {
    if (!this.reversible()) return;
    const [source, target] = [this.target, this.from()];
    this.whenSwapped();
    this.choose({ source, target });
  }

  compare() {
    const second = this.names().find((name) => name !== this.model);
    this.choose({ other: this.other ? "" : second ?? "" });
  }

  draw() {
    const { t } = this;
    const listed = (codes) => codes.map((code) => [code, this.name(code)]).sort((a, b) => a[1].localeCompare(b[1], t("tag")));
    fill(byId("source"), [["auto", t("auto")], ...listed(this.sources())], this.source);
    fill(byId("target"), listed(this.targets()), this.target);
    const names = this.names();
    fill(byId("model"), names.map((name) => [name, name]), this.model);
    fill(byId("other"), names.filter((name) => name !== this.model).map((name) => [name, name]), this.other);
    byId("model-label").hidden = names.length < 2;
    byId("other-label").hidden = !this.other || names.length < 3;
    byId("compare").setAttribute("aria-pressed", String(Boolean(this.other)));
    byId("compare").hidden = names.length < 2;
    byId("swap").disabled = !this.reversible();
    byId("swap").title = this.reversible() ? t("swap") : t("irreversible");
    this.drawRecent();
  }

  drawRecent() {
    const others = this.recent().filter((pair) => pair !== `${this.from()} ${this.target}`);
    byId("recent").hidden = !others.length;
    byId("recent").replaceChildren(...others.map((pair) => {
      const [source, target] = pair.split(" ");
      return button({ class: "chip" }, () => this.choose({ source, target }), element("bdi", {}, this.name(source)), " → ", element("bdi", {}, this.name(target)));
    }));
  }

  // In the language of the page, where the browser knows it.
  name(code) {
    const told = this.languages.find((language) => language.code === code)?.name ?? code;
    try { return new Intl.DisplayNames([this.t("tag")], { type: "language", fallback: "none" }).of(code) ?? told; } catch { return told; }
  }
}

// A kept list of texts; empty if the value is not a list.
export function read(key) {
  try {
    const list = JSON.parse(kept(key));
    return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  } catch { return []; }
}
