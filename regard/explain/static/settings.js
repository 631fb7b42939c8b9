// A reader's language and theme, kept for the next visit where that is allowed.
import { languages, speaker } from "./strings.js";

const THEMES = ["auto", "light", "dark"];

// A page from disk, or in a sandboxed frame, may not be allowed to keep anything.
export function kept(key) {
  try { return localStorage.getItem(`regard.${key}`); } catch { return null; }
}

export function keep(key, value) {
  try { localStorage.setItem(`regard.${key}`, value); } catch { /* only a preference is lost */ }
}

// Kept until the tab is closed.
export function keptInTab(key) {
  try { return sessionStorage.getItem(`regard.${key}`); } catch { return null; }
}

export function keepInTab(key, value) {
  try {
    if (value) sessionStorage.setItem(`regard.${key}`, value);
    else sessionStorage.removeItem(`regard.${key}`);
  } catch { /* the first value stays */ }
}

export function firstLanguage() {
  const asked = document.documentElement.dataset.language || kept("language");
  if (languages().includes(asked)) return asked;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

// Buttons for the other language and the next theme; `spoken` is called with the new language.
export function connectSettings(language, themes, texts, spoken) {
  let now = firstLanguage();
  let theme = THEMES.includes(kept("theme")) ? kept("theme") : "auto";
  const tell = () => {
    const other = now === "en" ? "zh" : "en";
    document.documentElement.lang = speaker(now)("tag");
    document.documentElement.dataset.theme = theme;
    language.textContent = speaker(other)("name");
    language.lang = speaker(other)("tag");
    themes.textContent = speaker(now, texts)("theme")[theme];
  };
  language.addEventListener("click", () => {
    now = now === "en" ? "zh" : "en";
    keep("language", now);
    tell();
    spoken(now);
  });
  themes.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    keep("theme", theme);
    tell();
    spoken(now);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => spoken(now));
  tell();
  return now;
}

// Fill marked elements: data-text with a text, data-label and data-hint with a name and a tip.
export function tellAll(t) {
  for (const part of document.querySelectorAll("[data-text]")) part.textContent = t(part.dataset.text);
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", t(part.dataset.label));
  for (const part of document.querySelectorAll("[data-hint]")) part.setAttribute("placeholder", t(part.dataset.hint));
  for (const part of document.querySelectorAll("[data-tip]")) part.title = t(part.dataset.tip);
}
