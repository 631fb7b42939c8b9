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
  const lines = `${one.count > 1 ? "lines" : "line"} ${one.lines.map(count).join(", ")}${one.count > one.lines.length ? ` … (${count(one.count)} pairs)` : ""}`;
  item.append(element("div", `${lines} · severity ${(one.severity / 100).toFixed(2)} · ${one.reason}`, "reason"));
  return item;
}

const cards = DATA.kinds.map((kind) => {
  const card = element("section", "", "card");
  const head = element("h2", kind.name);
  const counted = element("span", "", "count");
  head.append(" ", counted);
  const [worst, ...others] = kind.examples.map(example);
  const first = document.createElement("ol");
  first.append(worst);
  card.append(head, first);
  if (others.length) {
    const details = document.createElement("details");
    details.append(element("summary", `${others.length} more ${others.length === 1 ? "example" : "examples"}`));
    const list = document.createElement("ol");
    list.start = 2;
    list.append(...others);
    details.append(list);
    card.append(details);
  }
  return { kind, card, counted };
});

function show() {
  const level = Number(slider.value);
  const dropped = DATA.kinds.reduce((sum, kind) => sum + gone(kind, level), 0);
  const share = ((100 * dropped) / DATA.pairs).toFixed(2);
  document.querySelector("#level").value = (level / 100).toFixed(2);
  document.querySelector("#summary").textContent = `${count(dropped)} of ${count(DATA.pairs)} pairs would be dropped (${share} %)`;
  document.querySelector("#option").textContent = `regard data check ${DATA.files} --threshold ${(level / 100).toFixed(2)} --clean clean.source clean.target --dropped dropped.jsonl`;
  cards.sort((a, b) => gone(b.kind, level) - gone(a.kind, level));
  document.querySelector("#kinds").replaceChildren(...cards.map(({ card }) => card));
  for (const { kind, card, counted } of cards) {
    counted.textContent = `${count(gone(kind, level))} of ${count(gone(kind, 0))} would be dropped`;
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
