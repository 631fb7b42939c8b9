// The page that `regard serve` shows: a text, its translation, and why.
import { connectSettings, tellAll } from "./explain/settings.js";
import { speaker } from "./explain/strings.js";
import { percent } from "./explain/text.js";
import { ask, patiently, Refused, rest } from "./api.js";
import { explained, tell } from "./faults.js";
import { FileTab } from "./filetab.js";
import { Key } from "./key.js";
import { copy, link, linked } from "./links.js";
import { ModelTab } from "./modeltab.js";
import { Output } from "./output.js";
import { Pairs, read } from "./pairs.js";
import { connectShortcuts, drawShortcuts } from "./shortcuts.js";
import { drawSource, light } from "./source.js";
import { drawStart } from "./start.js";
import { Suggesting } from "./suggesting.js";
import { Tabs } from "./tabs.js";
import { terms } from "./terms.js";
import { TEXTS } from "./texts.js";

const PAUSE = 250; // milliseconds of rest in typing before a translation is asked for
const BEST = 5; // candidates
const LONGEST = 40; // letters shown of a language or a model in a link
const byId = (id) => document.getElementById(id);
const text = byId("text");
const about = { limit: -1, name: (code) => pairs?.name(code) ?? code, t: (...what) => t(...what) };
let t = speaker("en", TEXTS);
let pairs = null;
let asking = new AbortController(); // for a translation
let starting = new AbortController(); // for languages, models and settings, which come first
let late = false; // true if something changed while the text was hidden
let refused = null; // the fault shown
let keyless = null; // the server's error for requests without a key

const suggesting = new Suggesting({ t, explained: (fault) => explained(fault, about), thanked: () => renewed("thanks") });
const key = new Key(() => { models.ask(); return pairs ? translate() : start(); });
const tabs = new Tabs(["text", "file", "model"], switched);
const others = { t, tabs, explained: (fault) => explained(fault, about), key: () => key.value };
const files = new FileTab({ ...others, pair: () => ({ source: pairs.source, target: pairs.target }) });
const models = new ModelTab({ ...others, limit: () => about.limit });
const outputs = [0, 1].map((which) => new Output({
  t, shared: share, copied: put, suggested: (...what) => suggesting.open(...what), confirmed: () => renewed("stored"),
  lights: light, name: (code) => about.name(code), known: (name) => pairs?.models.find((model) => model.name === name), refused: tellFault,
  beside: () => { const other = outputs[1 - which]; return other.answer && pairs.explains(other.model()) ? other.model() : null; },
  chosen: (at) => { const other = outputs[1 - which]; if (other.answer && at < other.sentences().length) other.select(at); },
}));
byId("outputs").append(...outputs.map((output) => output.pane));
byId("viewers").append(...outputs.map((output) => output.place));

function compared() {
  return pairs?.other ? outputs : outputs.slice(0, 1);
}

// Translate again; cancels the request before.
async function translate({ pause = 0 } = {}) {
  late = tabs.now !== "text";
  asking.abort();
  if (!pairs) return drawAll(); // the text is translated once the server is ready
  if (late) return drawStarts(), files.changed();
  asking = new AbortController();
  const { signal } = asking;
  const asked = text.value;
  tellFault(null);
  light([]);
  drawAll();
  if (!asked.trim() || !pairs.target) return clearOutputs();
  const fault = wrong(asked);
  if (fault) return refuse(fault);
  try {
    await rest(pause, signal);
    for (const output of compared()) output.busy(true);
    const start = performance.now();
    const models = pairs.other ? [pairs.model, pairs.other] : [pairs.model];
    const glossary = terms(byId("terms"));
    const answers = await Promise.all(models.map((model) => patiently(() => ask("v1/translate", { signal, body: {
      q: asked, source: pairs.source, target: pairs.target, n_best: BEST, explain: pairs.explains(model),
      ...(model ? { model } : {}), ...(glossary ? { glossary } : {}), ...(key.value ? { api_key: key.value } : {}) } }), signal, tellFault)));
    if (signal.aborted) return undefined;
    tellFault(null);
    show(answers, { asked, took: t("ready", ((performance.now() - start) / 1000).toFixed(2)), key: key.value });
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return undefined;
    for (const output of outputs) output.busy(false);
    if (!(error instanceof Refused)) throw error;
    if (!key.value && /to get an API key/.test(error.told)) keyless = error;
    refuse(error);
  }
  return undefined;
}

// A fault that the server would report; null without one.
function wrong(asked) {
  const size = [...asked].length;
  if (about.limit > 0 && size > about.limit) return new Refused("tooLong", { values: () => [size, about.limit] });
  return key.value ? null : keyless;
}

// Clears the translation of the text before.
function refuse(fault) {
  for (const output of outputs) output.show(null);
  drawAll();
  tellFault(fault);
}

function show(answers, how) {
  pairs.found(answers[0].texts[0].detectedLanguage?.language ?? null);
  pairs.remember();
  outputs.forEach((output, at) => { output.several = answers.length > 1; output.show(answers[at] ?? null, how); });
  drawAll();
}

function clearOutputs() {
  pairs.found(null);
  for (const output of outputs) output.show(null);
  drawAll();
}

function drawAll() {
  const told = outputs[0].answer?.texts[0].detectedLanguage;
  const two = Boolean(pairs?.other);
  outputs[1].pane.hidden = !two;
  byId("outputs").classList.toggle("two", two);
  byId("viewers").classList.toggle("two", two);
  text.lang = pairs?.from() ?? "";
  drawStarts();
  byId("viewers").hidden = !text.value.trim();
  drawSource(t, { limit: about.limit, detected: told && pairs.source === "auto" ? t("detected", pairs.name(told.language), percent(told.confidence / 100)) : "" });
}

// For the open tab.
function drawStarts() {
  if (tabs.now === "model") models.drawStart();
  else drawStart(t, { model: pairs?.shown(), name: about.name, written: Boolean(text.value.trim()), tried });
}

function tellFault(fault) {
  refused = fault;
  byId("fault").hidden = !fault;
  byId("fault").classList.toggle("waiting", fault?.key === "loading"); // not an error
  const told = fault ? explained(fault, about) : undefined;
  tell(byId("fault-text"), told);
  byId("again").hidden = !told?.again;
}

function toast(message) {
  byId("toast").textContent = message;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { byId("toast").textContent = ""; }, 4000);
}

async function put(content, told = t("copied")) {
  toast(await copy(content) ? told : t("uncopied"));
}

// After a better translation was sent or stored: the next answer may have it.
function renewed(told) {
  toast(t(told));
  translate();
}

function share() {
  const address = link({ source: pairs.from() ?? "auto", target: pairs.target, model: pairs.model, other: pairs.other, text: text.value });
  history.replaceState(null, "", address);
  return put(address, t("shared"));
}

function tried(sentence) {
  text.value = sentence;
  translate();
  text.focus();
}

// After a change of the tab: text, file or other models.
function switched(tab) {
  byId("app").classList.toggle("of-files", tab === "file");
  byId("app").classList.toggle("of-models", tab === "model");
  drawStarts();
  if (tab === "text" && late && pairs) translate();
}

function clear() {
  if (tabs.now === "model") return models.clear();
  if (files.opened) return files.asking ? undefined : files.remove();
  text.value = "";
  translate();
  return text.focus();
}

function spoken(language) {
  t = speaker(language, TEXTS);
  tellAll(t);
  drawShortcuts(t);
  for (const each of [...outputs, files, models, suggesting]) each.speak(t);
  if (pairs) {
    pairs.t = t;
    pairs.draw();
  }
  drawAll();
  tellFault(refused);
}

// Languages and models of a link, else those used last, else the server's proposal.
function choose(settings) {
  const { source, target, model, other, text: written } = linked();
  if (models.choose(model, written ?? "")) return tabs.open("model");
  const unknown = model && !pairs.models.some(({ name }) => name === model) ? new Refused("noModel", { values: () => [model.slice(0, LONGEST)] }) : null;
  if (!pairs.models.length) return unknown && models.miss(model.slice(0, LONGEST), written ?? "");
  const last = read("pair");
  text.value = written ?? text.value;
  const proposed = [settings?.language?.source?.code, settings?.language?.target?.code];
  const [from, to] = [source ?? pairs.only() ?? last[0] ?? proposed[0] ?? "auto", target ?? last[1] ?? proposed[1] ?? ""];
  const changes = { source: from, target: to, model: model ?? "", other: other ?? "" };
  if (!unknown && pairs.serves(source, target)) return pairs.choose(changes);
  asking.abort(); // no request until the reader chooses or writes
  pairs.take(changes);
  light([]);
  return refuse(unknown ?? new Refused("unserved", { values: ({ name }) => [source, target].map((code) => (code && code !== "auto" ? name(code.slice(0, LONGEST)) : "")) }));
}

// Cancels a start that still waits.
async function start() {
  starting.abort();
  starting = new AbortController();
  const { signal } = starting;
  tellFault(null);
  try {
    const asked = () => Promise.all(["languages", "v1/models", "frontend/settings"].map((path) => ask(path, { signal })));
    const [languages, { models: all }, settings] = await patiently(asked, signal, tellFault);
    if (signal.aborted) return;
    about.limit = settings.charLimit ?? -1;
    key.offer(settings.keyRequired === true);
    files.offer(settings);
    for (const output of outputs) output.offer(settings.suggestions === true, settings.memories ?? []);
    const translators = all.filter((model) => model.target);
    models.offer(all.filter((model) => !model.target));
    tabs.offer([["text", translators.length], ["file", translators.length && files.offered], ["model", models.models.length]].filter(([, is]) => is).map(([name]) => name));
    document.querySelector("h1 .quiet").dataset.text = translators.length || !all.length ? "tagline" : "taglineModels";
    tellAll(t);
    pairs = new Pairs(languages, translators, () => translate());
    pairs.t = t;
    pairs.whenSwapped = () => { text.value = outputs[0].whole() || text.value; };
    tellFault(all.length ? null : new Refused("none"));
    if (all.length) choose(settings);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Refused)) throw error;
    tellFault(error);
  }
}

// An input method is composing: the text is not complete yet.
text.addEventListener("input", (event) => { if (!event.isComposing) translate({ pause: PAUSE }); });
// Both tabs have the same terms.
for (const [field, other] of [["terms", "file-terms"], ["file-terms", "terms"]]) {
  byId(field).addEventListener("input", (event) => { byId(other).value = byId(field).value; if (!event.isComposing) translate({ pause: 2 * PAUSE }); });
  byId(field).addEventListener("compositionend", () => translate({ pause: PAUSE }));
}
text.addEventListener("compositionend", () => translate({ pause: PAUSE }));
byId("clear").addEventListener("click", clear);
byId("again").addEventListener("click", () => (pairs ? translate() : start()));
globalThis.addEventListener("hashchange", () => { if (pairs) choose(null); });
connectShortcuts({
  translate: () => ({ text: translate, file: () => files.translate(), model: () => models.ask() })[tabs.now](), clear, swap: () => tabs.now !== "model" && pairs?.swap(),
  share: () => tabs.now === "text" && share(), copy: () => tabs.now === "text" && outputs[0].answer && put(outputs[0].whole()),
  focus: () => { if (tabs.now === "model") return models.focus(); tabs.open("text"); return text.focus(); },
}, (event) => (tabs.now === "model" ? models.viewer.key(event) : tabs.now === "text" && compared().map((output) => output.pressed(event)).some(Boolean)));
spoken(connectSettings(byId("language"), byId("theme"), TEXTS, spoken));
start();
