// Requests to the server. A failure is a Refused, with the seconds to wait before a retry if one can help; `values` returns
// the values of its text when it is shown: the language may change meanwhile.
export class Refused extends Error {
  constructor(key, { message = "", status = 0, wait = null, values = () => [] } = {}) {
    super(message || key);
    Object.assign(this, { key, told: message, status, wait, values });
  }
}

const LONGEST_WAIT = 60; // seconds between two tries
const PATIENCE = 180; // seconds for all tries: a model may have to be loaded
export const NOT_READY = /model not ready/; // the server's error while models are loaded

export async function ask(path, { body = null, signal = null, text = false } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      signal, redirect: "error", cache: "no-store",
      ...(body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {}),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("silent");
  }
  if (text && answer.ok) return answer.text();
  const told = await answer.json().catch((error) => { if (error.name === "AbortError") throw error; return null; });
  return answered(answer.status, told, answer.headers.get("Retry-After"));
}

// Send a form with a file; `sent` is called with the fraction sent, 0 to 1, which fetch does not report.
export function send(path, form, { signal, sent }) {
  return new Promise((done, failed) => {
    const asking = new XMLHttpRequest();
    const stop = () => asking.abort();
    asking.open("POST", path);
    asking.responseType = "json";
    asking.upload.addEventListener("progress", (event) => { if (event.lengthComputable) sent(event.loaded / event.total); });
    asking.upload.addEventListener("load", () => sent(1));
    asking.addEventListener("load", () => {
      try { done(answered(asking.status, asking.response, asking.getResponseHeader("Retry-After"))); } catch (error) { failed(error); }
    });
    asking.addEventListener("error", () => failed(new Refused("silent")));
    asking.addEventListener("abort", () => failed(new DOMException("aborted", "AbortError")));
    asking.addEventListener("loadend", () => signal.removeEventListener("abort", stop));
    signal.addEventListener("abort", stop, { once: true });
    asking.send(form);
  });
}

// The response, or its error as a Refused; `after` is its Retry-After.
function answered(status, told, after) {
  const good = status >= 200 && status < 300;
  if (good && told !== null) return told;
  if (good) throw new Refused("strange");
  const message = typeof told?.error === "string" ? told.error : "";
  throw new Refused("refused", { message, status, wait: delay(status, after) });
}

// Seconds to wait before a retry; null if a retry would not help.
function delay(status, after) {
  if (status !== 429 && status !== 503) return null;
  const seconds = Number(after ?? 2);
  return Math.min(Math.max(Number.isFinite(seconds) ? Math.ceil(seconds) : 2, 1), LONGEST_WAIT);
}

// Ask until the server is neither busy nor loading its models, for `most` seconds at most; `waiting` is called each second
// with the fault to show.
export async function patiently(question, signal, waiting, most = PATIENCE) {
  const until = performance.now() + 1000 * most;
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof Refused) || error.wait === null || performance.now() + 1000 * error.wait > until) throw error;
      for (let left = error.wait; left > 0; left--) {
        waiting(new Refused(NOT_READY.test(error.told) ? "loading" : "busy", { values: () => [left] }));
        await rest(1000, signal);
      }
    }
  }
}

export function rest(milliseconds, signal) {
  return new Promise((done, stopped) => {
    const stop = () => { clearTimeout(timer); stopped(new DOMException("aborted", "AbortError")); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); done(); }, milliseconds);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
