// The texts of the page in Chinese, by patterns.
const UNITS = {
  sentences: "句子", examples: "样本", questions: "问题", pairs: "文本对", lines: "行", texts: "文本", grids: "图格", sequences: "序列",
};
const unit = (name) => UNITS[name] ?? name;
const LENGTHS = {
  source: "原文", text: "文本", line: "行", passage: "文章", story: "故事", document: "文档", sentence: "句子",
  "first text": "第一段文本", "first sentence": "第一句",
};
const length = (name) => `${LENGTHS[name.replace(/^\w+ of the /, "")] ?? name}长度`;
const others = (text) => text.replace(/^other (\w+)(?: and other (seeds|folds))?$/, (_, name, more) => `其他${unit(name)}${more ? `和其他${more === "seeds" ? "随机种子" : "折"}` : ""}`);
const SEEDS = "未包含随机种子带来的方差。";
const CORE = { "core s": "核秒", s: "秒" };
const PHRASES = [
  [/^Comparison of (.*)$/, (names) => `对比：${names}`],
  [/^Result$/, () => "结果"], [/^What was published$/, () => "已发表的结果"], [/^Learning$/, () => "学习曲线"], [/^By length$/, () => "按长度"],
  [/^What differs$/, () => "不同的设置"], [/^Every run$/, () => "全部运行"], [/^Runs that failed$/, () => "失败的运行"], [/^How it was made$/, () => "生成方式"],
  [/^([\d,]+) runs$/, (count) => `${count} 次运行`],
  [/^(.*): difference to (.*) by (\w+ of the [\w ]+)$/, (metric, base, by) => `${metric}：按${length(by)}与 ${base} 的差值`],
  [/^(\w+ of the [\w ]+) \((\w+)\)$/, (by, name) => `${length(by)}（${unit(name)}数）`],
  [/^(.*) by (\w+ of the [\w ]+) \((\w+)\)$/, (metric, by, name) => `${metric}：按${length(by)}（${unit(name)}数）`],
  [/^system$/, () => "系统"], [/^runs$/, () => "运行次数"], [/^run$/, () => "运行"], [/^parameters$/, () => "参数量"], [/^updates$/, () => "更新步数"],
  [/^setting$/, () => "设置"], [/^words$/, () => "词数"], [/^published$/, () => "已发表"], [/^paper$/, () => "论文"],
  [/^core minutes$/, () => "核分钟"], [/^minutes$/, () => "分钟"],
  [/^train (tokens|words)\/(core s|s)$/, (what, time) => `训练${what === "tokens" ? "词元" : "词"}/${CORE[time]}`],
  [/^decode (\w+)\/(core s|s)$/, (what, time) => `解码${unit(what)}/${CORE[time]}`],
  [/^(\w+) (\w+)\/(core s|s)$/, (verb, what, time) => `处理${unit(what)}/${CORE[time]}`],
  [/^over ([\d,]+) \(([\d,]+)\) less the rest \(([\d,]+)\)$/, (words, longer, shorter) => `超过 ${words} 词（${longer}）减其余（${shorter}）`],
  [/^([\d.]+) to ([\d.]+)$/, (low, high) => `${low} 至 ${high}`],
  [/^([-+\d.]+) \(([-+\d.]+) to ([-+\d.]+)\)$/, (mean, low, high) => `${mean}（${low} 至 ${high}）`],
  [/^([-+\d.]+) \(([-+\d.]+) to ([-+\d.]+)\), p = (\S+)$/, (mean, low, high, p) => `${mean}（${low} 至 ${high}），p = ${p}`],
  [/^difference ([-+\d.]+) \(95 %: ([-+\d.]+) to ([-+\d.]+)\), p = (\S+)$/, (mean, low, high, p) => `差值 ${mean}（95%：${low} 至 ${high}），p = ${p}`],
  [/^(.*) on the dev set$/, (metric) => `开发集 ${metric}`],
  [/^(.*): update ([\d,]+): (\S+)$/, (name, update, value) => `${name}：第 ${update} 步：${value}`],
  [/^(.*): (\S+) words: (.*)$/, (name, words, value) => `${name}：${words} 词：${value}`],
  [/^In parentheses: the 95 % interval, over (other [\w ]+)\.( .*)?$/, (over, seeds) => `括号内为 95% 区间，针对${others(over)}。${seeds ? SEEDS : ""}`],
  [/^The system less (.*), with the 95 % interval \(paired bootstrap\)\. .*?(?: of more than ([\d,]+) words)? less that on the rest.*the lead depends on length\.( .*)?$/,
    (base, words, seeds) => `系统减去 ${base} 的差值及 95% 区间（配对自助法）。最后一列：较长部分${words ? `（超过 ${words} 词）` : ""}的差值减去其余部分的差值，两部分分别重采样；区间不含零表示优势与长度有关。${seeds ? SEEDS : ""}`],
  [/^([\d,]+) (\w+) of (the test set|([\d,]+) folds, each of which is a test set); one training of each system\. 95 %: over (other [\w ]+) alone \(bootstrap\)\.$/,
    (count, name, _, folds, over) => `${folds ? `${folds} 折（每折各为一个测试集）` : "测试集"}共 ${count} 个${unit(name)}；每个系统训练一次。95%：仅针对${others(over)}（自助法）。`],
  [/^([\d,]+) (\w+) of (the test set|([\d,]+) folds, each of which is a test set)\. Mean ± standard deviation over the (seeds|folds); 95 %: of that mean, over (other [\w ]+) \(bootstrap\)\.$/,
    (count, name, _, folds, over, resampled) => `${folds ? `${folds} 折（每折各为一个测试集）` : "测试集"}共 ${count} 个${unit(name)}。均值 ± 标准差针对各${over === "seeds" ? "随机种子" : "折"}；95% 为该均值针对${others(resampled)}的区间（自助法）。`],
  [/^bag of words$/, () => "词袋"], [/^A bag of words on the same texts$/, () => "同样文本上的词袋模型"],
  [/^difference \((.*)\)$/, (metric) => `差值（${metric}）`],
  [/^Logistic regression on the log-count ratios of naive Bayes, .*$/, () => "对词和词对的朴素贝叶斯对数计数比做逻辑回归（NBSVM）；差值为系统减词袋模型，附 95% 区间（配对自助法）。"],
  [/^McNemar p$/, () => "McNemar p"], [/^Wilcoxon p$/, () => "Wilcoxon p"],
  [/^McNemar p: .*$/, () => "McNemar p：McNemar 精确检验，比较只有一方答对的样本，双侧。"],
  [/^Wilcoxon p: .* over the (\w+), two-sided; .* at least (.*)\.$/,
    (over, least) => `Wilcoxon p：对各${over === "folds" ? "折" : "随机种子"}的 Wilcoxon 符号秩精确检验，双侧；按此数目 p 至少为 ${least}。`],
  [/^p: probability that (other [\w ]+) reverse or remove the difference to (.*) \(paired bootstrap, two-sided\)\. .*$/,
    (over, base) => `p：换用${others(over)}时，与 ${base} 的差值消失或反转的概率（配对自助法，双侧）。每个 p 只针对一次比较，未按比较次数校正。`],
  [/^Intervals and p(?: of (.*), trained once,)? do not include the variance over seeds: .*$/,
    (names) => `${names ? `只训练一次的 ${names} 的` : ""}区间与 p ${SEEDS}同一系统换种子训练，结果也可能不同。`],
  [/^Tokens are pieces of a system's own tokenizer on the target, .*$/, () => "词元按各系统自己的分词器在译文上计数，含句末符号；词对所有系统统一计数：词元数除以该系统在测试集上每词的词元数。"],
  [/^Core minutes are processor time of training, .*$/, () => "核分钟为训练（含验证）的处理器时间，各线程合计。速度按处理器时间的每秒计，训练速度不含验证，取日志中位数；停顿和其他负载不计入。"],
  [/^Minutes are wall time of training, .*$/, () => "分钟为训练的实际时间，含验证和停顿；速度用同一时钟。"],
  [/^([\d to]+) trainings ran at once: .*$/, (count) => `同时进行 ${count.replace(" to ", " 至 ")} 个训练：其实际时间来自共享的机器。`],
  [/^The runs answered the test set one after another, with (\d+) threads?\.$/, (count) => `各运行依次解答测试集，使用 ${count} 个线程。`],
  [/^No run of (.*) has a result: the others are compared with (.*) instead\.$/, (base, other) => `${base} 没有任何运行得出结果：改与 ${other} 比较。`],
  [/^Coloured: better or worse than (.*) with p < ([\d.]+)(?: over other (\w+) alone)?; pointed at: the difference\.$/,
    (base, p, name) => `着色表示${name ? `仅就其他${unit(name)}而言` : ""}以 p < ${p} 优于或劣于 ${base}；指向单元格可看差值。`],
  [/^(.*): no difference is given for a system with another tokenizer than (.*): .*$/, (metric, base) => `${metric}：分词器与 ${base} 不同的系统不给出差值：词元越长该值越高，与模型能力无关。`],
];
