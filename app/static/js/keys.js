// Keys that work everywhere: `/` goes to the search, `?` shows what the page's keys are. Single keys can be turned off,
// in the settings of an account or here for this browser.

const KEPT = "keys:single";
if (localStorage.getItem(KEPT) === "off") document.body.dataset.shortcuts = "off";

/** Whether single keys do something. */
export const single = () => document.body.dataset.shortcuts !== "off";

/** Whether a key goes into a text: also in the editor, whose inside is hidden from the page. */
export function typing(event) {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

const mod = /Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl";
const EVERYWHERE = [["/", "Go to the search"], ["?", "Show these keys"]];
const WORKSPACE = [
  [`${mod} Enter`, "Run the visible cases"], [`${mod} Shift Enter`, "Submit"], [`${mod} S`, "Save the draft"],
  ["Esc", "Leave the editor; with Vim keys, in normal mode"], ["← →", "Move the divider that has the focus"],
];

/** The keys of the page: those that work everywhere, the workspace's, and those that controls name themselves. */
function groups() {
  const own = [...document.querySelectorAll("[data-key]")].map((node) => [node.dataset.key === " " ? "Space" : node.dataset.key, node.textContent.replace(node.dataset.key, "").trim()]);
  return [["Everywhere", EVERYWHERE], ["The workspace", document.querySelector("[data-workspace]") ? WORKSPACE : []], ["This page", own]]
    .filter(([, rows]) => rows.length);
}

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

function sheet() {
  const lists = groups().flatMap(([title, rows]) => [
    make("h3", { textContent: title }),
    make("dl", {}, ...rows.map(([keys, words]) => make("div", {}, make("dt", {}, ...keys.split(" ").map((key) => make("kbd", { textContent: key }))), make("dd", { textContent: words })))),
  ]);
  const box = make("input", { type: "checkbox", checked: single() });
  box.addEventListener("change", () => {
    localStorage.setItem(KEPT, box.checked ? "on" : "off");
    document.body.dataset.shortcuts = box.checked ? "on" : "off";
  });
  const close = make("button", { type: "button", className: "button small", textContent: "Close" });
  const title = make("h2", { id: "keys-title", textContent: "Keys" });
  const dialog = make("dialog", { className: "keys" }, title, ...lists, make("label", {}, box, " Single keys do something in this browser"), close);
  dialog.setAttribute("aria-labelledby", title.id);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "?" && single()) { event.preventDefault(); sheet(); }
  if (event.key === "/" && single()) {
    const find = document.querySelector("[data-find] input");
    if (!find) return;
    event.preventDefault();
    find.focus();
    find.select();
  }
});
for (const button of document.querySelectorAll("[data-keys]")) {
  button.addEventListener("click", sheet);
}
