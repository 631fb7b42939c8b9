// The source text with highlighted words.
import { element } from "./explain/elements.js";

const byId = (id) => document.getElementById(id);

// A transparent copy behind the text has the marks; it also makes the field as high as the text.
export function light(marks) {
  const { value } = byId("text");
  const parts = [];
  let at = 0;
  const ordered = [...marks].sort((a, b) => a[0] - b[0]);
  for (const [start, end, weight, active] of ordered) {
    if (start < at) continue;
    const mark = element("mark", { class: active ? "active" : "" }, value.slice(start, end));
    mark.style.setProperty("--weight", `${(100 * (active ? 1 : weight)).toFixed(1)}%`);
    parts.push(value.slice(at, start), mark);
    at = end;
  }
  byId("mirror").replaceChildren(...parts, `${value.slice(at)}\n`);
}

export function drawSource(t, { limit, detected }) {
  const { value } = byId("text");
  byId("clear").hidden = !value;
  byId("count").textContent = value ? t("count", [...value].length, limit) : "";
  byId("count").classList.toggle("over", limit > 0 && [...value].length > limit);
  byId("detected").textContent = detected ?? "";
}
