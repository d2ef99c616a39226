// Parts that every step is built from: messages, tables, figures, fields.

import { button, byId, el } from "./dom.js";

// New content for a container; focus, open parts and scrolled tables stay as they were.
export function fill(container, ...nodes) {
  const focus = container.contains(document.activeElement) ? document.activeElement.id : "";
  const open = new Set([...container.querySelectorAll("details[id][open]")].map((one) => one.id));
  const scrolled = new Map([...container.querySelectorAll(".scroll[id]")].map((one) => [one.id, one.scrollLeft]));
  container.replaceChildren(...nodes.flat().filter(Boolean));
  for (const one of container.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
  for (const [id, left] of scrolled) if (byId(id)) byId(id).scrollLeft = left;
  if (focus) byId(focus)?.focus({ preventScroll: true });
}

// Told to those who do not see the page, too.
export function announce(text) {
  byId("said").textContent = text;
}

export function message(kind, text, ...more) {
  return el("div", { class: `message ${kind}`, role: kind === "error" ? "alert" : null }, el("p", {}, text), ...more);
}

export function note(text) {
  return el("p", { class: "note" }, text);
}

export function loading(text) {
  return el("p", { class: "note waiting", role: "status" }, text);
}

// Do some work of a button: it is off meanwhile, and an error stands beside it.
export async function attempt(container, work) {
  container.querySelector(":scope > .message.error")?.remove();
  try {
    return await work();
  } catch (error) {
    container.prepend(message("error", error.message));
    announce(error.message);
    return null;
  }
}

export function table(caption, header, rows, kind = "", id = null) {
  const cell = (value, k) => (k ? el("td", {}, value) : el("th", { scope: "row" }, value));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, id },
    el("table", { class: kind },
      el("caption", { class: "hide" }, caption),
      el("thead", {}, el("tr", {}, header.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
}

export function select(id, options, value, onchange, attributes = {}) {
  const known = options.some(([name]) => name === value);
  return el("select", { id, onchange: (event) => onchange(event.target.value), ...attributes },
    (known ? options : [[value, value], ...options]).map(([name, text]) => el("option", { value: name, selected: name === value }, text)));
}

export function field(id, label, input, hint = "") {
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  return el("div", { class: "question" }, el("label", { for: id }, label), input, hint && el("p", { id: `${id}-hint`, class: "note" }, hint));
}

// ------------------------------------------------------------------------------ figures

const KEPT = new Set(["svg", "g", "line", "polyline", "polygon", "path", "rect", "circle", "text", "tspan", "title", "desc", "clippath", "defs"]);

// A chart of the server as elements; whatever is no part of a chart is left out.
function chart(svg) {
  const named = svg.includes("xmlns=") ? svg : svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
  const root = new DOMParser().parseFromString(named, "image/svg+xml").documentElement;
  for (const one of [root, ...root.querySelectorAll("*")]) {
    if (!KEPT.has(one.localName.toLowerCase())) one.remove();
    for (const { name } of [...one.attributes]) if (/^on|href|style/i.test(name)) one.removeAttribute(name);
  }
  return document.importNode(root, true);
}

function legendMark(style) {
  const shape = style.startsWith("line") ? `<line class="${style}" x1="1" x2="25" y1="6" y2="6"/>`
    : style.startsWith("dot") ? `<circle class="${style}" cx="13" cy="6" r="4"/>`
      : `<rect class="${style}" x="2" y="1" width="22" height="10"/>`;
  return chart(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 26 12" aria-hidden="true">${shape}</svg>`);
}

export function figure({ title, svg, caption, legend = [], header = [], rows = [] }) {
  return el("figure", { class: "card figure" },
    title && el("h4", {}, title),
    chart(svg),
    legend.length > 0 && el("ul", { class: "legend" }, legend.map(([style, text]) => el("li", {}, legendMark(style.replace(/[^\w -]/g, "")), text))),
    caption && el("figcaption", {}, caption),
    rows.length > 0 && el("details", { class: "numbers" }, el("summary", {}, "Numbers"), table(`Numbers of the chart: ${title}`, header, rows)));
}

// ----------------------------------------------------------------------------- progress

export function progressLine(id) {
  return el("div", { class: "progress", id, hidden: true },
    el("progress", { max: 1, "aria-label": "Progress" }), el("p", { class: "progress-text" }));
}

const AMOUNTS = [[90, 1, "s"], [5400, 60, "min"], [Infinity, 3600, "h"]];

export function duration(seconds) {
  const [, unit, name] = AMOUNTS.find(([most]) => seconds < most);
  return `${Math.max(1, Math.round(seconds / unit))} ${name}`;
}

export function showProgress(line, one) {
  const { text, fraction, seconds_left: left } = one.progress ?? {}, bar = line.querySelector("progress");
  line.hidden = one.status !== "queued" && one.status !== "running";
  if (Number.isFinite(fraction) && fraction !== null) bar.value = fraction;
  else bar.removeAttribute("value");
  const known = (value) => value !== null && Number.isFinite(value), words = text || (one.status === "queued" ? "Waiting for its turn" : "Working");
  const share = known(fraction) && !words.includes("%") ? `, ${Math.round(100 * fraction)} %` : "";
  const rest = known(left) && !words.includes(" left") ? `, about ${duration(left)} left` : "";
  line.querySelector(".progress-text").textContent = `${words}${share}${rest}`;
}

export function bytes(count) {
  const units = ["bytes", "kB", "MB", "GB"];
  const k = Math.min(3, Math.floor(Math.log10(Math.max(count, 1)) / 3));
  return `${(count / 1000 ** k).toFixed(k && count / 1000 ** k < 10 ? 1 : 0)} ${units[k]}`;
}

export function copyButton(text, what) {
  const one = button("Copy", { class: "small", "aria-label": `Copy ${what}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      one.textContent = "Copied";
      announce(`${what} copied.`);
    } catch {
      one.textContent = "Select and copy it by hand";
    }
    setTimeout(() => { one.textContent = "Copy"; }, 2000);
  } });
  return one;
}
