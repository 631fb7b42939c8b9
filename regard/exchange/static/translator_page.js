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
const PAUSE = 60; // milliseconds without a key before text is translated
const LATE = 250; // milliseconds after which a search that nobody wants any more is ended with its worker
const MOST_KEPT = 1000; // lines whose translations are kept: typing changes one line
const byId = (id) => document.getElementById(id);

// The search in a worker of its own, or beside the page where the browser allows none from a file.
class Searcher {
  constructor(heard) {
    this.heard = heard;
    this.program = URL.createObjectURL(new Blob([`(${search})(self)`], { type: "text/javascript" }));
    this.jobs = []; // without an answer
    this.begin();
  }

  begin() {
    this.ready = false;
    this.running = null; // the job that the open worker searches
    try {
      this.worker = new Worker(this.program);
    } catch {
      const { port1, port2 } = new MessageChannel();
      search(port2);
      this.worker = port1;
    }
    this.worker.onmessage = ({ data }) => {
      clearTimeout(this.timer);
      this.ready ||= Boolean(data.ready);
      this.jobs = this.jobs.filter((job) => !Searcher.isSame(job, data));
      this.running = this.ready ? this.jobs[0] : null;
      this.heard(data);
    };
    this.worker.onerror = (event) => this.heard({ fault: event.message });
    const parts = ["settings", "pieces", "engine", "weights"];
    this.worker.postMessage({ open: Object.fromEntries(parts.map((id) => [id, byId(id).textContent])) });
  }

  static isSame(job, other) {
    return job.text === other.text && !job.ids === !other.ids;
  }

  // Replace what is searched. A line is searched without a break: where it is not wanted any more and takes too long, its worker ends.
  ask(jobs) {
    this.jobs = jobs;
    this.worker.postMessage(jobs);
    clearTimeout(this.timer);
    if (this.ready) this.running ??= jobs[0];
    const unwanted = this.running && !jobs.some((job) => Searcher.isSame(job, this.running));
    if (unwanted && this.worker.terminate) this.timer = setTimeout(() => this.restart(), LATE);
  }

  restart() {
    this.worker.terminate();
    this.begin();
    this.worker.postMessage(this.jobs);
  }
}

const viewer = new Viewer(byId("viewer"), { open: true });
const kept = new Map(); // of lines: {row}, {most} or {fault}
const NOTHING = {}; // the answer to an empty line
let t = speaker("en", TEXTS), timer = 0, frame = 0, shown = [], chosen = null, status = () => t("opening");

function heard({ ready, text, ids, explanation, ...answer }) {
  if (ready) status = () => t("ready");
  else if (answer.fault) status = () => t("failed", answer.fault);
  if (ids && explanation) {
    const { row } = kept.get(text) ?? {};
    if (row) row.explanation = explanation;
    if (row && row === chosen) viewer.show(row);
  } else if (text !== undefined && !ids) {
    kept.set(text, answer);
  }
  frame ||= requestAnimationFrame(draw);
}

const searcher = new Searcher(heard);
const lines = () => byId("text").value.split("\n");
const missing = (text) => text.trim() && !kept.has(text);

// Ask for what is not there yet: lines, and why the words of the chosen one were chosen.
function ask() {
  const now = new Set(lines());
  for (const text of kept.keys()) if (kept.size > MOST_KEPT && !now.has(text)) kept.delete(text);
  const jobs = [...now].filter(missing).map((text) => ({ text }));
  if (chosen && !chosen.explanation) jobs.push({ text: chosen.source, ids: chosen.ids });
  searcher.ask(jobs);
}

function speak(language) {
  t = speaker(language, TEXTS);
  tellAll(t);
  viewer.speak(language);
  shown = [];
  byId("result").replaceChildren();
  draw();
}

// Draw what has changed. A line has its last translation until the new one is there.
function draw() {
  frame = 0;
  const result = byId("result"), now = lines(), last = (answer = NOTHING) => (answer.row && !answer.old ? { ...answer, old: true } : answer);
  const answers = now.map((text, at) => (text.trim() ? kept.get(text) ?? last(shown[at]) : NOTHING));
  answers.forEach((answer, at) => {
    if (at >= shown.length) result.append(drawn(answer));
    else if (answer !== shown[at]) result.children[at].replaceWith(drawn(answer));
  });
  while (result.children.length > answers.length) result.lastChild.remove();
  shown = answers;
  result.setAttribute("aria-busy", String(now.some(missing)));
  byId("status").textContent = status();
  const rows = answers.map(({ row }) => row).filter(Boolean);
  if (!rows.includes(chosen)) show(rows[0] ?? null);
}

function drawn({ row, most, old }) {
  if (!row) return element("p", { class: "quiet" }, most ? t("long", most) : "\u00a0");
  const made = element("button", { type: "button", dir: "auto", "aria-pressed": String(row === chosen), title: row.finished ? null : t("cut") }, row.text);
  made.addEventListener("click", () => show(row));
  return element("p", old ? { class: "old" } : {}, made);
}

// Show why the words of a line were chosen; null: of none.
function show(row) {
  if (row === chosen) return;
  chosen = row;
  byId("why").hidden = !row;
  if (row?.explanation) viewer.show(row);
  else if (row) ask();
  for (const [at, one] of [...byId("result").children].entries()) one.querySelector("button")?.setAttribute("aria-pressed", String(shown[at]?.row === row));
}

// A page of one file brings its icon and its manifest: a browser that reads it from a server can install it.
function offer() {
  const icon = document.querySelector('link[rel="icon"]').href;
  const manifest = { name: document.title, short_name: document.title, start_url: location.href.split("#")[0], scope: new URL(".", location.href).href,
    display: "standalone", background_color: "#f5f6fb", theme_color: "#4338ca", icons: [{ src: icon, sizes: "any", type: "image/svg+xml" }] };
  document.head.append(element("link", { rel: "manifest", href: `data:application/manifest+json,${encodeURIComponent(JSON.stringify(manifest))}` }));
  navigator.serviceWorker?.register("worker.js").catch(() => {}); // without it beside the page, it is read anew each time
}

byId("text").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => { draw(); ask(); }, PAUSE);
});
byId("copy").addEventListener("click", async () => {
  const text = [...byId("result").children].map((line) => line.textContent.replaceAll("\u00a0", "")).join("\n");
  await navigator.clipboard?.writeText(text);
  byId("copy").textContent = t("copied");
  setTimeout(() => { byId("copy").textContent = t("copy"); }, 1500);
});
speak(connectSettings(byId("language"), byId("theme"), TEXTS, speak));
if (location.protocol.startsWith("http")) offer();
