// The desk by keyboard: digits choose an item of the active criterion and go on to the next one.
// Without JavaScript the same form works with Tab, arrows and Enter.

const form = document.querySelector("[data-scoring]");
const criteria = form ? [...form.querySelectorAll("[data-criterion]:not([disabled])")] : [];
let at = Math.max(0, criteria.findIndex((one) => !one.querySelector("input:checked")));

function show(index, scroll = true) {
  if (!criteria.length) return;
  at = Math.max(0, Math.min(criteria.length - 1, index));
  criteria.forEach((one, n) => one.classList.toggle("is-active", n === at));
  if (scroll) criteria[at].scrollIntoView({ block: "nearest" });
}

function total() {
  const sum = form?.querySelector("[data-total]");
  if (!sum) return;
  let points = 0;
  for (const one of criteria) {
    const chosen = one.querySelector("input[type=radio]:checked");
    if (!chosen) continue;
    const shown = chosen.closest(".choice").querySelector(".choice-points");
    points += Number(shown ? shown.textContent : one.querySelector("[name^=points-]").value) || 0;
  }
  sum.textContent = String(points);
}

function choose(key) {
  const input = criteria[at]?.querySelector(`[data-key="${key}"]`);
  if (!input) return;
  input.checked = true;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  show(at + 1);
}

function other() {
  const input = criteria[at]?.querySelector("[data-new]");
  if (!input) return;
  input.checked = true;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  criteria[at].querySelector("[name^=points-]").focus();
}

function next() {
  const links = [...document.querySelectorAll(".queue [data-queue]")];
  const here = links.findIndex((link) => link.hasAttribute("aria-current"));
  const link = links[here + 1] ?? document.querySelector(".desk-empty [data-queue]");
  link?.click();
}

const keys = {
  j: () => show(at + 1),
  k: () => show(at - 1),
  e: other,
  c: () => criteria[at]?.querySelector("[data-comment]").focus(),
  o: () => form?.querySelector("[data-overall]")?.focus(),
  n: next,
  t: () => document.querySelector("[data-take]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    const save = form?.querySelector("[data-next]");
    if (save) { event.preventDefault(); form.requestSubmit(save); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("textarea, select, input:not([type=radio])");
  if (typing) {
    if (event.key === "Escape") { typing.blur(); show(at); }
    return;
  }
  if (document.body.dataset.shortcuts === "off" || document.querySelector("dialog[open]")) return;
  if (/^[1-9]$/.test(event.key)) { choose(event.key); event.preventDefault(); return; }
  const act = keys[event.key];
  if (act) { event.preventDefault(); act(); }
});

if (form && criteria.length) {
  form.addEventListener("input", total);
  form.addEventListener("change", total);
  form.addEventListener("focusin", (event) => {
    const index = criteria.indexOf(event.target.closest("[data-criterion]"));
    if (index >= 0) show(index, false);
  });
  show(at, false);
  total();
}
