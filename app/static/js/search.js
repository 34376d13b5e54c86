// Suggestions under the search box: a combobox whose list the server fills. Without this the box is a plain form.

const form = document.querySelector("[data-find]");
const input = form.querySelector("input");
const list = document.createElement("ul");
const said = document.createElement("p");
let options = [], active = -1, asked = "", soon = 0, request;

list.id = "find-list";
list.className = "find-list";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "Suggestions");
list.hidden = true;
said.className = "visually-hidden";
said.setAttribute("role", "status");
form.append(list, said);
for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-expanded", "false"]]) {
  input.setAttribute(name, value);
}

function close() {
  list.hidden = true;
  active = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function mark(at) {
  active = at;
  options.forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
  if (at < 0) input.removeAttribute("aria-activedescendant");
  else {
    input.setAttribute("aria-activedescendant", options[at].id);
    options[at].scrollIntoView({ block: "nearest" });
  }
}

function show(found) {
  options = found.map(({ shelf, title, href }, i) => {
    const option = document.createElement("li");
    const kind = document.createElement("span");
    option.id = `find-${i}`;
    option.setAttribute("role", "option");
    option.dataset.href = href;
    kind.className = "find-kind";
    kind.textContent = shelf;
    option.append(title, " ", kind);
    return option;
  });
  list.replaceChildren(...options);
  list.hidden = !options.length;
  input.setAttribute("aria-expanded", String(!list.hidden));
  said.textContent = options.length ? `${options.length} suggestions` : "No suggestion";
  mark(-1);
}

async function ask() {
  const query = input.value.trim();
  if (query === asked) return;
  asked = query;
  request?.abort();
  if (query.length < 2) { close(); return; }
  request = new AbortController();
  try {
    const response = await fetch(`/search/suggest?q=${encodeURIComponent(query)}`, { signal: request.signal });
    if (response.ok && document.activeElement === input) show(await response.json());
  } catch (error) {
    if (error.name !== "AbortError") close(); // offline: the form still works once the server is back
  }
}

const go = (option) => { location.assign(option.dataset.href); };

input.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(ask, 120); });
input.addEventListener("keydown", (event) => {
  if (list.hidden) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    mark((active + 1 + step + options.length + 1) % (options.length + 1) - 1);
  } else if (event.key === "Enter" && active >= 0) {
    event.preventDefault();
    go(options[active]);
  } else if (event.key === "Escape") {
    event.preventDefault();
    close();
  }
});
input.addEventListener("blur", close);
list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the box
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) go(option);
});
ask();
