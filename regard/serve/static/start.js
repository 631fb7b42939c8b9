// What a visitor reads before anything is translated: what the model knows, and sentences to try.
import { button, element } from "./explain/elements.js";

const byId = (id) => document.getElementById(id);

// `model` is one of /v1/models, or undefined; `tried` hears a sentence. A demo says what it is as long as it is looked at.
export function drawStart(t, { model, name, written, tried }) {
  const examples = model?.examples ?? [];
  byId("start").hidden = written && !model?.demo;
  byId("intro").hidden = written;
  byId("knows").textContent = model ? knows(t, model, name) : "";
  byId("examples").hidden = !examples.length;
  byId("examples").replaceChildren(element("span", { class: "quiet" }, t("try")),
    ...examples.map((sentence) => button({ class: "chip", lang: model.source, dir: "auto" }, () => tried(sentence), sentence)));
}

function knows(t, { source, target, pairs, bleu, demo }, name) {
  if (demo) return t("knowsDemo", name(source), name(target));
  const told = [t("knows", name(source), name(target))];
  if (pairs) told.push(t("learnt", pairs.toLocaleString(t("tag"))));
  if (bleu) told.push(t("bleu", bleu));
  return told.join(t("tag") === "en" ? " " : "");
}
