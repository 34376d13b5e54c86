// The bench: the editor over the textarea, the draft, and the verdict of a run or a submission in the third pane.

import { copyOf, moment, saver } from "./drafts.js";
import { mount } from "./editor.js";
import { announce, follow } from "./live.js";
import { panes } from "./panes.js";

const form = document.querySelector("[data-workspace]");
const textarea = form.querySelector("#code");
const results = document.querySelector("#results");
const result = results.querySelector("[data-result]");
const stateOf = form.querySelector("[data-draft-state]");
const starter = form.querySelector("[data-starter]").value;
const { drill, owner } = form.dataset;
const given = textarea.value;
const buttons = { save: form.querySelector("[data-save]"), run: form.querySelector("[data-run]"), submit: form.querySelector("[data-submit]") };
const addressOf = (button) => button.getAttribute("formaction") ?? form.action;
const press = (button) => () => { if (button && !button.disabled) form.requestSubmit(button); };

// --- the editor and the draft -----------------------------------------------------------------------------------------

const editor = mount(textarea, {
  changed: () => draft.changed(),
  run: press(buttons.run ?? buttons.submit),
  submit: press(buttons.submit),
  save: () => keepDraft(),
  vim: form.dataset.editorKeys === "vim",
  reads: (place) => {
    const note = form.querySelector("[data-syntax]");
    note.hidden = !place;
    note.textContent = place ? `Line ${place.line} does not read as Python yet.` : "";
  },
  leave: () => { (buttons.run ?? buttons.submit).focus(); announce("You left the editor. Tab moves on; Shift+Tab goes back into it."); },
});
const mac = /Mac|iP/.test(navigator.platform);
const mod = mac ? "⌘" : "Ctrl";
form.querySelector("[data-editor-help]").textContent = `${mod}+Enter runs, with Shift it submits. Esc leaves the editor.`;
form.querySelector("label[for=code]").addEventListener("click", () => editor.focus());

let said = "";
function say(kind, words) {
  stateOf.textContent = words;
  stateOf.dataset.kind = kind;
  if (kind === "changed" || kind === "saving") return;
  if (kind !== said) announce(words);
  said = kind;
}
const copy = copyOf(owner, drill);
const draft = saver({
  address: form.querySelector("[data-save]")?.formAction ?? "", copy, owner, base: Number(form.elements.base.value),
  saved: given, text: () => editor.text(), say, conflict: collided,
});

async function keepDraft() {
  await draft.flush(false);
}

function collided(answer) {
  const bar = form.querySelector("[data-conflict]");
  bar.querySelector("[data-conflict-when]").textContent = moment(answer.saved_at);
  bar.querySelector("[data-conflict-compare]").href = answer.compare;
  bar.hidden = false;
  const discard = () => fetch(answer.compare + "/discard", { method: "POST", redirect: "manual" }).catch(() => {});
  const end = () => { bar.hidden = true; editor.focus(); };
  bar.querySelector("[data-conflict-mine]").onclick = async () => { end(); if (await draft.resolve(answer.version, answer.source)) discard(); };
  bar.querySelector("[data-conflict-theirs]").onclick = () => { editor.replace(answer.source); end(); draft.resolve(answer.version, answer.source); };
}

// What this browser kept and the server has not: written before an account, or while there was no connection.
const alone = owner ? copyOf("", drill) : null;
const left = copy.read() ?? alone?.read();
if (left && left.text !== given) offer(left);
else { copy.drop(); alone?.drop(); }

function offer(text) {
  const bar = form.querySelector("[data-restore]"), from = moment(text.at);
  const forget = () => { copy.drop(); alone?.drop(); bar.hidden = true; };
  const untouched = text.base === draft.base || form.dataset.from === "starter";
  const ask = (words, take) => {
    bar.querySelector("[data-restore-text]").textContent = words;
    bar.querySelector("[data-restore-take]").textContent = take;
    bar.hidden = false;
  };
  if (untouched) {
    editor.replace(text.text);
    say("kept", owner ? `restored what this browser kept, ${from}` : `your draft of ${from}`);
    if (!owner) return;
    ask(`The text of ${from} had not reached the server. It is in the editor now.`, "Keep it");
  } else {
    ask(`This browser kept a text of ${from} that never reached the server; the draft has changed since.`, "Restore it");
  }
  bar.querySelector("[data-restore-take]").onclick = () => {
    if (!untouched) editor.replace(text.text);
    draft.flush(false).then((kept) => { if (kept) forget(); });
    editor.focus();
  };
  bar.querySelector("[data-restore-compare]").onclick = async () => {
    const fields = new URLSearchParams({ source: text.text, base: "0" });
    const response = await fetch(buttons.save.formAction, { method: "POST", body: fields, headers: { accept: "application/json" } }).catch(() => null);
    const answer = await response?.json();
    if (response) location.assign(answer.compare ?? `/drills/${drill}/diff?old=starter&new=draft`);
  };
  bar.querySelector("[data-restore-drop]").onclick = () => {
    if (untouched) editor.replace(given);
    forget();
    say("kept", "discarded");
    editor.focus();
  };
}

const reset = form.querySelector("[data-reset]");
reset.addEventListener("click", () => {
  if (reset.dataset.before !== undefined) {
    editor.replace(reset.dataset.before);
    delete reset.dataset.before;
    reset.textContent = "Back to the starter";
  } else {
    reset.dataset.before = editor.text();
    editor.replace(starter); // an edit like any other: undo brings the text back, and so does the button
    reset.textContent = "Undo the reset";
    announce("The starter is back. The same button undoes it.");
  }
  editor.focus();
});

// --- running and submitting --------------------------------------------------------------------------------------------

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

async function refresh() {
  const response = await fetch(location.pathname);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const selector of ["[data-history]", ".statement .meta", "[data-predict]", "[data-editorial]"]) {
    const next = fresh.querySelector(selector), old = document.querySelector(selector);
    if (next && old) old.replaceWith(next);
  }
}

function busy(on) {
  for (const button of [buttons.run, buttons.submit]) if (button) button.disabled = on;
}

function finished() {
  busy(false);
  showFailures();
  refresh().catch(() => {}); // the list is a convenience: the next load has it
}

async function send(button) {
  const body = new URLSearchParams(new FormData(form));
  busy(true);
  announce(button === buttons.run ? "Running." : "Sent.");
  try {
    draft.flush();
    const response = await fetch(addressOf(button), { method: "POST", body });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const part = page.querySelector("#result");
    if (!response.ok || !part) throw new Error("not a submission");
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
    busy(false);
    if (!navigator.onLine) { announce("Offline: nothing was sent. Your text is kept."); say("offline", "offline: nothing was sent, your text is kept"); return; }
    form.action = addressOf(button);
    form.submit(); // the plain way: the same token, so never twice, and the server's own page says what is wrong
  }
}

/** The next hint, in place: what is typed stays where it is. */
async function openHint(button) {
  button.disabled = true;
  const body = new URLSearchParams({ hint: button.value });
  try {
    const response = await fetch(addressOf(button), { method: "POST", body });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-hints]");
    if (!response.ok || !fresh) throw new Error("no hint");
    document.querySelector("[data-hints]").replaceWith(fresh);
    const last = fresh.querySelector("li:last-child");
    last.tabIndex = -1;
    last.focus();
    announce("The hint is open.");
  } catch {
    button.disabled = false;
    announce("The hint could not be opened. Try again.");
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.submitter ?? buttons.submit;
  if (button === buttons.save) keepDraft();
  else if (button.matches("[data-hint]")) openHint(button);
  else send(button);
});
document.addEventListener("keydown", (event) => { // the same keys outside of the editor
  if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  if (event.key === "Enter") { event.preventDefault(); press(event.shiftKey ? buttons.submit : buttons.run ?? buttons.submit)(); }
  else if (event.key.toLowerCase() === "s" && !event.shiftKey && !event.altKey) { event.preventDefault(); keepDraft(); }
});

result.addEventListener("click", (event) => {
  const line = event.target.closest("[data-fail-line], [data-remark-line]");
  if (!line) return;
  event.preventDefault();
  editor.reveal(Number(line.dataset.failLine ?? line.dataset.remarkLine));
  editor.focus();
});

// Taking something back stays on this page: its stream says what came of it. A form that only leaves the page saves first.
result.addEventListener("submit", async (event) => {
  draft.flush();
  if (!event.target.action.endsWith("/cancel")) return;
  event.preventDefault();
  event.submitter?.setAttribute("disabled", "");
  const answer = await fetch(event.target.action, { method: "POST", redirect: "manual" }).catch(() => null);
  if (!answer) { event.submitter?.removeAttribute("disabled"); announce("That did not reach the server. Try again."); }
});

panes(document.querySelector("[data-panes]"));
