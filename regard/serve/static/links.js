// A link that holds the text, the languages and the models in its fragment, which never reaches a server; and the clipboard.
export function link({ source, target, model, other, text }) {
  const fragment = new URLSearchParams({ source, target, ...(model ? { model } : {}), ...(other ? { compare: other } : {}), q: text });
  return `${location.origin}${location.pathname}#${fragment}`;
}

export function linked() {
  const found = new URLSearchParams(location.hash.slice(1));
  return { source: found.get("source"), target: found.get("target"), model: found.get("model"), other: found.get("compare"), text: found.get("q") };
}

// Copy a text; true on success. Without https a browser has only the old way.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
}
