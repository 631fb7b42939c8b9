// A menu: a button that opens a list of others; it closes after a choice, with Escape, and when something else is clicked.
import { element } from "./elements.js";

export function menu(title, ...entries) {
  const list = element("div", { class: "menu-list" }, ...entries);
  const made = element("details", { class: "menu" }, element("summary", {}, title), list);
  const close = () => { made.open = false; };
  list.addEventListener("click", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // a click would move the focus
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    event.stopPropagation();
    close();
    made.firstChild.focus();
  });
  made.addEventListener("focusout", (event) => { if (!made.contains(event.relatedTarget)) close(); });
  return made;
}
