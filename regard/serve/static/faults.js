// Error messages in the page's language; unknown ones in the server's words.
import { element } from "./explain/elements.js";
import { NOT_READY } from "./api.js";

// Messages of the server, and the key of the page's text with its values.
const KNOWN = [
  [/request \((\d+)\) exceeds text limit \((\d+)\)/, ([, size, most], { limit }) => [Number(most) === limit ? "tooLong" : "tooLongForModel", size, most]],
  [/text \d+ has (\d+) characters, more than this server takes: (\d+)/, ([, size, most]) => ["tooLong", size, most]],
  [/\(([\w-]+)\) is not available as a target language from [^]*\(([\w-]+)\)/, ([, target, source], { name }) => ["unserved", name(source), name(target)]],
  [/Invalid API key/, () => ["wrongKey"]],
  [/to get an API key/, () => ["needsKey"]],
  [/Too many request limits violations/, () => ["banned"]],
  [/Suggestions are disabled/, () => ["noSuggestions"]],
  [/Files translation are disabled/, () => ["noFiles"]],
  [NOT_READY, () => ["notReady"]],
  [/does not fit into memory/, () => ["noMemory"]],
  [/send it in parts/, () => ["inParts"]],
  [/the file is encrypted/, () => ["locked"]],
  [/the file (is broken|is not a list of subtitles|has no subtitles|is not readable text)/, () => ["broken"]],
];
const STATUSES = { 408: "overloaded", 429: "tooMany", 503: "overloaded", 500: "failed" };
const LINK = /Visit (https?:\/\/\S+) to get an API key/;

// A Refused as {text, link, again}: `link` may lead to a key, `again` is true if a retry can help. `about` has the
// speaker of the page, the name of a language by its code, and the server's limit of characters.
export function explained(fault, about) {
  const { key, told, status } = fault;
  const again = ["busy", "loading", "silent", "strange"].includes(key) || (key === "refused" && (status >= 500 || status === 408 || status === 429));
  return { text: about.t(...worded(fault, about)), link: LINK.exec(told)?.[1] ?? null, again };
}

function worded({ key, told, status, values }, about) {
  if (key !== "refused") return [key, ...values(about)];
  for (const [pattern, how] of KNOWN) {
    const match = pattern.exec(told);
    if (match) return how(match, about);
  }
  if (status in STATUSES) return [STATUSES[status]];
  return told ? ["refusedSaying", told.replace(/^Invalid request: /, "")] : ["refused", status];
}

// Only changes, so that a screen reader repeats nothing.
export function tell(box, { text, link } = { text: "", link: null }) {
  const drawn = JSON.stringify([text, link]);
  if (box.drawn === drawn) return;
  box.drawn = drawn;
  box.replaceChildren(text, ...(link ? [" ", element("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, link)] : []));
}
