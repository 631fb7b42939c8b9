// What is shown, and what happens when somebody asks for something else.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const THEMES = ["auto", "light", "dark"];

// A page from disk, or in a sandboxed frame, may not be allowed to keep anything.
function kept(key) {
  try { return localStorage.getItem(`regard.${key}`); } catch { return null; }
}

function keep(key, value) {
  try { localStorage.setItem(`regard.${key}`, value); } catch { /* nothing is lost but a preference */ }
}

function firstLanguage() {
  const asked = document.documentElement.dataset.language || kept("language");
  if (asked in STRINGS) return asked;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

const state = {
  index: 0, rank: 0, kind: "alignment", layer: "average", head: "average", unit: "words", end: false,
  pinned: null, pointed: null, language: firstLanguage(), theme: THEMES.includes(kept("theme")) ? kept("theme") : "auto",
};
let view = null;

function choose(changes) {
  const stays = Object.keys(changes).every((key) => key === "layer" || key === "head");
  Object.assign(state, changes);
  if (!stays) state.pinned = null;
  render();
}

function render() {
  const some = data.predictions.length > 0;
  byId("main").hidden = !some;
  byId("empty").hidden = some;
  drawTexts();
  if (!some) return;
  const focused = document.activeElement;
  const inMap = byId("heat").contains(focused) ? state.pointed : null;
  const place = focused?.closest?.("nav, #unit, #overview, #candidates");
  const at = place ? [...place.querySelectorAll("button")].indexOf(focused) : -1;
  state.pointed = null;
  view = makeView();
  drawSentences();
  drawChoice();
  drawCandidates();
  drawFlags();
  byId("maps").hidden = !view;
  byId("none").hidden = Boolean(view);
  if (view) {
    drawSelectors();
    drawOverview();
  }
  drawWords();
  drawMap();
  drawTable();
  highlight();
  if (at >= 0) place.querySelectorAll("button")[at]?.focus();
  if (inMap && view?.weights[inMap.at]?.[inMap.column] !== undefined) focusCell(inMap.at, inMap.column);
}

function drawTexts() {
  document.documentElement.lang = t("tag");
  document.documentElement.dataset.theme = state.theme;
  for (const part of document.querySelectorAll("[data-text]")) part.textContent = t(part.dataset.text);
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", t(part.dataset.label));
  byId("theme").textContent = t("theme")[state.theme];
  const other = state.language === "en" ? "zh" : "en";
  byId("language").textContent = STRINGS[other].name;
  byId("language").lang = STRINGS[other].tag;
}

function stepped(id, step) {
  const select = byId(id);
  const next = select.options[select.selectedIndex + step];
  if (next) choose({ [id]: read(next.value) });
}

function read(value) {
  return /^\d+$/.test(value) ? Number(value) : value;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input")) return;
  const steps = { "[": ["layer", -1], "]": ["layer", 1], ",": ["head", -1], ".": ["head", 1] };
  if (event.key === "Escape") {
    state.pinned = null;
    state.pointed = null;
    highlight();
  } else if (event.key in steps && view) stepped(...steps[event.key]);
}

function start() {
  for (const id of ["kind", "layer", "head"]) byId(id).addEventListener("change", (event) => choose({ [id]: read(event.target.value) }));
  byId("end").addEventListener("change", (event) => choose({ end: event.target.checked }));
  byId("table-box").addEventListener("toggle", drawTable);
  byId("stage").addEventListener("keydown", moveInWords);
  document.addEventListener("keydown", onKey);
  byId("save-svg").addEventListener("click", () => save("attention.svg", "image/svg+xml", standaloneMap()));
  byId("save-json").addEventListener("click", () => save("attention.json", "application/json", JSON.stringify(data)));
  byId("language").addEventListener("click", () => {
    state.language = state.language === "en" ? "zh" : "en";
    keep("language", state.language);
    render();
  });
  byId("theme").addEventListener("click", () => {
    state.theme = THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length];
    keep("theme", state.theme);
    render();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  render();
  let width = innerWidth;
  new ResizeObserver(() => {
    if (innerWidth === width) return;
    width = innerWidth;
    if (view) drawMap();
    highlight();
  }).observe(document.body);
}

start();
