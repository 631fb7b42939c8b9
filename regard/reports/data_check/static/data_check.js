// The slider sets a threshold: counts and examples of what a clean copy leaves out.
const { connectSettings, tellAll } = $settings;
const { speaker } = $strings;
const TEXTS = {
  en: {
    theme: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
    alike: "Both sides are in one language.", drop: "Drop pairs from severity",
    copy: "Nothing is changed here. This command writes a copy without these pairs, and a list of them with the reasons:",
    lines: (lines, more) => `${lines.length > 1 || more ? "lines" : "line"} ${lines.join(", ")}${more ? ` … (${more} pairs)` : ""}`,
    severity: (value) => `severity ${value}`, others: (number) => `${number} more ${number === 1 ? "example" : "examples"}`,
    summary: (gone, all, share) => `${gone} of ${all} pairs would be dropped (${share} %)`, gone: (gone, all) => `${gone} of ${all} would be dropped`,
  },
  zh: {
    theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" },
    alike: "两侧文本是同一种语言。", drop: "剔除严重度不低于此值的句对",
    copy: "本页不修改任何文件。以下命令写出不含这些句对的副本，并列出被剔除的句对及原因：",
    lines: (lines, more) => `第 ${lines.join("、")} 行${more ? ` …（共 ${more} 对）` : ""}`,
    severity: (value) => `严重度 ${value}`, others: (number) => `另有 ${number} 例`,
    summary: (gone, all, share) => `${all} 个句对中将剔除 ${gone} 个（${share} %）`, gone: (gone, all) => `${all} 个中将剔除 ${gone} 个`,
  },
};
const KINDS = {
  copied: "照抄原文", empty: "一侧为空", encoding: "编码错误", language: "语言不符", length: "长度悬殊", long_word: "过长的词",
  markup: "标记不一致", numbers: "数字不一致", repeated: "重复句对", script: "异种文字", unrelated: "两侧不对应",
};
const SIDES = { source: "原文", target: "译文" };
const REASONS = [ // of the checks, in Chinese
  [/^the target is the source$/, () => "译文与原文相同"],
  [/^the target is nearly the source$/, () => "译文与原文几乎相同"],
  [/^a side is empty$/, () => "一侧为空"],
  [/^the (source|target) has signs alone$/, (side) => `${SIDES[side]}只有符号`],
  [/^U\+FFFD stands in place of lost characters$/, () => "丢失的字符变成了 U+FFFD"],
  [/^has control characters$/, () => "含有控制字符"],
  [/^decoded by a wrong encoding$/, () => "解码时用错了编码"],
  [/^decoded by a wrong encoding; perhaps: ([^]*)$/, (text) => `解码时用错了编码，可能应为：${text}`],
  [/^source and target are exchanged$/, () => "原文与译文颠倒"],
  [/^the (source|target) is in the language of the (source|target)$/, (side, other) => `${SIDES[side]}用的是${SIDES[other]}的语言`],
  [/^the (source|target) seems to be in '(\w+)'$/, (side, code) => `${SIDES[side]}似乎是“${code}”`],
  [/^the (source|target) is far longer than usual$/, (side) => `${SIDES[side]}比通常长得多`],
  [/^the (source|target) is short and lacks the end of its sentence$/, (side) => `${SIDES[side]}偏短，且缺少句末标点`],
  [/^the (source|target) lacks the end of its sentence$/, (side) => `${SIDES[side]}缺少句末标点`],
  [/^a word of ([\d,]+) characters: ([^]*)$/, (length, word) => `一个词长达 ${length} 个字符：${word}`],
  [/^has an escaped character, the HTML entity '([^]*)'$/, (text) => `含有未还原的转义字符（HTML 实体）：${text}`],
  [/^([^]*) stands on one side alone$/, (tag) => `${tag} 只出现在一侧`],
  [/^has tags on both sides$/, () => "两侧都有标记"],
  [/^numbers differ: ([^]*) and ([^]*)$/, (one, other) => `数字不同：${one === "none" ? "无" : one} 与 ${other === "none" ? "无" : other}`],
  [/^the same pair as line ([\d,]+)$/, (line) => `与第 ${line} 行的句对相同`],
  [/^the (source|target) has ([\w ]+) letters: ([^]*)$/, (side, script, letters) => `${SIDES[side]}含有 ${script} 字母：${letters}`],
  [/^words do not translate each other \(([-\d.]+) nats a word\)$/, (nats) => `两侧的词互不对应（每词 ${nats} nat）`],
];
const slider = document.querySelector("#threshold");
const count = (number) => number.toLocaleString("en");
const gone = (kind, level) => kind.counts.slice(level).reduce((sum, each) => sum + each, 0);
let cards = [];
let t = speaker("en", TEXTS);

function reasonOf(text) {
  if (t("tag") === "en") return text;
  const [pattern, write] = REASONS.find(([one]) => one.test(text)) ?? [];
  return pattern ? write(...text.match(pattern).slice(1)) : text;
}

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
  const lines = t("lines", one.lines.map(count), one.count > one.lines.length ? count(one.count) : "");
  item.append(element("div", `${lines} · ${t("severity", (one.severity / 100).toFixed(2))} · ${reasonOf(one.reason)}`, "reason"));
  return item;
}

function cardOf(kind, opened) {
  const card = element("section", "", "card");
  const head = element("h2", t("tag") === "en" ? kind.name : KINDS[kind.check] ?? kind.name);
  const counted = element("span", "", "count");
  head.append(" ", counted);
  const [worst, ...others] = kind.examples.map(example);
  const first = document.createElement("ol");
  first.append(worst);
  card.append(head, first);
  if (others.length) {
    const details = document.createElement("details");
    details.open = opened;
    details.append(element("summary", t("others", others.length)));
    const list = document.createElement("ol");
    list.start = 2;
    list.append(...others);
    details.append(list);
    card.append(details);
  }
  return { kind, card, counted };
}

function show() {
  const level = Number(slider.value);
  const dropped = DATA.kinds.reduce((sum, kind) => sum + gone(kind, level), 0);
  const share = ((100 * dropped) / DATA.pairs).toFixed(2);
  document.querySelector("#level").value = (level / 100).toFixed(2);
  document.querySelector("#summary").textContent = t("summary", count(dropped), count(DATA.pairs), share);
  document.querySelector("#option").textContent = `regard data check ${DATA.files} --threshold ${(level / 100).toFixed(2)} --clean clean.source clean.target --dropped dropped.jsonl`;
  cards.sort((a, b) => gone(b.kind, level) - gone(a.kind, level));
  document.querySelector("#kinds").replaceChildren(...cards.map(({ card }) => card));
  for (const { kind, card, counted } of cards) {
    counted.textContent = t("gone", count(gone(kind, level)), count(gone(kind, 0)));
    for (const item of card.querySelectorAll("li")) {
      const goes = Number(item.dataset.severity) >= level;
      item.classList.toggle("gone", goes);
      item.classList.toggle("kept", !goes);
    }
  }
}

function speak(language) {
  t = speaker(language, TEXTS);
  tellAll(t);
  const opened = new Set(cards.filter(({ card }) => card.querySelector("details")?.open).map(({ kind }) => kind.check));
  cards = DATA.kinds.map((kind) => cardOf(kind, opened.has(kind.check)));
  show();
}

document.querySelector("#alike").hidden = !DATA.alike;
slider.value = DATA.threshold;
slider.addEventListener("input", show);
speak(connectSettings(document.querySelector("#language"), document.querySelector("#theme"), TEXTS, speak));
