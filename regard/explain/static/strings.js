// Words of the page in two languages. A value may be a function of what it tells about.
const STRINGS = {
  en: {
    name: "English", tag: "en",
    sentences: "Sentences", words: "Words", unit: "Show", unitWords: "Words", unitPieces: "Pieces",
    source: "Source", target: "Translation", score: (value) => `score ${value}`,
    unfinished: "cut off at the length limit",
    confidence: "How sure the model was of each word",
    sure: "sure (80% and up)", fair: "fair (50–80%)", poor: "unsure (under 50%)",
    hint: "Point at a word to see what it looks at; click to pin it.",
    looks: (word) => `“${word}” looks at`, seen: (word) => `“${word}” is looked at by`, nothing: "nothing",
    chance: (value) => `probability ${value}`,
    pair: (query, key, value) => `“${query}” looks at “${key}”: ${value}`,
    map: "Where it looked", kind: "Attention", layer: "Layer", head: "Head", end: "End symbol",
    alignment: "Alignment", cross: "Translation → source", encoder: "Inside the source", decoder: "Inside the translation",
    average: "Average", strongest: "Strongest", headOf: (layer, head) => `Layer ${layer}, head ${head}`,
    caption: (rows, columns) => `Rows: ${rows}, looking. Columns: ${columns}, looked at. Stronger colour, more attention.`,
    table: "Table of the numbers", large: "This map is too large for a table; the JSON file has all its numbers.",
    overview: "Every layer and head", candidates: "Candidates", flags: "Worth a look",
    repeated: "said again", untranslated: "copied from the source", unattended: "hardly looked at", unsure: "unsure",
    none: "This candidate carries no attention.", empty: "There is no sentence on this page.",
    theme: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
    keys: "Arrow keys move · Enter pins · Esc frees · [ ] layer · , . head",
  },
  zh: {
    name: "简体中文", tag: "zh-CN",
    sentences: "句子", words: "词语", unit: "显示单位", unitWords: "词", unitPieces: "子词",
    source: "原文", target: "译文", score: (value) => `得分 ${value}`,
    unfinished: "因长度上限被截断",
    confidence: "模型对每个词的把握",
    sure: "有把握（80% 以上）", fair: "一般（50–80%）", poor: "没把握（低于 50%）",
    hint: "指向一个词，看它注意到哪里；点击可固定。",
    looks: (word) => `“${word}” 注意到`, seen: (word) => `注意到 “${word}” 的有`, nothing: "无",
    chance: (value) => `概率 ${value}`,
    pair: (query, key, value) => `“${query}” 注意 “${key}”：${value}`,
    map: "注意力分布", kind: "注意力", layer: "层", head: "头", end: "结束符",
    alignment: "对齐", cross: "译文 → 原文", encoder: "原文内部", decoder: "译文内部",
    average: "平均", strongest: "最强", headOf: (layer, head) => `第 ${layer} 层，第 ${head} 头`,
    caption: (rows, columns) => `行：${rows}（注意者）。列：${columns}（被注意者）。颜色越浓，权重越大。`,
    table: "数值表格", large: "此图过大，无法列表；全部数值见 JSON 文件。",
    overview: "各层各头", candidates: "候选译文", flags: "值得留意",
    repeated: "重复", untranslated: "照抄原文", unattended: "几乎未被注意", unsure: "没把握",
    none: "此候选译文没有注意力数据。", empty: "本页没有句子。",
    theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" },
    keys: "方向键移动 · Enter 固定 · Esc 取消 · [ ] 换层 · , . 换头",
  },
};

function t(key, ...values) {
  const text = STRINGS[state.language][key];
  return typeof text === "function" ? text(...values) : text;
}

function percent(value) {
  return `${Math.round(100 * value)}%`;
}

function decimal(value) {
  return value.toFixed(2).replace("-", "−");
}
