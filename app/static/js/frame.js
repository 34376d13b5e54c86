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
