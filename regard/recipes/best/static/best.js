// The texts of the page in Chinese.
const STEPS = {
  "networks so far, writing together": "现有的各个网络共同译出", "phrases whose best translations the network reranks": "由网络对短语模型的最佳译文重排序", "translations that network and phrases agree on most": "网络与短语模型意见最一致的译文",
  "trained on the pairs, and on what phrases translate where these are few": "用句对训练；句对较少时也学习短语模型的译文",
  "network that also learnt source text as the best so far translates it": "另外学习目前最佳模型所译原文的网络",
  "network that also learnt target text, translated back and tagged": "另外学习带标记的回译目标语文本的网络",
  "network that also learnt the training sources as networks translate them": "另外学习各网络所译训练原文的网络",
  "one fast network that learnt what the best combination writes": "从最佳组合的译文蒸馏出的单个快速网络",
  "a phrase table, counted on the pairs and tuned on the dev set": "由句对统计、在开发集上调参的短语表",
  "phrases and n-grams also of text that phrases translated back": "另外用回译文本统计的短语与 n 元模型",
};
const SIDES = { source: "源语言", target: "目标语言", translator: "翻译模型", phrases: "短语模型", network: "网络" };
const PHRASES = [
  [/^The best translator of (.*), ([\d.]+) of ([\d.]+) minutes$/, (files, spent, all) => `${files.replaceAll(" and ", "、")} 的最佳翻译模型（已用 ${spent} / ${all} 分钟）`],
  [/^best: (\S+), ([\d.]+) BLEU on the dev text$/, (step, bleu) => `最佳：${step}，开发集 BLEU ${bleu}`],
  [/^step$/, () => "步骤"], [/^dev BLEU$/, () => "开发集 BLEU"], [/^difference$/, () => "差值"], [/^minutes$/, () => "分钟"],
  [/^against$/, () => "对比对象"], [/^outcome$/, () => "结果"],
  [/^the best so far$/, () => "目前最佳"], [/^dropped: no sure gain$/, () => "舍弃：无显著提升"], [/^kept$/, () => "保留"],
  [/^kept, as the first of its kind$/, () => "保留：同类中的第一个"],
  [/^translate with: (.*)$/, (command) => `翻译命令：${command}`],
  [/^one fast network for many requests: (.*) \(([-+\d.]+) BLEU\)$/, (run, lost) => `适合大量请求的单个快速网络：${run}（${lost} BLEU）`],
  [/^more time: (.*) gained ([\d.]+) dev BLEU in the last third of its training$/, (step, gain) => `增加时间：${step} 在训练的最后三分之一仍提升了 ${gain} 开发集 BLEU`],
  [/^more time: (.*) had none \(the same command with a larger --minutes goes on\)$/, (steps) => `增加时间：${steps} 没有时间执行（加大 --minutes 后用同一命令继续）`],
  [/^more text: steps that read text of the (source|target) language had none \((.*)\)$/, (side, option) => `增加文本：使用${SIDES[side]}单语文本的步骤没有文本（${option}）`],
  [/^forecast, without further text: (.*) ([\d.]+) dev BLEU \(80 %: ([\d.]+) to ([\d.]+)\)$/, (road, middle, low, high) => `预测（不含更多文本）：${road} 开发集 BLEU ${middle}（80% 区间：${low}–${high}）`],
  [/^forecast: none, (.*)$/, (why) => `无法预测：${why}`],
  [/^more pairs: (.*) BLEU \(forecast\)$/, (gains) => `增加句对：${gains.replaceAll(" more ", " 对 ")} BLEU（预测）`],
  [/^no --text-(source|target) was given$/, (side) => `未给出 --text-${side}`],
  [/^no network is trained, phrases have its time: too little time was left: (.*)$/, (why) => `不训练网络，其时间归短语模型：剩余时间不足：${why}`],
  [/^too little time was left$/, () => "剩余时间不足"], [/^too little time was left: (.*)$/, (why) => `剩余时间不足：${why}`],
  [/^not one line was translated in its time$/, () => "在所分时间内一行也未译完"], [/^there is one network alone$/, () => "只有一个网络"],
  [/^there is no (\w+) to begin with$/, (family) => `没有可用的${SIDES[family] ?? family}`],
  [/^nothing is better since the last combination$/, () => "自上次组合以来没有改进"], [/^the best is one translator already$/, () => "最佳者已是单个模型"],
  [/^no weight of (\S+) makes (\S+) better$/, (network, phrases) => `${network} 取任何权重都不能改进 ${phrases}`],
  [/^failed: (.*)$/, (why) => `失败：${why}`],
  [/^(\w+): ([^()]+?)(?: \((.*)\))?$/, (step, about, note) => `${step}：${STEPS[about] ?? about}${note ? `（${note}）` : ""}`],
];
$phrases.connectPhrases(PHRASES);
