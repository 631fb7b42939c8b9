// The slider moves a threshold: counts and examples say what a clean copy would leave out.
const slider = document.querySelector("#threshold");
const count = (number) => number.toLocaleString("en");
const gone = (kind, level) => kind.counts.slice(level).reduce((sum, each) => sum + each, 0);

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function example(one) {
  const item = document.createElement("li");
  item.dataset.severity = one.severity;
  item.append(element("div", one.source), element("div", one.target));
  item.append(element("div", `line ${count(one.line)} · severity ${(one.severity / 100).toFixed(2)} · ${one.reason}`, "reason"));
  return item;
}

const cards = DATA.kinds.map((kind) => {
  const card = element("section", "", "card");
  const head = element("h2", kind.name);
  const told = element("span", "", "count");
  head.append(" ", told);
  const details = document.createElement("details");
  details.append(element("summary", `${kind.examples.length} examples`));
  const list = document.createElement("ol");
  list.append(...kind.examples.map(example));
  details.append(list);
  card.append(head, details);
  return { kind, card, told };
});

function show() {
  const level = Number(slider.value);
  const dropped = DATA.kinds.reduce((sum, kind) => sum + gone(kind, level), 0);
  const share = ((100 * dropped) / DATA.pairs).toFixed(2);
  document.querySelector("#level").value = (level / 100).toFixed(2);
  document.querySelector("#summary").textContent = `${count(dropped)} of ${count(DATA.pairs)} pairs would go (${share} %)`;
  document.querySelector("#option").textContent = `regard data check ${DATA.files} --threshold ${(level / 100).toFixed(2)} --clean clean.source clean.target --dropped dropped.jsonl`;
  cards.sort((a, b) => gone(b.kind, level) - gone(a.kind, level));
  document.querySelector("#kinds").replaceChildren(...cards.map(({ card }) => card));
  for (const { kind, card, told } of cards) {
    told.textContent = `${count(gone(kind, level))} of ${count(gone(kind, 0))} would go`;
    for (const item of card.querySelectorAll("li")) {
      const goes = Number(item.dataset.severity) >= level;
      item.classList.toggle("gone", goes);
      item.classList.toggle("kept", !goes);
    }
  }
}

const theme = document.querySelector("#theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const next = { system: "light", light: "dark", dark: "system" }[document.documentElement.dataset.theme ?? "system"];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  theme.textContent = `Theme: ${next}`;
});

document.querySelector("#alike").hidden = !DATA.alike;
slider.value = DATA.threshold;
slider.addEventListener("input", show);
show();
cards[0]?.card.querySelector("details").setAttribute("open", "");
