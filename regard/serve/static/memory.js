// Segments of the translation memory that are like a sentence: how much, what differs, and a button to use one.
import { button, element } from "./explain/elements.js";

const EXACT = 100; // per cent

// Fill a place with the segments of one sentence; `used` is called with the translation that is chosen, `shown` is the one on the page.
export function drawSegments(place, t, { details: { memory = [] } = {} } = {}, shown, used) {
  const told = JSON.stringify([memory, shown, t("tag")]);
  if (told === place.drawn) return;
  place.drawn = told;
  place.hidden = !memory.length;
  place.setAttribute("aria-label", t("segments"));
  place.replaceChildren(...memory.map((match) => segment(match, t, shown, used)));
}

// True if a memory is of these languages.
export function remembers(memories, source, target) {
  return memories.some(([from, to]) => from === source && to === target);
}

function segment({ percent, source, target, author, created, differs }, t, shown, used) {
  const from = [author, created.slice(0, 10)].filter(Boolean).join(", ");
  return element("li", {},
    element("span", { class: percent < EXACT ? "match" : "match exact", title: from || null }, t("memory", percent)), " ",
    percent < EXACT && element("span", { class: "quiet", dir: "auto" }, ...marked(differs, source), " → "),
    element("bdi", {}, target), " ",
    target !== shown && button({ "aria-label": t("useThis", target) }, () => used(target), t("use")));
}

// The source of a segment: its words that the text does not have are deleted, those that only the text has are inserted.
function marked(differs, source) {
  const characters = [...source]; // places count characters, not UTF-16 units
  let done = 0;
  const parts = differs.flatMap(([text, other, place]) => {
    const equal = characters.slice(done, place).join("");
    done = place + [...other].length;
    return [equal, ...change("del", other), ...change("ins", text)];
  });
  return [...parts, characters.slice(done).join("")];
}

function change(name, words) {
  const end = words.trimEnd().length;
  return end ? [element(name, {}, words.slice(0, end)), words.slice(end)] : [words];
}
