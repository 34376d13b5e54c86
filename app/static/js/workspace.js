// The bench: the editor over the textarea, a draft kept in this browser, and the verdict in the third pane.

import { mount } from "./editor.js";
import { announce, follow } from "./live.js";
import { panes } from "./panes.js";

const form = document.querySelector("[data-workspace]");
const textarea = form.querySelector("#code");
const results = document.querySelector("#results");
const result = results.querySelector("[data-result]");
const stateOf = form.querySelector("[data-draft-state]");
const starter = form.querySelector("[data-starter]").value;
const key = `draft:${form.dataset.drill}`;
const given = textarea.value;
const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

// --- the draft ------------------------------------------------------------------------------------------------------

let timer = 0;
function keep(text) {
  clearTimeout(timer);
  stateOf.textContent = "changed";
  timer = setTimeout(() => {
    try {
      localStorage.setItem(key, JSON.stringify({ text, at: Date.now() }));
      stateOf.textContent = `draft kept in this browser, ${clock(Date.now())}`;
    } catch {
      stateOf.textContent = "this browser keeps no draft: submit to save";
    }
  }, 400);
}
function draft() {
  try { return JSON.parse(localStorage.getItem(key) ?? "null"); } catch { return null; }
}
function drop() {
  clearTimeout(timer);
  localStorage.removeItem(key);
}

// --- the editor -----------------------------------------------------------------------------------------------------

const button = form.querySelector("[data-submit]");
const editor = mount(textarea, { changed: keep, submit: () => form.requestSubmit(button), leave: () => button.focus() });
const mac = /Mac|iP/.test(navigator.platform);
form.querySelector("[data-editor-help]").textContent = `${mac ? "⌘" : "Ctrl"}+Enter submits. Esc leaves the editor.`;
form.querySelector("label[for=code]").addEventListener("click", () => editor.focus());

const kept = draft();
if (kept && kept.text !== given) {
  const bar = form.querySelector("[data-restore]");
  editor.replace(kept.text);
  clearTimeout(timer);
  stateOf.textContent = `draft of ${clock(kept.at)} restored`;
  bar.querySelector("[data-restore-when]").textContent = new Date(kept.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  bar.hidden = false;
  bar.querySelector("[data-restore-take]").addEventListener("click", () => { bar.hidden = true; editor.focus(); });
  bar.querySelector("[data-restore-drop]").addEventListener("click", () => {
    editor.replace(given);
    drop();
    stateOf.textContent = "draft discarded";
    bar.hidden = true;
    editor.focus();
  });
}
const reset = form.querySelector("[data-reset]");
reset.hidden = false;
reset.addEventListener("click", () => {
  editor.replace(starter); // an edit like any other: undo brings the text back
  editor.focus();
});

// --- submitting -----------------------------------------------------------------------------------------------------

function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  form.elements.token.value = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function showFailures() {
  const lines = (name, kind) => [...result.querySelectorAll(`[data-${name}-line]`)].map((node) => ({ line: Number(node.dataset[`${name}Line`]), kind }));
  const found = [...lines("fail", "fails"), ...lines("remark", "remarked")];
  editor.mark(found);
  if (found.length) editor.reveal(found[0].line);
}

async function refreshHistory() {
  const response = await fetch(location.pathname);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const selector of ["[data-history]", ".statement .meta"]) {
    const next = fresh.querySelector(selector), old = document.querySelector(selector);
    if (next && old) old.replaceWith(next);
  }
}

function finished() {
  button.disabled = false;
  showFailures();
  refreshHistory().catch(() => {}); // the list is a convenience: the next load has it
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  button.disabled = true;
  announce("Sent.");
  try {
    const response = await fetch(form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const part = page.querySelector("#result");
    if (!response.ok || !part) throw new Error("not a submission");
    drop();
    stateOf.textContent = `submitted ${clock(Date.now())}`;
    newToken();
    const link = document.createElement("p");
    link.className = "verdict-link";
    link.append(Object.assign(document.createElement("a"), { textContent: "Open on its own page" }));
    link.firstChild.href = new URL(response.url).pathname;
    results.querySelector(".verdict-link")?.remove();
    result.before(link);
    result.replaceChildren(...part.childNodes);
    if (matchMedia("(max-width: 64rem)").matches) results.scrollIntoView();
    if (result.querySelector("[data-live]")) follow(result, finished);
    else finished();
  } catch {
    button.disabled = false;
    form.submit(); // the plain way: the same token, so never twice, and the server's own page says what is wrong
  }
});

result.addEventListener("click", (event) => {
  const line = event.target.closest("[data-fail-line], [data-remark-line]");
  if (!line) return;
  event.preventDefault();
  editor.reveal(Number(line.dataset.failLine ?? line.dataset.remarkLine));
  editor.focus();
});

panes(document.querySelector("[data-panes]"));
