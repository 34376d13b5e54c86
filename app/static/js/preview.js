// Previews of terms and of other pages of the course, on hover and on focus. They stay while the pointer is on the link
// or on the preview, go with Escape, and hold nothing that the link itself does not lead to (WCAG 1.4.13).

const LINKS = ".prose a[data-term], .prose a[href], .margin a[href]";
const ITEM = /^\/(cards|questions|tracks|drills)\/([a-z0-9_-]+)$/;
const WAIT = 280, LINGER = 220;

const box = document.createElement("div");
box.id = "preview";
box.className = "preview no-print";
box.setAttribute("role", "tooltip");
box.hidden = true;
document.body.append(box);

const fetched = new Map();
let link = null, soon = 0, later = 0;

function source(anchor) {
  if (anchor.dataset.term) return `/previews/terms/${anchor.dataset.term}`;
  const { origin, pathname } = new URL(anchor.href, location.href);
  const [, shelf, id] = (origin === location.origin && pathname !== location.pathname && ITEM.exec(pathname)) || [];
  return shelf ? `/previews/${shelf}/${id}` : null;
}

function read(address) {
  if (!fetched.has(address)) {
    fetched.set(address, fetch(address).then((answer) => (answer.ok ? answer.text() : "")).catch(() => { fetched.delete(address); return ""; }));
  }
  return fetched.get(address);
}

function place(anchor) {
  const lines = [...anchor.getClientRects()];
  const at = lines[0], gap = 8;
  const { clientWidth: wide, clientHeight: high } = document.documentElement;
  const { offsetWidth: w, offsetHeight: h } = box;
  const below = lines.at(-1).bottom + gap;
  const top = below + h <= high || at.top < h + gap ? below : at.top - h - gap;
  box.style.left = `${Math.max(gap, Math.min(at.left, wide - w - gap)) + scrollX}px`;
  box.style.top = `${top + scrollY}px`;
}

async function show(anchor) {
  const html = await read(source(anchor));
  if (!html || link !== anchor) return;
  box.innerHTML = html; // the server's own fragment, escaped there
  box.hidden = false;
  anchor.setAttribute("aria-describedby", box.id);
  place(anchor);
}

function hide() {
  clearTimeout(soon);
  clearTimeout(later);
  link?.removeAttribute("aria-describedby");
  link = null;
  box.hidden = true;
}

function come(anchor, wait) {
  clearTimeout(later);
  if (anchor === link || !source(anchor)) return;
  hide();
  link = anchor;
  soon = setTimeout(show, wait, anchor);
}

const leave = () => { clearTimeout(later); later = setTimeout(hide, LINGER); };

document.addEventListener("pointerover", (event) => {
  if (event.pointerType === "touch") return;
  if (box.contains(event.target)) { clearTimeout(later); return; }
  const anchor = event.target.closest?.(LINKS);
  if (anchor) come(anchor, WAIT);
  else if (link && document.activeElement !== link) leave();
});
document.addEventListener("focusin", (event) => {
  const anchor = event.target.closest?.(LINKS);
  if (anchor?.matches(":focus-visible")) come(anchor, WAIT);
  else hide();
});
document.addEventListener("focusout", leave);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || box.hidden) return;
  event.stopPropagation();
  hide();
}, true);
document.addEventListener("click", hide);
addEventListener("resize", hide);

// This module comes with the first movement, which may have ended on a link already.
const already = [...document.querySelectorAll(LINKS)].find((anchor) => anchor.matches(":hover, :focus-visible"));
if (already) come(already, WAIT);
