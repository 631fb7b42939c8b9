// Pages whose texts stand in the document in English: in Chinese where a phrase fits a whole text. Names stay as they are.
import { connectSettings } from "./settings.js";

const THEMES = {
  en: { theme: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" } },
  zh: { theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" } },
};

export function connectPhrases(phrases) {
  const chinese = (text) => {
    const [pattern, write] = phrases.find(([one]) => one.test(text.trim())) ?? [];
    return pattern ? write(...text.trim().match(pattern).slice(1)) : text;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeValue.trim() && !node.parentElement.closest("script, style, code, .tools")) texts.push([node, node.nodeValue]);
  }
  const tips = [...document.querySelectorAll("[title]")].map((one) => [one, one.title]);
  const speak = (language) => {
    for (const [node, english] of texts) node.nodeValue = language === "zh" ? chinese(english) : english;
    for (const [one, english] of tips) one.title = language === "zh" ? chinese(english) : english;
  };
  speak(connectSettings(document.querySelector("#language"), document.querySelector("#theme"), THEMES, speak));
}
