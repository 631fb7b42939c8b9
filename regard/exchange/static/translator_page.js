// A translator in one page: translates while text is typed, and shows why.
const { Viewer } = $viewer, { connectSettings, tellAll } = $settings, { speaker } = $strings, { element } = $elements;

const TEXTS = {
  en: {
    theme: { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
    source: "Text", result: "Translation", hint: "Type or paste text; each line is translated by itself.", copy: "Copy", copied: "Copied",
    opening: "The translator is being opened …", ready: "Works offline: no text leaves this page.", why: "Why these words?",
    pick: "Choose a sentence to see which words it comes from.", long: (most) => `too long: at most ${most} pieces`,
    failed: (why) => `The translator cannot run here: ${why}`, cut: "cut off at the length limit",
  },
  zh: {
    theme: { auto: "主题：跟随系统", light: "主题：浅色", dark: "主题：深色" },
    source: "原文", result: "译文", hint: "输入或粘贴文本，每行单独翻译。", copy: "复制", copied: "已复制",
    opening: "正在打开翻译模型……", ready: "离线可用：文本不会离开本页。", why: "为什么这样译？",
    pick: "选择一个句子，查看它的词来自原文何处。", long: (most) => `过长：最多 ${most} 个子词`,
    failed: (why) => `翻译模型无法在此运行：${why}`, cut: "在长度上限处截断",
  },
};
const PAUSE = 120; // milliseconds without a key before text is translated
const SPACE = "\u2581", END = "</s>";
const byId = (id) => document.getElementById(id);
const embedded = (id) => Uint8Array.from(atob(byId(id).textContent), (character) => character.charCodeAt(0));

class PageTranslator {
  static async open() {
    const settings = JSON.parse(byId("settings").textContent), tables = JSON.parse(byId("pieces").textContent);
    const made = new PageTranslator();
    made.engine = await WasmEngine.open(embedded("engine"), settings, embedded("weights"));
    [made.source, made.target] = [settings.source, settings.target].map((name) => Regard.pieceTable(tables[name]));
    made.settings = settings;
    made.kept = new Map(); // of sentences: typing changes one line
    return made;
  }

  // Return the translation of a line as the viewer reads it; null of an empty one. Throws RangeError for one that is too long.
  line(text) {
    if (!text.trim()) return null;
    if (!this.kept.has(text)) this.kept.set(text, this.answer(text));
    return this.kept.get(text);
  }

  answer(text) {
    const { max_source: most, shape } = this.settings, ids = [...this.source.encode(text), shape.end];
    if (ids.length > most) throw new RangeError(String(most - 1));
    const [best] = this.engine.translate([ids], this.target.first);
    return { answers: "text", source: text, text: this.target.decode(best.ids), ids: [ids, best.ids], score: best.score, finished: best.finished,
      log_probs: best.logProbs, alternatives: [], flags: [], explanation: null };
  }

  // The same with the weights of each word over the source.
  explained(prediction) {
    if (prediction.explanation) return prediction;
    const [source, target] = prediction.ids, { logProbs, weights } = this.engine.force(source, target);
    const tokens = (table, ids) => [...ids.map((one) => table.listed[one]), END];
    const [read, written] = [tokens(this.source, source.slice(0, -1)), tokens(this.target, target)];
    return Object.assign(prediction, { log_probs: logProbs, explanation: {
      source_tokens: read, target_tokens: written, source_words: words(read, this.source), target_words: words(written, this.target),
      alignment: written.map((_, row) => [weights[row].indexOf(Math.max(...weights[row])), row]), weights, shares: true, maps: [] } });
  }
}

// Words of pieces: [{text, pieces: [position]}].
function words(pieces, { kind }) {
  const found = [];
  const begins = { words: () => true, characters: (piece) => piece === " " };
  pieces.forEach((piece, at) => {
    const first = piece === END || !found.length || (begins[kind] ?? ((one) => one.startsWith(SPACE)))(piece);
    if (first) found.push({ text: "", pieces: [] });
    const text = kind === "words" || kind === "characters" ? piece.trim() : piece.replaceAll(SPACE, "");
    found.at(-1).text += text;
    found.at(-1).pieces.push(at);
  });
  return found.filter(({ text }) => text);
}

const viewer = new Viewer(byId("viewer"), { open: true });
let t = speaker("en", TEXTS), translator = null, timer = 0, chosen = null, status = () => t("opening");

function speak(language) {
  t = speaker(language, TEXTS);
  tellAll(t);
  viewer.speak(language);
  byId("status").textContent = status();
  draw();
}

function draw() {
  const lines = translator ? byId("text").value.split("\n") : [];
  const rows = lines.map((line) => {
    try {
      return translator.line(line);
    } catch (error) {
      if (error instanceof RangeError) return t("long", error.message);
      status = () => t("failed", error.message);
      return null;
    }
  });
  byId("result").replaceChildren(...rows.map((row) => {
    if (row === null) return element("p", {}, "\u00a0");
    if (typeof row === "string") return element("p", { class: "quiet" }, row);
    const made = element("button", { type: "button", dir: "auto", "aria-pressed": String(row === chosen), title: row.finished ? null : t("cut") }, row.text);
    made.addEventListener("click", () => show(row));
    return element("p", {}, made);
  }));
  byId("status").textContent = status();
  if (chosen && !rows.includes(chosen)) show(rows.find((row) => row?.ids) ?? null);
  else if (!chosen) show(rows.find((row) => row?.ids) ?? null);
}

// Show why the words of a line were chosen; null: of none.
function show(row) {
  if (row === chosen) return;
  chosen = row;
  byId("why").hidden = !row;
  if (row) viewer.show(translator.explained(row));
  for (const one of byId("result").querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.textContent === row?.text));
}

byId("text").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(draw, PAUSE);
});
byId("copy").addEventListener("click", async () => {
  const text = [...byId("result").children].map((line) => line.textContent.replaceAll("\u00a0", "")).join("\n");
  await navigator.clipboard?.writeText(text);
  byId("copy").textContent = t("copied");
  setTimeout(() => { byId("copy").textContent = t("copy"); }, 1500);
});
speak(connectSettings(byId("language"), byId("theme"), TEXTS, speak));
PageTranslator.open().then((opened) => {
  translator = opened;
  status = () => t("ready");
  draw();
}, (error) => {
  status = () => t("failed", error.message);
  byId("status").textContent = status();
});
if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("worker.js");
