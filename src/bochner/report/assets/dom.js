// Elements: the page is built from values, and every text of the user's enters as text.

export const byId = (id) => document.getElementById(id);

// An element with attributes and children; true sets an attribute, false, null and undefined leave it out, functions listen.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function button(text, attributes = {}) {
  return el("button", { type: "button", ...attributes }, text);
}
