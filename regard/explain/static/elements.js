// Elements of the page; text is always set as text, never as markup.
export const SVG = "http://www.w3.org/2000/svg";

// Children are elements or texts; null and false are left out.
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svgElement(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function button(attributes, listener, ...children) {
  const made = element("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", listener);
  return made;
}

// Render a box again only if its inputs changed: `what` holds all of them as plain values.
export function ifChanged(box, what, draw) {
  const told = JSON.stringify(what);
  if (told === box.drawn) return false;
  box.drawn = told;
  draw();
  return true;
}

export function fill(select, options, value) {
  ifChanged(select, options, () => select.replaceChildren(...options.map(([key, text]) => element("option", { value: key }, text))));
  select.value = value;
}

// A row of buttons, one of them pressed.
export function choice(group, options, value, listener) {
  ifChanged(group, [options, value], () => group.replaceChildren(...options.map(([key, text]) => button({ "aria-pressed": String(key === value) }, () => listener(key), text))));
}

// Render again and keep the focus: the same button of the same group gets it.
export function keepingFocus(groups, draw) {
  const focused = document.activeElement;
  const group = groups.find((each) => each.contains(focused));
  const at = group ? [...group.querySelectorAll("button")].indexOf(focused) : -1;
  draw();
  if (at >= 0) group.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== false) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== false));
  return made;
}
