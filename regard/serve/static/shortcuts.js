// Keyboard shortcuts, and their help.
import { element } from "./explain/elements.js";

const byId = (id) => document.getElementById(id);

// `actions` by name: translate, swap, copy, share, clear, focus; `others` is called with the remaining keys.
export function connectShortcuts(actions, others) {
  const dialog = byId("shortcuts");
  const help = () => dialog.showModal();
  byId("help").addEventListener("click", help);
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  const withShift = { KeyS: actions.swap, KeyC: actions.copy, KeyL: actions.share, KeyX: actions.clear };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return; // which has keys of its own
    const control = event.ctrlKey || event.metaKey;
    let action = null;
    if (control && event.shiftKey && !event.altKey) action = withShift[event.code];
    else if (control && event.key === "Enter") action = actions.translate;
    else if (!control && !event.altKey && !event.target.closest("select, input, textarea")) {
      if (event.key === "?") action = help;
      else if (event.key === "/") action = actions.focus;
      else if (others(event)) return;
    }
    if (!action) return;
    event.preventDefault();
    action();
  });
}

export function drawShortcuts(t) {
  byId("keys").replaceChildren(...t("keys").flatMap(([keys, what]) => [
    element("dt", {}, ...keys.split(" ").filter(Boolean).map((key) => element("kbd", {}, key))), element("dd", {}, what)]));
}
