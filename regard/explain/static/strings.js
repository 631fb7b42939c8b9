// Words of the viewer in two languages. A value may be a function of what it tells about.
const STRINGS = {
  en: {
    name: "English", tag: "en",
    words: "Words", unit: "Show", unitWords: "Words", unitPieces: "Pieces", across: "Arrangement", lines: "Lines", columns: "Columns",
    source: "Source", target: "Translation", score: (value) => `score ${value}`,
    unfinished: "cut off at the length limit",
    confidence: "How sure the model was of each word",
    sure: "sure (80% and up)", fair: "fair (50–80%)", poor: "unsure (under 50%)",
    hint: "Point at a word to see what it looks at; click to pin it.",
    looks: (word) => `“${word}” looks at`, seen: (word) => `“${word}” is looked at by`, nothing: "nothing",
    chance: (value) => `probability ${value}`,
    pair: (query, key, value) => `“${query}” looks at “${key}”: ${value}`,
    map: "Where it looked", kind: "Attention", layer: "Layer", head: "Head", end: "End symbol", join: "Joined by", share: "Strongest",
    alignment: "Alignment", cross: "Translation → source", encoder: "Inside the source", decoder: "Inside the translation",
    all: "All", some: "Some", average: "Average", strongest: "Maximum", rollout: "Rollout",
    headOf: (layer, head) => `Layer ${layer}, head ${head}`,
    caption: (rows, columns) => `Rows: ${rows}, looking. Columns: ${columns}, looked at. Stronger colour, more attention.`,
    noShares: "These weights are no shares of one.", full: (most) => `Full colour: ${most}.`, below: "Orange with a bar or dashes: below zero.",
    table: "Table of the numbers", large: "This map is too large to list whole: these are the five words each one looks at most.",
    most: (rank) => `${rank}. most`,
    overview: "Every layer and head", tiles: "Click: in or out · Double-click or Shift+Enter: alone",
    candidates: "Candidates", flags: "Worth a look", more: (count) => `${count} more …`,
    repeated: "said again", untranslated: "copied from the source", unattended: "hardly looked at", unsure: "unsure",
    none: "This candidate carries no attention.", loading: "Asking the model what it looked at …",
    savePicture: (kind) => `Save the map as ${kind}`, saveWords: (kind) => `Save the words as ${kind}`, saveData: (kind) => `Save as ${kind}`,
    save: "Save", only: (share) => `strongest ${share}%`,
  },
  zh: {
    name: "简体中文", tag: "zh-CN",
    words: "词语", unit: "显示单位", unitWords: "词", unitPieces: "子词", across: "排列方式", lines: "横排", columns: "竖排",
    source: "原文", target: "译文", score: (value) => `得分 ${value}`,
    unfinished: "因长度上限被截断",
    confidence: "模型对每个词的把握",
    sure: "有把握（80% 以上）", fair: "一般（50–80%）", poor: "没把握（低于 50%）",
    hint: "指向一个词，看它注意到哪里；点击可固定。",
    looks: (word) => `“${word}” 注意到`, seen: (word) => `注意到 “${word}” 的有`, nothing: "无",
    chance: (value) => `概率 ${value}`,
    pair: (query, key, value) => `“${query}” 注意 “${key}”：${value}`,
    map: "注意力分布", kind: "注意力", layer: "层", head: "头", end: "结束符", join: "合并方式", share: "最强部分",
    alignment: "对齐", cross: "译文 → 原文", encoder: "原文内部", decoder: "译文内部",
    all: "全部", some: "部分", average: "平均", strongest: "最大值", rollout: "逐层累乘",
    headOf: (layer, head) => `第 ${layer} 层，第 ${head} 头`,
    caption: (rows, columns) => `行：${rows}（注意者）。列：${columns}（被注意者）。颜色越浓，权重越大。`,
    noShares: "这些权重不是总和为 1 的份额。", full: (most) => `最深色：${most}。`, below: "橙色加横线或虚线：小于零。",
    table: "数值表格", large: "此图过大，无法全部列出：以下是每个词最注意的五个词。",
    most: (rank) => `第 ${rank} 多`,
    overview: "各层各头", tiles: "点击：加入或移出 · 双击或 Shift+Enter：只看此头",
    candidates: "候选译文", flags: "值得留意", more: (count) => `还有 ${count} 处……`,
    repeated: "重复", untranslated: "照抄原文", unattended: "几乎未被注意", unsure: "没把握",
    none: "此候选译文没有注意力数据。", loading: "正在询问模型注意到哪里……",
    savePicture: (kind) => `将分布图存为 ${kind}`, saveWords: (kind) => `将词语图存为 ${kind}`, saveData: (kind) => `存为 ${kind}`,
    save: "保存", only: (share) => `最强的 ${share}%`,
  },
};

// What a text without a source is called: a language model translates nothing.
export const ALONE = {
  en: { target: "Text", decoder: "Inside the text" },
  zh: { target: "文本", decoder: "文本内部", candidates: "候选", none: "此候选没有注意力数据。" },
};

// The function that tells a text in a language; `more` has texts of the page around the viewer, by language.
export function speaker(language, more = {}) {
  const texts = { ...STRINGS[language], ...more[language] };
  return (key, ...values) => (typeof texts[key] === "function" ? texts[key](...values) : texts[key]);
}

export function languages() {
  return Object.keys(STRINGS);
}
