// Worked numbers whose inputs a reader may change. The table is the server's; this puts a field in place of each given
// number and recomputes the rest as one types. The address keeps the inputs: ?block.name=value. Numbers of the text that
// come from a changed block are marked: they hold for the inputs as printed.

import { compute } from "./arithmetic.js";

const GAP = "\u202f";
const params = () => new URLSearchParams(location.search);

function field(row, cell, block) {
  const input = document.createElement("input");
  const label = cell.closest("tr").querySelector("th").textContent;
  input.type = "text";
  input.inputMode = "decimal";
  input.autocomplete = "off";
  input.spellcheck = false;
  input.maxLength = 40;
  input.className = "worked-input";
  input.value = cell.textContent.slice(0, row.unit ? -(row.unit.length + 1) : undefined).replace(/^≈./, "");
  input.setAttribute("aria-label", row.unit ? `${label}, in ${row.unit}` : label);
  input.setAttribute("aria-describedby", `worked-${block}-state`);
  const fit = () => { input.style.width = `${Math.min(Math.max(input.value.length, 1), 24)}ch`; };
  input.addEventListener("input", fit);
  fit();
  cell.replaceChildren(input, row.unit ? GAP + row.unit : "");
  return { input, fit, written: input.value };
}

function bring(figure) {
  const block = figure.id.replace(/^worked-/, "");
  const rows = JSON.parse(figure.dataset.worked);
  const cells = new Map([...figure.querySelectorAll("tr[data-name]")].map((line) => [line.dataset.name, line.querySelector(".worked-value")]));
  const fields = new Map(rows.filter((row) => row.tree === undefined).map((row) => [row.name, field(row, cells.get(row.name), block)]));
  if (!fields.size) return;

  const foot = document.createElement("div");
  foot.className = "worked-foot no-print visually-hidden"; // takes no room until there is something to say
  const state = document.createElement("p");
  state.id = `worked-${block}-state`;
  state.setAttribute("aria-live", "polite");
  const reset = document.createElement("button");
  reset.type = "button";
  reset.className = "link-button";
  reset.textContent = "Reset";
  foot.append(state, reset);
  figure.append(foot);

  const quoted = document.querySelectorAll(`.num[data-ref^="${block}."]`);
  const changed = () => [...fields].filter(([, { input, written }]) => input.value !== written);
  const names = new Map(rows.map((row) => [row.name, cells.get(row.name).closest("tr").querySelector("th").textContent]));

  function show() {
    const inputs = Object.fromEntries(changed().map(([name, { input }]) => [name, input.value]));
    const found = compute(rows, inputs);
    const wrong = [];
    for (const row of rows) {
      const { text, problem } = found[row.name];
      const own = fields.get(row.name);
      if (own) {
        own.input.toggleAttribute("aria-invalid", false);
        if (problem) own.input.setAttribute("aria-invalid", "true");
      } else {
        cells.get(row.name).textContent = text ?? "–";
        cells.get(row.name).classList.toggle("is-missing", !text);
      }
      if (problem && !problem.startsWith("This needs")) wrong.push(`${names.get(row.name)}: ${problem}`);
    }
    const any = Object.keys(inputs).length > 0;
    const results = rows.filter((row) => row.kind === "result" && found[row.name].text).map((row) => `${names.get(row.name)} ${found[row.name].text}`);
    for (const number of quoted) {
      number.classList.toggle("as-printed", any);
      number.toggleAttribute("title", any);
      if (any) number.title = "for the inputs as printed";
    }
    foot.classList.toggle("visually-hidden", !any);
    foot.classList.toggle("is-wrong", wrong.length > 0);
    reset.hidden = !any;
    state.replaceChildren(wrong.join(" ") || (any ? (quoted.length ? "Your numbers; the text keeps those of the inputs as printed, dotted." : "Your numbers.") : "Change a number to see the others follow."));
    if (any && !wrong.length) {
      const said = document.createElement("span");
      said.className = "visually-hidden";
      said.textContent = ` ${results.join("; ")}.`;
      state.append(said);
    }
  }

  function keep() {
    const search = params();
    for (const [name, { input, written }] of fields) {
      if (input.value === written) search.delete(`${block}.${name}`);
      else search.set(`${block}.${name}`, input.value);
    }
    const query = search.size ? `?${search}` : "";
    history.replaceState(history.state, "", `${location.pathname}${query}${location.hash}`);
  }

  let soon = 0;
  figure.addEventListener("input", () => {
    show();
    clearTimeout(soon);
    soon = setTimeout(keep, 400);
  });
  reset.addEventListener("click", () => {
    for (const each of fields.values()) { each.input.value = each.written; each.fit(); }
    show();
    keep();
    [...fields.values()][0].input.focus();
  });
  let linked = false;
  for (const [name, each] of fields) {
    const given = params().get(`${block}.${name}`);
    if (given !== null) { each.input.value = given.slice(0, 40); each.fit(); linked = true; }
  }
  if (linked) figure.querySelector("details")?.setAttribute("open", "");
  show();
}

for (const figure of document.querySelectorAll("figure[data-worked]")) bring(figure);
