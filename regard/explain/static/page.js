// The stand-alone page with its data: a list of sentences and the view of one.
import { answerCard } from "./answer.js";
import { button, element, keepingFocus } from "./elements.js";
import { gradesLine } from "./methods.js";
import { connectSettings, tellAll } from "./settings.js";
import { sideName, speaker } from "./strings.js";
import { visible } from "./text.js";
import { Viewer } from "./viewer.js";

const TEXTS = {
  en: {
    sentences: "Sentences", empty: "There is no sentence on this page.", theme: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
    keys: "Arrow keys move · Enter pins · Esc unpins · [ ] layer · , . head",
  },
  zh: {
    sentences: "句子", empty: "本页没有句子。", theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" },
    keys: "方向键移动 · Enter 固定 · Esc 取消固定 · [ ] 切换层 · , . 切换注意力头",
  },
};
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
let index = 0;

const viewer = new Viewer(byId("viewer"), { open: true });
Object.assign(viewer, { grades: data.grades ?? null, model: data.model ?? "" });
viewer.speak(connectSettings(byId("language"), byId("theme"), TEXTS, (language) => {
  tellAll(speaker(language, TEXTS));
  viewer.speak(language);
  drawAnswer();
}));
tellAll(speaker(viewer.language, TEXTS));

viewer.whenChosen = drawAnswer;

function drawSentences() {
  const list = byId("sentences");
  list.hidden = data.predictions.length < 2;
  list.replaceChildren(...data.predictions.map((prediction, at) => button({ "aria-current": String(at === index) }, () => show(at),
    ...[prediction.source.replaceAll("\t", " · "), prediction.text].map((text) => element("span", { dir: "auto" }, visible(text, false))))));
}

function show(at, state) {
  index = at;
  keepingFocus([byId("sentences")], drawSentences);
  viewer.show(data.predictions[at], state);
  drawAnswer();
}

// Answers other than texts; the heat map stands below if there is one.
function drawAnswer() {
  const prediction = data.predictions[index];
  const card = prediction && answerCard(prediction, speaker(viewer.language));
  const line = card ? gradesLine(viewer) : "";
  byId("answer").replaceChildren(...(card ? [card] : []));
  drawTexts(card ? null : prediction);
  if (line) card.append(element("p", { class: "quiet" }, line));
  const nothing = Boolean(card) && !prediction.explanation?.maps.length;
  byId("viewer").hidden = document.querySelector(".panels > .keys").hidden = nothing;
}

// Source and output as texts to copy; the card of an answer has its own.
function drawTexts(prediction) {
  byId("texts").hidden = !prediction;
  if (!prediction) return;
  const line = (name, text) => (text ? [element("div", {}, element("h2", { class: "side-title" }, sideName(viewer.t, name)), element("p", { dir: "auto" }, visible(text, false)))] : []);
  const given = viewer.wording === "alone" ? "given" : "source"; // a continued text is not a source
  byId("texts").replaceChildren(...line(given, prediction.source.replaceAll("\t", " · ")), ...line("target", viewer.current().text));
}

byId("main").hidden = !data.predictions.length;
byId("empty").hidden = data.predictions.length > 0;
if (data.predictions.length) show(0, data.state);
document.addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("select, input")) viewer.key(event);
});
