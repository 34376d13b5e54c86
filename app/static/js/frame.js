// What every page does with JavaScript: the theme changes without a reload, code blocks get a copy button.

for (const form of document.querySelectorAll("[data-themes]")) {
  form.addEventListener("submit", (event) => {
    const theme = event.submitter?.value;
    if (!theme) return;
    event.preventDefault();
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `theme=${theme}; path=/; max-age=31536000; SameSite=Lax${secure}`;
    document.documentElement.dataset.theme = theme;
    for (const button of form.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    }
    document.dispatchEvent(new CustomEvent("theme", { detail: theme }));
  });
}

for (const block of document.querySelectorAll(".prose pre, pre[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy no-print";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const code = block.querySelector("code") ?? block;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      getSelection().selectAllChildren(code);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  const holder = document.createElement("div");
  holder.className = "copyable";
  block.replaceWith(holder);
  holder.append(block, button);
}

// A formula that is wider than its column scrolls, so the keyboard must reach it; one that fits is no stop.
const formulas = document.querySelectorAll(".math-block");
const reachable = () => {
  for (const formula of formulas) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    else formula.removeAttribute("tabindex");
  }
};
if (formulas.length) {
  new ResizeObserver(reachable).observe(document.body);
  document.fonts.ready.then(reachable);
}

// Signing out takes drafts and private answers with it.
for (const form of document.querySelectorAll('form[action="/sign-out"]')) {
  form.addEventListener("submit", () => {
    for (const key of Object.keys(localStorage)) if (/^(draft|attempt):/.test(key)) localStorage.removeItem(key);
  });
}

// "Try to answer first" stays in this browser.
for (const box of document.querySelectorAll("[data-attempt]")) {
  const key = `attempt:${box.closest("[data-try]").dataset.try}`;
  box.value = localStorage.getItem(key) ?? "";
  box.addEventListener("input", () => localStorage.setItem(key, box.value));
}

// The contents beside an article follow the reading.
const contents = document.querySelector("[data-toc]");
if (contents) {
  const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.id);
    const current = [...links.keys()].find((id) => seen.has(id));
    if (current === undefined) return;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-10% 0px -60% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
}

// Suggestions are fetched with their module when the search box is used.
const find = document.querySelector("[data-find] input");
find?.addEventListener("focus", () => import("./search.js"), { once: true });

// What only some pages have comes in a module of its own, when it is nearly in view or about to be used.
const parts = new Map([["data-worked", "worked"], ["data-live", "figures"]]);
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    for (const [mark, module] of parts) if (target.hasAttribute(mark)) import(`./${module}.js`);
  }
}, { rootMargin: "100% 0px" });
for (const figure of document.querySelectorAll("figure[data-worked], figure[data-live]")) near.observe(figure);
if (document.querySelector(".prose a, .margin a")) {
  for (const first of ["pointermove", "focusin"]) addEventListener(first, () => import("./preview.js"), { once: true });
}
