// A submission's progress over server-sent events: each one carries the fragment that replaces the last.
// htmx and its event extension would do the same in 16 KB; this page needs one stream and says so in 1.

const LAST = ["verdict", "cancelled"];

/** Say a sentence to screen readers, politely. */
export function announce(text) {
  const region = document.querySelector("[data-announce]");
  if (region) region.textContent = text;
}

/** Follow the live fragment inside `holder` until its verdict; `ended(holder, event)` is called once, with the last event's name. */
export function follow(holder, ended = () => {}) {
  const live = holder.querySelector("[data-live]");
  if (!live?.dataset.stream || live.dataset.state === "cancelled") return;
  const address = new URL(live.dataset.stream, location.href);
  address.searchParams.set("after", live.dataset.after);
  const stream = new EventSource(address);
  let state = live.dataset.state;

  const swap = (html) => {
    const parsed = new DOMParser().parseFromString(html, "text/html");
    const focused = holder.contains(document.activeElement);
    holder.replaceChildren(...parsed.body.childNodes);
    if (focused) holder.querySelector("button, a, summary")?.focus({ preventScroll: true });
  };
  stream.addEventListener("progress", (event) => {
    swap(event.data);
    const now = holder.querySelector("[data-live]");
    if (now && now.dataset.state !== state) announce(now.querySelector("[data-sentence]")?.textContent ?? "");
    state = now?.dataset.state ?? state;
  });
  for (const name of LAST) {
    stream.addEventListener(name, (event) => {
      stream.close();
      swap(event.data);
      const outcome = holder.querySelector(".verdict-outcome")?.textContent.trim();
      announce([outcome, holder.querySelector("[data-sentence]")?.textContent.trim()].filter(Boolean).join(". "));
      ended(holder, name);
    });
  }
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) return;
    const note = document.createElement("p");
    note.className = "live-lost";
    note.append("The live connection is lost. ");
    const again = document.createElement("a");
    again.href = `/submissions/${address.pathname.split("/")[2]}`;
    again.textContent = "Look again";
    note.append(again);
    holder.querySelector("[data-live]")?.append(note);
  });
}

const page = document.querySelector("#result[data-result]");
if (page) {
  follow(page, (_, name) => {
    if (name === "verdict") document.querySelector("main > .section .source")?.closest(".section")?.remove();
  });
}
