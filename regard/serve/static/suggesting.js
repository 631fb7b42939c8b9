// The form for a better translation; shown only if the server accepts suggestions.
import { ask, Refused } from "./api.js";
import { tell } from "./faults.js";

const AUTHOR = "regard.author"; // the name of the translator, kept by the browser
const byId = (id) => document.getElementById(id);

export class Suggesting {
  // `thanked` is called after a suggestion has arrived; `explained` returns the text of a fault.
  constructor({ t, thanked, explained }) {
    Object.assign(this, { t, thanked, explained, question: null, given: "", asking: null, fault: null });
    this.dialog = byId("suggesting");
    byId("suggestion").addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    byId("better").addEventListener("input", () => this.draw());
    byId("better").addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "Enter") this.send();
    });
    byId("suggest-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.asking?.abort());
  }

  // `question` has the other fields of /v1/corrections; `given` is the translation to improve.
  open(question, given) {
    Object.assign(this, { question, given, fault: null });
    byId("suggested").textContent = question.source_text;
    byId("suggested").lang = question.source;
    byId("better").value = given;
    byId("better").lang = question.target;
    byId("author").value = localStorage.getItem(AUTHOR) ?? "";
    this.draw();
    this.dialog.showModal();
    byId("better").focus();
  }

  get better() {
    return byId("better").value.trim();
  }

  async send() {
    if (this.asking || !this.better || this.better === this.given.trim()) return;
    const { signal } = this.asking = new AbortController();
    this.fault = null;
    this.draw();
    try {
      const author = byId("author").value.trim();
      localStorage.setItem(AUTHOR, author);
      await ask("v1/corrections", { signal, body: { ...this.question, target_text: this.better, answer: this.given, author } });
      this.dialog.close();
      this.thanked();
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof Refused)) throw error;
      this.fault = error.name === "AbortError" ? null : error;
    } finally {
      this.asking = null;
      this.draw();
    }
  }

  draw() {
    byId("suggest-send").disabled = Boolean(this.asking) || !this.better || this.better === this.given.trim();
    byId("suggest-fault").hidden = !this.fault;
    tell(byId("suggest-fault"), this.fault ? this.explained(this.fault) : undefined);
  }

  speak(t) {
    this.t = t;
    this.draw();
  }
}
