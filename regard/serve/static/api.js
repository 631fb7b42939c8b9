// Questions to the server. What goes wrong is told as a Refused, with the seconds to wait where waiting helps.
export class Refused extends Error {
  constructor(key, { message = "", status = 0, wait = null } = {}) {
    super(message || key);
    Object.assign(this, { key, told: message, status, wait });
  }
}

const LONGEST_WAIT = 60; // seconds

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
  if (answer.ok && told !== null) return told;
  if (answer.ok) throw new Refused("strange");
  const message = typeof told?.error === "string" ? told.error : "";
  throw new Refused("refused", { message, status: answer.status, wait: waiting(answer) });
}

// Seconds that a busy server asks to wait; null when asking again would not help.
function waiting(answer) {
  if (answer.status !== 429 && answer.status !== 503) return null;
  const seconds = Number(answer.headers.get("Retry-After") ?? 2);
  return Math.min(Math.max(Number.isFinite(seconds) ? Math.ceil(seconds) : 2, 1), LONGEST_WAIT);
}

// Asks until the server is no longer busy; `told` hears the seconds left, from second to second.
export async function patiently(question, signal, told) {
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof Refused) || error.wait === null) throw error;
      for (let left = error.wait; left > 0; left--) {
        told(left);
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
