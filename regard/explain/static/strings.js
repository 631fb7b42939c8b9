// Words of the viewer in two languages. A value may be a function of its values.
const STRINGS = {
  en: {
    name: "EN", tag: "en",
    words: "Word by word", unit: "Show", unitWords: "Words", unitPieces: "Pieces", across: "Arrangement", lines: "Lines", columns: "Columns",
    source: "Source", target: "Translation", score: (value) => `confidence ${value}`,
    scoreTip: "Confidence: mean probability of the generated pieces, not calibrated",
    scoreMeans: "(the model’s own estimate)", calibratedMeans: "(expected word accuracy)",
    calibratedTip: "Calibrated confidence: expected share of these words that a human translation has, too",
    calibratedLabels: "Calibrated: of answers at 80%, eight of ten are correct", uncalibratedLabels: "Probability by the model, not calibrated (regard calibrate RUN)",
    unfinished: "cut off at the length limit",
    confidence: "Confidence of each word",
    sure: "sure (80% and up)", fair: "fair (50–80%)", poor: "unsure (under 50%)",
    hint: "Point at a word to see its attention. Click to pin it.",
    readout: (head, named, more) => `${head} ${named}${more && ` (${more})`}`,
    looks: (word) => `“${word}” attends to`, seen: (word) => `“${word}” is attended to by`, nothing: "nothing",
    chance: (value) => `probability ${value}`, unknown: "unknown word",
    pair: (query, key, value) => `“${query}” attends to “${key}”: ${value}`,
    why: "Why?", whyMore: "explanation methods, search steps and attention maps",
    map: "Attention map", kind: "Attention", layer: "Layer", head: "Head", end: "End symbol </s>", join: "Merge heads by", share: "Strongest",
    alignment: "Alignment", cross: "Translation → source", encoder: "Inside the source", decoder: "Inside the translation",
    all: "All", some: "Some", average: "Average", strongest: "Maximum", rollout: "Rollout",
    headOf: (layer, head) => `Layer ${layer}, head ${head}`,
    method: "Explained by", reasons: "Why this word", pickWord: "Click a translated word to compare the methods here.",
    methodNames: { attention: "Attention", attention_rollout: "Attention rollout", gradient_times_input: "Gradient × input", integrated_gradients: "Integrated gradients",
      lrp: "LRP", occlusion: "Occlusion", saliency: "Saliency", smoothgrad: "SmoothGrad" },
    weighing: "Computing the other methods …", unweighed: "The other methods have no result for this text.",
    reasonsOf: (word) => `Relevance of each source word to “${word}”; negative: against it.`,
    fromSource: "From the source", fromWritten: "From the preceding words",
    origin: (method) => `Bar under a word: the coloured part comes from the source, the rest from the preceding target words (${method}).`,
    originOf: (source, written) => `${source} from the source, ${written} from the preceding words`,
    graded: (count, best, lines) => `${best} is the most faithful of these ${count} methods: it predicts best what removing a word does (${lines} sentences).`,
    gradedByChance: (count, best, lines) => `${best} is the most faithful of these ${count} methods, but not better than chance (${lines} sentences).`,
    thisModel: "this model", probability: "Probability",
    taught: "Training pairs behind this word", pickTaught: "Click a translated word to list its training pairs here.",
    taughtBy: (word) => `Training pairs of “${word}”, strongest evidence first.`, taughtNone: (word) => `No training pair has “${word}” beside a word that it translates here.`,
    taughtLink: (link, context) => `linked ${link} · context ${context}`, taughtSource: (context) => `its source word alone · context ${context}`,
    taughtContext: (context) => `not linked · context ${context}`,
    taughtNear: (word) => `No training pair has “${word}” beside a word that it translates here. These have it in the most similar contexts.`,
    taughtWithout: (word) => `No training pair has “${word}”. These have its source word in the most similar contexts.`,
    dropPair: "Drop", mendPair: "Correct", mendedTarget: "Corrected translation", saveCorrections: (count) => `Download the corrections (${count})`,
    mendCommand: "To write corrected copies of the files:",
    search: "Search steps", showSearch: "Show the beam", searchTip: "Probability of the piece and cumulative score of the hypothesis; after =, final score",
    searchNote: "The output piece by piece. Open a step to see the other hypotheses of the beam and the best pruned ones.",
    searchCut: "Later steps are not recorded: the tree is too large.", unsearched: "The search of this model has no steps to show.",
    wentNoFurther: "not extended", others: (count) => `${count} ${count === 1 ? "other" : "others"}`, fates: { kept: "kept", dropped: "pruned", ended: "finished" },
    ungraded: "Faithfulness of these methods is not measured for this model. To measure it: regard explain RUN --grade",
    caption: (rows, columns) => `Rows: words of the ${rows.toLowerCase()}. Columns: words of the ${columns.toLowerCase()} that they attend to. Stronger colour: higher weight.`,
    noShares: "These weights do not sum to one.", full: (most) => `Full colour: ${most}.`, below: "Orange with a bar or dashes: negative.",
    table: "Table of weights", large: "This map is too large for a full table. Here are the five highest weights of each word.",
    most: (rank) => `No. ${rank}`,
    overview: "Every layer and head", tiles: "Click to add or remove a head. Double-click or Shift+Enter: show it alone.",
    candidates: "Choose a translation", flags: "Check these words", more: (count) => `${count} more …`,
    flagKinds: { repeated: "repeated", untranslated: "copied from the source", unattended: "hardly attended to", unsure: "unsure", number: "number differs from the source",
      unknown: "unknown word", unfinished: "cut off at the length limit", dropped: "not translated", invented: "not supported by the source", name: "this name is missing" },
    ofSource: (word) => `linked to “${word}”`, usually: (word) => `usually “${word}”`,
    mostlyUntranslated: "Most of this is not translated: the words are unknown to the model.",
    mostlyUnsure: "The model is unsure of most of this translation: do not rely on it.",
    mostlySkipped: "Most of the source is hardly attended to: parts of it are probably missing.",
    mostlyUnread: "The model does not know most of these characters: do not rely on this translation.",
    none: "This translation has no attention weights.", loading: "Computing the explanation …",
    savePicture: (kind) => `Plot (${kind})`, saveWords: (kind) => `Words (${kind})`, saveNumbers: (kind) => `Numbers (${kind})`,
    saveAll: (kind) => `All data (${kind})`, savePage: (kind) => `Stand-alone page (${kind})`,
    save: "Download", only: (share) => `strongest ${share}%`,
    columnNames: { text: "Text", label: "Label", tags: "Tags", first: "First text", second: "Second text", passage: "Passage", question: "Question",
      answer: "Answer", sentences: "Sentences", given: "Given", wanted: "Answer", steps: "Steps", slots: "Memory slots" },
    answer: "Answer", moreLabels: (count) => `${count} more`,
    unread: (column) => `${column}: all words are unknown to the model, so the answer does not rest on them.`, nothingGiven: "The text is empty: the answer reflects label frequencies only.",
    lookedMost: (list) => `Highest attention: ${list}`,
    restsMost: (list) => `Highest relevance: ${list}`, restsTip: "Stronger colour: more relevant to the answer; orange: against it.",
    labelReasons: (label) => `Relevance of each word to “${label}”; negative: against it.`,
    looksTip: "Stronger colour: higher attention weight.", lookedAt: "Attention",
  },
  zh: {
    name: "中文", tag: "zh-CN",
    words: "逐词对照", unit: "显示单位", unitWords: "词", unitPieces: "子词", across: "排列方式", lines: "横排", columns: "竖排",
    source: "原文", target: "译文", score: (value) => `置信度 ${value}`,
    scoreTip: "置信度：生成的各子词概率的平均值，未经校准",
    scoreMeans: "（模型自己的估计，并非保证）", calibratedMeans: "（预计译对的词所占的比例）",
    calibratedTip: "校准后的置信度：预计人工译文也会采用的词所占的比例",
    calibratedLabels: "已校准：标为 80% 的答案，十个中有八个正确", uncalibratedLabels: "模型自己的判断，未经校准（regard calibrate RUN）",
    unfinished: "因长度上限被截断",
    confidence: "每个词的置信度",
    sure: "置信度高（80% 以上）", fair: "一般（50–80%）", poor: "置信度低（低于 50%）",
    hint: "将鼠标移到词上，查看它关注了哪些词；点击可固定。",
    readout: (head, named, more) => `${head}${named}${more && `（${more}）`}`,
    looks: (word) => `“${word}”关注：`, seen: (word) => `关注“${word}”的有：`, nothing: "无",
    chance: (value) => `概率 ${value}`, unknown: "未登录词（OOV）",
    pair: (query, key, value) => `“${query}”对“${key}”的关注：${value}`,
    why: "为什么这样译？", whyMore: "解释方法、搜索过程和注意力图",
    map: "注意力分布", kind: "注意力", layer: "层", head: "头", end: "结束符 </s>", join: "合并方式", share: "最强部分",
    alignment: "对齐", cross: "译文 → 原文", encoder: "原文内部", decoder: "译文内部",
    all: "全部", some: "部分", average: "平均", strongest: "最大值", rollout: "注意力展开（rollout）",
    headOf: (layer, head) => `第 ${layer} 层，第 ${head} 头`,
    method: "解释方法", reasons: "为什么是这个词", pickWord: "点击译文中的词，在这里比较各种方法的结果。",
    methodNames: { attention: "注意力", attention_rollout: "注意力展开（rollout）", gradient_times_input: "梯度 × 输入", integrated_gradients: "积分梯度",
      lrp: "LRP", occlusion: "遮挡", saliency: "显著性", smoothgrad: "SmoothGrad" },
    weighing: "正在计算其他方法……", unweighed: "其他方法未能解释这段文字。",
    reasonsOf: (word) => `原文各词对“${word}”的支持程度；小于零表示不支持。`,
    fromSource: "来自原文", fromWritten: "来自已写的词",
    origin: (method) => `词下的横条：有色部分来自原文，其余来自之前已写的词（${method}）。`,
    originOf: (source, written) => `${source} 来自原文，${written} 来自已写的词`,
    graded: (count, best, lines) => `在这 ${count} 种方法中，${best}最能预测去掉一个词会怎样（在 ${lines} 个句子上测得）。`,
    gradedByChance: (count, best, lines) => `在这 ${count} 种方法中，${best}最能预测去掉一个词会怎样，但不比随机更好（在 ${lines} 个句子上测得）。`,
    thisModel: "本模型", probability: "概率",
    taught: "这个词学自哪些训练句对", pickTaught: "点击译文中的词，这里会显示它学自哪些训练句对。",
    taughtBy: (word) => `“${word}”学自以下句对，证据最强的在前。`, taughtNone: (word) => `没有训练句对同时含有“${word}”和它在这里所译的词。`,
    taughtLink: (link, context) => `对齐概率 ${link} · 上下文相似度 ${context}`, taughtSource: (context) => `仅含对应的原文词 · 上下文相似度 ${context}`,
    taughtContext: (context) => `未对齐 · 上下文相似度 ${context}`,
    taughtNear: (word) => `没有训练句对同时含有“${word}”和它在这里所译的词。以下句对含有该词，且上下文最相似。`,
    taughtWithout: (word) => `没有训练句对含有“${word}”。以下句对含有对应的原文词，且上下文最相似。`,
    dropPair: "删除", mendPair: "修改", mendedTarget: "修改后的译文", saveCorrections: (count) => `下载清单（${count}）`,
    mendCommand: "生成不含这些错误的文本副本：",
    search: "搜索过程", showSearch: "查看束搜索过程", searchTip: "此子词的概率，以及该步据以选择的累计分数；等号后是整个答案的排序分数",
    searchNote: "逐个子词显示答案。展开一步，可看到搜索当时还保留了什么，以及舍弃的最佳候选。",
    searchCut: "后面的步骤未记录：树太大。", unsearched: "此模型的搜索没有可显示的步骤。",
    wentNoFurther: "到此为止", others: (count) => `另有 ${count} 个`, fates: { kept: "保留", dropped: "舍弃", ended: "结束" },
    ungraded: "尚未测量这些方法对此模型是否可信：可用 regard explain RUN --grade 测量。",
    caption: (rows, columns) => `每行是${rows}的一个词，每列是它关注的${columns}词；颜色越鲜明，权重越大。`,
    noShares: "这些权重之和不为 1。", full: (most) => `最深色：${most}。`, below: "橙色加横线或虚线：小于零。",
    table: "数值表格", large: "此图过大，无法全部列出；下面是每个词最关注的五个词。",
    most: (rank) => `第 ${rank} 位`,
    overview: "各层各头", tiles: "点击可加入或移除一个头；双击或按 Shift+Enter 只看这个头。",
    candidates: "可选译文", flags: "值得留意", more: (count) => `还有 ${count} 处……`,
    flagKinds: { repeated: "重复", untranslated: "照抄原文", unattended: "几乎未被关注", unsure: "置信度低", number: "与原文的数字不同",
      unknown: "未登录词（OOV）", unfinished: "因长度上限被截断", dropped: "没有译出", invented: "疑似凭空添加", name: "缺少这个名称" },
    ofSource: (word) => `对应“${word}”`, usually: (word) => `通常译作“${word}”`,
    mostlyUntranslated: "大部分内容没有翻译：模型不认识这些词。",
    mostlyUnsure: "这段译文大部分置信度低，请勿依赖。",
    mostlySkipped: "模型几乎没有关注大部分原文，译文很可能有遗漏。",
    mostlyUnread: "模型不认识其中大部分字符，请勿依赖这段译文。",
    none: "此译文没有注意力数据。", loading: "正在计算解释……",
    savePicture: (kind) => `关注图（${kind}）`, saveWords: (kind) => `词语图（${kind}）`, saveNumbers: (kind) => `数值（${kind}）`,
    saveAll: (kind) => `全部数据（${kind}）`, savePage: (kind) => `独立网页（${kind}）`,
    save: "下载", only: (share) => `最强的 ${share}%`,
    columnNames: { text: "文本", label: "标签", tags: "标注", first: "第一段文本", second: "第二段文本", passage: "短文", question: "问题",
      answer: "答案", sentences: "句子", given: "输入", wanted: "答案", steps: "步骤", slots: "记忆单元" },
    answer: "答案", moreLabels: (count) => `还有 ${count} 个`,
    unread: (column) => `${column}：模型不认识其中任何词，答案并非据此得出。`, nothingGiven: "文本为空：答案只反映哪些标签常见。",
    lookedMost: (list) => `最关注：${list}`,
    restsMost: (list) => `最支持此答案：${list}`, restsTip: "颜色越鲜明，该词越支持此答案；橙色表示不支持。",
    labelReasons: (label) => `各词对“${label}”的支持程度；小于零表示不支持。`,
    looksTip: "颜色越鲜明，模型对该词的关注越多。", lookedAt: "注意力分布",
  },
};

// Names for texts without a source, of language models.
export const ALONE = {
  en: {
    target: "Text", decoder: "Inside the text", candidates: "Choose a continuation", none: "This text has no attention weights.",
    mostlyUnsure: "The model is unsure of most of this text: do not rely on it.",
  },
  zh: {
    target: "文本", why: "为什么这样写？", decoder: "文本内部", candidates: "可选续写", none: "此文本没有注意力数据。",
    mostlyUnsure: "这段文本大部分置信度低，请勿依赖。",
  },
};

// Other words in the view of labels, tags and the like.
const rowsAndColumns = (rows, columns) => `Rows: ${rows.toLowerCase()}. Columns: ${columns.toLowerCase()}, which they attend to. Stronger colour: higher weight.`;
export const ANSWERED = {
  en: {
    source: "Given", target: "Answer", alignment: "Answer → given", candidates: "Choose an answer", none: "This model does not read single words.", caption: rowsAndColumns,
    mostlyUnread: "The model does not know most of these characters: do not rely on this answer.",
  },
  zh: {
    source: "输入", target: "答案", why: "为什么是这个答案？", alignment: "答案 → 输入", candidates: "可选答案", none: "此模型不逐词读取文本。",
    mostlyUnread: "模型不认识其中大部分字符，请勿依赖此答案。",
    caption: (rows, columns) => `行：${rows}；列：${columns}，即行所关注的对象。颜色越鲜明，权重越大。`,
  },
};

// Other words for methods other than attention.
export const WEIGHED = {
  en: {
    looks: (word) => `“${word}” rests on`, seen: (word) => `“${word}” supports`,
    pair: (query, key, value) => `“${query}” rests on “${key}”: ${value}`,
    caption: (rows, columns) => `Rows: words of the ${rows.toLowerCase()}. Columns: words of the ${columns.toLowerCase()} that support them. Stronger colour: more relevant.`,
  },
  zh: {
    looks: (word) => `“${word}”的依据：`, seen: (word) => `“${word}”支持：`,
    pair: (query, key, value) => `“${query}”以“${key}”为依据：${value}`,
    caption: (rows, columns) => `每行是${rows}的一个词，每列是支持它的${columns}词；颜色越鲜明，支持越大。`,
  },
};

// Name of a side or a column; a learned query has the answer's.
export function sideName(t, side) {
  if (["", "source", "target"].includes(side)) return t(side || "target");
  return t("columnNames")[side] ?? side;
}

// Function from keys to texts of a language; `more` has texts of the page around the viewer, by language.
export function speaker(language, more = {}) {
  const texts = { ...STRINGS[language], ...more[language] };
  return (key, ...values) => (typeof texts[key] === "function" ? texts[key](...values) : texts[key]);
}

export function languages() {
  return Object.keys(STRINGS);
}
