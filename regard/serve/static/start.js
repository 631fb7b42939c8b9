// The first view, before a translation: the model's description, and sentences to try.
import { button, element } from "./explain/elements.js";

// Sentences for models without their own, as on a server that needs keys.
const SIMPLE = {
  ar: "الرجل العجوز يقرأ كتابا.", cs: "Starý muž čte knihu.", de: "Der alte Mann liest ein Buch.", en: "The old man reads a book.",
  es: "El hombre mayor lee un libro.", fr: "Le vieil homme lit un livre.", it: "Il vecchio legge un libro.", ja: "老人は本を読んでいます。",
  ko: "노인이 책을 읽고 있습니다.", nl: "De oude man leest een boek.", pl: "Stary człowiek czyta książkę.", pt: "O velho lê um livro.",
  ru: "Старик читает книгу.", tr: "Yaşlı adam kitap okuyor.", uk: "Старий читає книгу.", zh: "老人在看书。",
};
const byId = (id) => document.getElementById(id);

// `model` is one of /v1/models, or undefined; `tried` is called with a sentence. The note of a demo model stays.
export function drawStart(t, { model, name, written, tried }) {
  const examples = model?.examples?.length ? model.examples : [SIMPLE[model?.source?.split("-")[0]]].filter(Boolean);
  byId("start").hidden = written && !model?.demo;
  byId("intro").hidden = written;
  byId("intro").textContent = t("intro");
  byId("knows").textContent = model ? knows(t, model, name) : "";
  drawExamples(t, examples, model?.source, tried);
}

// The same for a model other than a translator; an example has tabs between its columns.
export function drawModelStart(t, { model, written, tried }) {
  byId("start").hidden = byId("intro").hidden = written;
  byId("intro").textContent = t("introModel");
  const scores = Object.entries(model.scores ?? {}).map(([name, value]) => `${t("metrics")[name] ?? name.replaceAll("_", " ")} ${value}`);
  const told = [t("knowsModel")[model.answers] ?? "", model.pairs ? t("learntExamples", model.pairs.toLocaleString(t("tag"))) : "", scores.length ? t("measured", scores.join(t("comma"))) : ""];
  byId("knows").textContent = told.filter(Boolean).join(t("tag") === "en" ? " " : "");
  drawExamples(t, model.examples ?? [], null, tried);
}

function drawExamples(t, examples, language, tried) {
  byId("examples").hidden = !examples.length;
  byId("examples").replaceChildren(element("span", { class: "quiet" }, t("try")),
    ...examples.map((line) => button({ class: "chip", lang: language, dir: "auto" }, () => tried(line), line.replaceAll("\t", " · "))));
}

function knows(t, { source, target, pairs, bleu, demo }, name) {
  if (demo) return t("knowsDemo", name(source), name(target));
  const told = [t("knows", name(source), name(target))];
  if (pairs) told.push(t("learnt", pairs.toLocaleString(t("tag"))));
  if (bleu) told.push(t("bleu", bleu));
  return told.join(t("tag") === "en" ? " " : "");
}
