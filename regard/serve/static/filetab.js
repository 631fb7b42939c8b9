// The tab that translates whole files: choose or drop one, send it, fetch its translation.
import { patiently, Refused, send } from "./api.js";
import { tell } from "./faults.js";
import { drawCounts, terms } from "./terms.js";

const NAME = /^[0-9a-f]{32}\.(.+)$/u; // name of a translated file on the server
const UNITS = ["B", "KiB", "MiB", "GiB"];
const byId = (id) => document.getElementById(id);

export class FileTab {
  // `tabs` opens this one, `pair` returns the languages, `key` the API key, `explained` the text of a fault.
  constructor({ t, tabs, pair, key, explained }) {
    Object.assign(this, { t, tabs, pair, key, explained, of: "", kinds: [], limit: -1, file: null, asking: null, phase: null, share: 0, result: null, fault: null });
    byId("choose").addEventListener("click", () => byId("file").click());
    byId("file").addEventListener("change", () => { this.take([...byId("file").files]); byId("file").value = ""; });
    byId("remove").addEventListener("click", () => { this.remove(); byId("choose").focus(); });
    byId("translate-file").addEventListener("click", () => this.translate());
    byId("cancel").addEventListener("click", () => this.asking?.abort());
    for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) document.addEventListener(kind, (event) => this.dragged(event));
  }

  get offered() {
    return this.kinds.length > 0;
  }

  get opened() {
    return this.tabs.now === "file";
  }

  listed() {
    return this.kinds.join(this.t("tag") === "zh" ? "、" : ", ");
  }

  // Formats and size that the server accepts; maybe no files at all.
  offer({ filesTranslation, supportedFilesFormat, fileSizeLimit }) {
    this.kinds = filesTranslation && Array.isArray(supportedFilesFormat) ? supportedFilesFormat.map(String) : [];
    this.limit = fileSizeLimit ?? -1;
    byId("file").accept = this.kinds.join(",");
    this.draw();
  }

  // A file over the page opens the tab; without this a browser would leave the page and show the file.
  dragged(event) {
    if (!this.tabs.offered.includes("file") || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    const over = event.type !== "drop" && (event.type !== "dragleave" || event.relatedTarget !== null);
    byId("drop").classList.toggle("over", over && !this.asking);
    if (this.asking) event.dataTransfer.dropEffect = "none";
    else if (over) this.tabs.open("file");
    else if (event.type === "drop") this.take([...event.dataTransfer.files]);
  }

  take(files) {
    if (this.asking || !files.length) return;
    this.tabs.open("file");
    this.remove();
    [this.file] = files;
    this.fault = this.wrong(files);
    if (this.fault) this.file = null;
    this.draw();
  }

  // A fault that the server would report; null without one.
  wrong([file, ...others]) {
    if (others.length) return new Refused("oneFile");
    const name = file.name.toLowerCase();
    if (!this.kinds.some((kind) => name.endsWith(kind))) return new Refused("otherKind", { values: () => [this.listed()] });
    if (!file.size) return new Refused("emptyFile");
    return this.limit > 0 && file.size > this.limit ? this.large() : null;
  }

  large() {
    return new Refused("largeFile", { values: () => [sized(this.limit)] });
  }

  // The languages and the glossary.
  fields() {
    const glossary = terms(byId("file-terms"));
    return { ...this.pair(), ...(glossary ? { glossary } : {}) };
  }

  // After a change of these, the translated file no longer matches the page.
  changed() {
    if (!this.file || this.of === JSON.stringify(this.fields())) return;
    this.asking?.abort();
    Object.assign(this, { result: null, fault: null });
    this.draw();
  }

  remove() {
    Object.assign(this, { file: null, result: null, fault: null });
    this.draw();
  }

  async translate() {
    const { file } = this;
    if (!file || this.asking) return;
    const { signal } = this.asking = new AbortController();
    Object.assign(this, { result: null, fault: null, phase: ["sending"], share: 0, of: JSON.stringify(this.fields()) });
    this.draw("cancel");
    const start = performance.now();
    const sent = (share) => { Object.assign(this, { phase: [share < 1 ? "sending" : "working"], share }); this.draw(); };
    try {
      const told = await patiently(() => send("translate_file", this.form(file), { signal, sent }), signal, ({ key, values }) => { this.phase = [key, ...values()]; this.draw(); });
      this.result = { ...waiting(told), terms: told.terms ?? [], warnings: told.warnings ?? [], memory: told.memory ?? null, took: ((performance.now() - start) / 1000).toFixed(2) };
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof Refused)) throw error;
      this.fault = error.name === "AbortError" ? null : this.told(error);
    } finally {
      Object.assign(this, { asking: null, phase: null });
      this.draw(this.result ? "result" : "translate-file");
    }
  }

  form(file) {
    const form = new FormData();
    const fields = { ...this.fields(), ...(this.key() ? { api_key: this.key() } : {}) };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("file", file);
    return form;
  }

  told(error) {
    if (error.status === 413 && !(this.limit > 0)) return new Refused("tooLarge");
    return error.status === 413 && !error.told ? this.large() : error;
  }

  // `focus` gets the focus if a button that is hidden now had it.
  draw(focus = null) {
    const { t, file, asking, result, fault } = this;
    const held = ["cancel", "translate-file"].includes(document.activeElement?.id);
    byId("kinds").textContent = t("kinds", this.listed(), this.limit > 0 ? sized(this.limit) : "");
    byId("choose").textContent = t(file ? "chooseOther" : "choose");
    byId("choose").disabled = Boolean(asking);
    byId("chosen").hidden = !file;
    byId("file-name").textContent = file?.name ?? "";
    byId("file-size").textContent = file ? sized(file.size) : "";
    byId("remove").hidden = byId("translate-file").hidden = Boolean(asking);
    byId("translate-file").classList.toggle("main", !result); // the download is the main action
    byId("cancel").hidden = byId("progress").hidden = !asking;
    this.drawProgress();
    say("file-status", asking ? t(...this.phase) : result ? t("translated", result.took) : "");
    byId("done").hidden = !result;
    byId("result").textContent = result ? t("download", result.name) : "";
    if (result) byId("result").href = result.address;
    drawCounts(byId("file-report"), t, result ?? {});
    byId("file-fault").hidden = !fault;
    tell(byId("file-fault"), fault ? this.explained(fault) : undefined);
    if (focus && held) byId(focus).focus();
  }

  drawProgress() {
    const bar = byId("progress");
    if (this.phase?.[0] === "sending") bar.value = this.share;
    else bar.removeAttribute("value"); // the model's time is unknown
  }

  speak(t) {
    this.t = t;
    this.draw();
  }
}

// Only changes, so that a screen reader repeats nothing.
function say(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

// Behind a proxy the server knows only its inner address, so only the name in its link is used.
function waiting(told) {
  const name = decoded(String(told.translatedFileUrl).split("/").pop());
  const shown = NAME.exec(name)?.[1];
  if (!shown) throw new Refused("strange");
  return { name: shown, address: `download_file/${encodeURIComponent(name)}` };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}

// 1536 → "1.5 KiB"
export function sized(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${UNITS[power]}`;
}
