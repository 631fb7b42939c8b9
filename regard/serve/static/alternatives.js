// Alternatives to a word of a translation: a list under the word; after a choice the rest is translated again.
import { button, element } from "./explain/elements.js";
import { percent, visible } from "./explain/text.js";
import { ask, patiently, Refused } from "./api.js";

export class Alternatives {
  // `place` holds the list and the words; `chosen` is called with an alternative, `refused` with a fault.
  constructor(place, { t, chosen, refused }) {
    Object.assign(this, { place, t, chosen, refused, asking: null, word: null, before: null });
    this.list = element("div", { class: "menu-list alternatives", role: "dialog", hidden: "" });
    place.append(this.list);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // a click would move the focus
    this.list.addEventListener("focusout", (event) => { if (!this.list.contains(event.relatedTarget)) this.close(); });
  }

  // `word` is the element above the list, `body` the request without its count.
  async open(word, body) {
    this.close();
    const { signal } = this.asking = new AbortController();
    this.before = document.activeElement;
    this.word = word;
    this.fill(element("p", { class: "quiet" }, this.t("working")));
    try {
      const { alternatives } = await patiently(() => ask("v1/alternatives", { signal, body }), signal, () => {});
      if (signal.aborted) return;
      this.fill(...(alternatives.length ? alternatives.map((each) => this.entry(each)) : [element("p", { class: "quiet" }, this.t("noOthers"))]));
      this.list.querySelector("button")?.focus({ preventScroll: true });
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      this.close();
      if (!(error instanceof Refused)) throw error;
      this.refused(error);
    }
  }

  entry(alternative) {
    return button({}, () => { this.close(); this.chosen(alternative); }, element("bdi", {}, visible(alternative.word, false)), " ",
      element("span", { class: "quiet" }, likely(alternative.probability)));
  }

  fill(...entries) {
    const title = element("p", { class: "side-title" }, this.t("instead", this.word.textContent));
    this.list.setAttribute("aria-label", title.textContent);
    this.list.replaceChildren(title, ...entries);
    this.list.hidden = false;
    const [word, frame] = [this.word, this.place].map((each) => each.getBoundingClientRect());
    const left = Math.max(0, Math.min(word.left - frame.left, frame.width - this.list.offsetWidth - 8));
    Object.assign(this.list.style, { left: `${left}px`, top: `${word.bottom - frame.top}px` });
  }

  close() {
    this.asking?.abort();
    if (this.list.hidden) return;
    const inside = this.list.contains(document.activeElement);
    this.list.hidden = true;
    if (inside) this.before?.focus({ preventScroll: true });
  }

  key(event) {
    const entries = [...this.list.querySelectorAll("button")];
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Escape") this.close();
    else if (event.key in steps) entries.at((entries.indexOf(document.activeElement) + steps[event.key]) % entries.length)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function likely(probability) {
  return probability < 0.01 ? "< 1%" : percent(probability);
}
