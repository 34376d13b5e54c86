// Panes whose widths a reader sets by pointer or arrow keys; kept in this browser.

const LEAST = 240;

/** Give life to the dividers inside `panes`. Each names the custom property it moves; the last one grows leftwards. */
export function panes(panes) {
  const key = `panes:${panes.dataset.panes}`;
  let widths = {};
  try { widths = JSON.parse(localStorage.getItem(key) ?? "{}"); } catch { /* a broken entry counts as none */ }

  for (const divider of panes.querySelectorAll("[data-divider]")) {
    const name = divider.dataset.divider, grows = name === "results" ? -1 : 1;
    const pane = panes.querySelector(`#${name}`);
    const set = (width, keep = true) => {
      const most = panes.clientWidth * 0.45;
      const now = Math.round(Math.min(Math.max(width, LEAST), most));
      panes.style.setProperty(`--${name}`, `${now}px`);
      divider.setAttribute("aria-valuenow", String(now));
      divider.setAttribute("aria-valuemin", String(LEAST));
      divider.setAttribute("aria-valuemax", String(Math.round(most)));
      widths[name] = now;
      if (keep) localStorage.setItem(key, JSON.stringify(widths));
    };
    set(widths[name] ?? pane.getBoundingClientRect().width, false);
    divider.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
      if (!step) return;
      event.preventDefault();
      set(pane.getBoundingClientRect().width + step * grows);
    });
    divider.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      divider.setPointerCapture(event.pointerId);
      const start = event.clientX, width = pane.getBoundingClientRect().width;
      const move = (moved) => set(width + (moved.clientX - start) * grows);
      divider.addEventListener("pointermove", move);
      divider.addEventListener("lostpointercapture", () => divider.removeEventListener("pointermove", move), { once: true });
    });
    divider.addEventListener("dblclick", () => {
      panes.style.removeProperty(`--${name}`);
      delete widths[name];
      localStorage.setItem(key, JSON.stringify(widths));
    });
  }
}
