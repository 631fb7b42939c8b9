/* Pairs, minutes and languages → the command to type. Pages have a form for it; node runs `command` in the tests. */
"use strict";

const LEARNING_PAIRS = 20000; // above: a network alone; docs/how-to/few-pairs.md
const BEST_MINUTES = 10; // regard.runs.training.BEST_MINUTES

/* {source, target: codes; pairs, minutes: numbers; more: text of the target language} → {command, reason, page}.
   `reason` is a key of WORDS. */
function command({ source, target, pairs, minutes, more }) {
  const files = `train.${source} train.${target}`;
  const run = `--run runs/${source}-${target}`;
  if (source === target) return { command: "", reason: "same", page: "" };
  if (!(pairs >= 0) || !(minutes > 0)) return { command: "", reason: "number", page: "" };
  if (pairs < 1) {
    return {
      command: `regard train --text news.${source} --text news.${target} ${run}`, reason: "none", page: "no-pairs",
    };
  }
  const others = more ? ` --text-target more.${target}` : "";
  if (pairs < LEARNING_PAIRS && minutes >= BEST_MINUTES) {
    return {
      command: `regard forecast ${files} --minutes ${minutes}\nregard best ${files}${others} --minutes ${minutes} ${run}`,
      reason: "few", page: "few-pairs",
    };
  }
  const sides = `--source train.${source} --target train.${target}`;
  if (pairs < LEARNING_PAIRS) {
    return { command: `regard train ${sides} task=phrases ${run}`, reason: "short", page: "few-pairs" };
  }
  if (more) return { command: `regard train ${sides}${others} ${run}`, reason: "back", page: "one-language" };
  return { command: `regard train ${sides} --minutes ${minutes} ${run}`, reason: "many", page: "forecast" };
}

const WORDS = {
  en: {
    title: "Which command?", source: "From", target: "To", pairs: "Sentence pairs", minutes: "Minutes",
    more: "I also have text of the target language alone", page: "More about it",
    same: "Choose two languages.", number: "Give numbers: pairs from 0, minutes above 0.",
    none: "Without pairs: one text of each language, 500 lines or more. With 1,000 pairs it gets much better.",
    few: "Few pairs: the forecast says what to expect; the best translator combines phrases and networks.",
    short: "Few pairs and little time: phrases, counted in seconds to minutes.",
    many: "A network of the size that pairs and minutes allow.",
    back: "A network learns from the pairs, then from back-translations of your text; this takes several trainings.",
  },
  zh: {
    title: "该用哪条命令？", source: "源语言", target: "目标语言", pairs: "句对数", minutes: "分钟",
    more: "另有目标语言的单语文本", page: "详细说明",
    same: "请选择两种不同的语言。", number: "请输入数字：句对数不小于 0，分钟数大于 0。",
    none: "没有句对：每种语言各给一个文本，至少 500 行。有 1,000 个句对时效果会好得多。",
    few: "句对较少：先预估效果，再把短语模型与神经网络组合成最好的译者。",
    short: "句对少、时间短：短语模型，几秒到几分钟即可统计完成。",
    many: "训练一个规模与句对数、时限相称的神经网络。",
    back: "神经网络先学习句对，再学习单语文本的回译；需要训练数次。",
  },
};
const CODES = ["en", "zh", "de", "es", "fr", "pt", "it", "nl", "pl", "cs", "uk", "ru", "tr", "ar", "hi", "ja", "ko"];
const PAGES = ["few-pairs", "no-pairs"]; // those that have a Chinese page

function show(box) {
  const language = box.lang.startsWith("zh") ? "zh" : "en";
  const words = WORDS[language];
  const names = new Intl.DisplayNames([box.lang], { type: "language" });
  const options = CODES.map((code) => `<option value="${code}">${names.of(code)}</option>`).join("");
  const label = (name, field) => `<label><span>${words[name]}</span>${field}</label>`;
  box.innerHTML =
    `<form><fieldset><legend>${words.title}</legend>` +
    label("source", `<select name="source">${options}</select>`) +
    label("target", `<select name="target">${options}</select>`) +
    label("pairs", '<input name="pairs" type="number" min="0" step="1" value="5000" required>') +
    label("minutes", '<input name="minutes" type="number" min="0.1" step="any" value="60" required>') +
    `<label class="wide"><input name="more" type="checkbox"><span>${words.more}</span></label></fieldset></form>` +
    `<p role="status" aria-live="polite"></p><pre><code></code></pre>` +
    `<p><a>${words.page}</a></p>`;
  const form = box.querySelector("form");
  const [reason, code, link] = ["[role=status]", "code", "a"].map((one) => box.querySelector(one));
  form.elements.target.value = language === "zh" ? "zh" : "de";
  const update = () => {
    const of = (name) => form.elements[name];
    const number = (name) => (of(name).value === "" ? NaN : Number(of(name).value));
    const found = command({
      source: of("source").value, target: of("target").value, pairs: number("pairs"), minutes: number("minutes"),
      more: of("more").checked,
    });
    code.textContent = found.command;
    reason.textContent = words[found.reason];
    link.hidden = box.querySelector("pre").hidden = !found.command;
    const ending = language === "zh" && PAGES.includes(found.page) ? ".zh-CN.html" : ".html";
    link.href = `docs/how-to/${found.page}${ending}`;
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}

if (typeof document === "undefined") module.exports = { command, WORDS };
else document.querySelectorAll("[data-chooser]").forEach(show);
