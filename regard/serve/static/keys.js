// The API key, kept as long as the tab is open and no longer.
const NAME = "regard.key";

export function keptKey() {
  try { return sessionStorage.getItem(NAME) ?? ""; } catch { return ""; }
}

export function keepKey(key) {
  try {
    if (key) sessionStorage.setItem(NAME, key);
    else sessionStorage.removeItem(NAME);
  } catch { /* then it is asked for again */ }
}
