// The empty view: elements by name, filled by the other modules.
import { element, svgElement } from "./elements.js";
import { connectScrolling } from "./scrolling.js";

export function build(viewer) {
  const parts = {};
  const { t, prefix } = viewer;
  const part = (name, tag, attributes = {}, ...children) => (parts[name] = element(tag, attributes, ...children));
  const title = (name) => element("h2", { id: prefix + name }, t(name));
  const card = (name, ...children) => part(`${name}Box`, "section", { class: `card ${name}-card`, "aria-labelledby": prefix + name }, ...children);
  const words = card("words",
    element("div", { class: "bar" }, title("words"), part("score", "span", { class: "quiet", title: t("scoreTip") }), part("means", "span", { class: "quiet" }),
      part("unfinished", "span", { class: "badge", hidden: "" }, t("unfinished")),
      element("span", { class: "choices" },
        part("across", "span", { class: "choice", role: "group", "aria-label": t("across") }),
        part("unit", "span", { class: "choice", role: "group", "aria-label": t("unit") }),
        part("save", "span"))),
    part("warnings", "div", { class: "warnings", role: "status" }),
    part("flagsBox", "div", { class: "flags", hidden: "" }, element("span", { class: "quiet", id: `${prefix}flags` }, t("flags")),
      part("flags", "ul", { "aria-labelledby": `${prefix}flags` })),
    stage(viewer, part, parts),
    part("plain", "p", { class: "plain", dir: "auto" }),
    part("readout", "p", { class: "readout", role: "status" }),
    legend(part, t),
    part("origin", "p", { class: "origin-legend", hidden: "" }));
  const reasons = card("reasons",
    element("div", { class: "bar" }, title("reasons")),
    part("reasonsNote", "p", { class: "quiet", role: "status" }),
    part("reasons", "div", { class: "reasons scroll", tabindex: "0", role: "region", "aria-label": t("reasons") }),
    part("grade", "p", { class: "quiet" }));
  const taught = card("taught",
    element("div", { class: "bar" }, title("taught")),
    part("taughtNote", "p", { class: "quiet", role: "status" }),
    part("taught", "ol", { class: "taught" }),
    part("corrections", "div", { class: "corrections", hidden: "" }));
  const segments = card("segments",
    element("div", { class: "bar" }, title("segments")),
    part("segmentsNote", "p", { class: "quiet", role: "status" }),
    part("segments", "ol", { class: "taught" }));
  const search = card("search",
    element("div", { class: "bar" }, title("search")),
    part("searchNote", "p", { class: "quiet", role: "status" }),
    part("search", "div", { class: "search" }));
  const candidates = card("candidates", element("div", { class: "bar" }, title("candidates")), part("candidates", "ol", { class: "candidates" }));
  const map = card("map",
    element("div", { class: "bar" }, title("map")),
    controls(part, t),
    element("figure", { role: "group", "aria-labelledby": `${prefix}caption` }, part("heat", "div", { class: "heat scroll" }),
      element("figcaption", {}, part("caption", "span", { id: `${prefix}caption` }), part("ramp", "span", { class: "ramp", "aria-hidden": "true" }))),
    part("tableBox", "details", {}, element("summary", {}, t("table")),
      part("table", "div", { class: "table scroll", tabindex: "0", role: "region", "aria-label": t("table") })));
  const overview = card("overview", element("div", { class: "bar" }, title("overview")), part("tiles", "div", { class: "tiles" }),
    element("p", { class: "quiet" }, t("tiles")));
  viewer.host.classList.add("viewer");
  viewer.host.replaceChildren(element("div", { class: "view" },
    row([words, part("none", "p", { class: "note" }, t("none"))], [candidates]),
    part("why", "details", { class: "why", open: viewer.opened ? "" : null }, element("summary", {}, element("h2", {}, t("why")), " ", element("span", { class: "quiet" }, t("whyMore"))),
      row([segments, taught, reasons, search, map], [overview]))));
  for (const box of [parts.heat, parts.table, parts.reasons]) connectScrolling(box);
  return parts;
}

// Two columns where there is room; else `beside` comes last.
function row(column, beside) {
  return element("div", { class: "row" }, element("div", { class: "column" }, ...column), element("div", { class: "beside" }, ...beside));
}

function stage(viewer, part, parts) {
  const line = (name) => element("div", { class: "side" }, part(`${name}Title`, "p", { class: "side-title", id: `${viewer.prefix}${name}` }),
    part(name, "div", { class: `tokens ${name}`, role: "group", "aria-labelledby": viewer.prefix + name }));
  parts.links = svgElement("svg", { class: "links", "aria-hidden": "true" });
  return part("stage", "div", { class: "stage" }, parts.links, line("keys"), element("div", { class: "gap", "aria-hidden": "true" }), line("queries"));
}

function controls(part, t) {
  const select = (name) => part(`${name}Label`, "label", {}, element("span", {}, t(name)), " ", part(name, "select"));
  return element("div", { class: "bar controls" }, select("kind"), select("layer"), select("head"), select("join"), select("method"),
    element("label", {}, element("span", {}, t("share")), " ", part("share", "input", { type: "range", min: "5", max: "100", step: "5" }),
      " ", part("shareTold", "output")),
    element("label", { class: "check" }, part("end", "input", { type: "checkbox" }), " ", element("span", {}, t("end"))));
}

function legend(part, t) {
  return part("legend", "ul", { class: "legend", "aria-label": t("confidence") },
    element("li", {}, element("span", { class: "poor" }, t("poor"))));
}
