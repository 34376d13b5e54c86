// A draft on its way to the server: saved when typing pauses, and at least every few seconds while it goes on. The
// browser keeps a copy of its own, which is there when the server is not.

const IDLE = 1200, TYPING = 3500, AGAIN = 5000, COPY = 200; // milliseconds
const LONGEST = 60_000; // bytes that a browser still sends for a page that is being closed

const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
export const moment = (at) => new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** The browser's copy of one person's draft of one drill. */
export function copyOf(owner, drill) {
  const key = `draft:${owner}:${drill}`;
  return {
    read() {
      try { return JSON.parse(localStorage.getItem(key) ?? "null"); } catch { return null; }
    },
    write(text, base) {
      try { localStorage.setItem(key, JSON.stringify({ text, base, at: Date.now() })); return true; } catch { return false; }
    },
    drop() { localStorage.removeItem(key); },
  };
}

/**
 * Saves what `text()` gives. `say(kind, words)` is told how it stands: "changed", "saving", "saved", "offline", "kept",
 * "refused", "conflict". `conflict(answer)` is called when somebody else saved first; nothing is saved until `resolve`.
 */
export function saver({ address, copy, owner, base, saved, text, say, conflict }) {
  let idle = 0, longest = 0, again = 0, copying = 0;
  let known = saved, busy = null, stopped = false, kind = "";

  const tell = (now, words) => { kind = now; say(now, words); };
  const keep = () => { clearTimeout(copying); copying = 0; return copy.write(text(), base); };

  async function send(auto, keepalive = false) {
    const body = text();
    if (body === known && auto) return true;
    const fields = new URLSearchParams({ source: body, base: String(base), auto: auto ? "1" : "" });
    if (kind !== "offline") tell("saving", "saving…");
    let response;
    try {
      response = await fetch(address, { method: "POST", body: fields, headers: { accept: "application/json" }, keepalive });
    } catch {
      return failed();
    }
    if (response.status === 409) return collided(await response.json());
    if (response.status === 422) { tell("refused", (await response.json()).message); return false; }
    if (response.status === 401) { tell("refused", "signed out: this browser keeps your text. Sign in again to save it."); return false; }
    if (!response.ok) return failed();
    const answer = await response.json();
    base = answer.version;
    known = body;
    tell("saved", `saved ${clock(answer.saved_at)}`);
    if (text() === body) {
      if (copy.read()?.text === body) copy.drop();
    } else later();
    return true;
  }

  function failed() {
    keep();
    tell("offline", `offline: kept in this browser, ${clock(Date.now())}`);
    clearTimeout(again);
    again = setTimeout(flush, AGAIN);
    return false;
  }

  function collided(answer) {
    stopped = true;
    keep();
    tell("conflict", "changed elsewhere: both texts are kept");
    conflict(answer);
    return false;
  }

  function alone() {
    const kept = text() === known || keep();
    if (text() !== known) tell("kept", kept ? `kept in this browser, ${clock(Date.now())}` : "this browser keeps no draft");
    return kept;
  }

  /** Save now, if there is anything to save. */
  async function flush(auto = true) {
    for (const timer of [idle, longest, again]) clearTimeout(timer);
    idle = longest = again = 0;
    if (!owner) return alone();
    if (stopped) return false;
    while (busy) await busy;
    busy = send(auto);
    try { return await busy; } finally { busy = null; }
  }

  function later() {
    clearTimeout(idle);
    idle = setTimeout(flush, IDLE);
    if (!longest) longest = setTimeout(flush, TYPING);
  }

  addEventListener("online", () => flush());
  addEventListener("pagehide", () => {
    if (text() === known) return;
    keep();
    if (owner && !stopped && !busy) send(true, text().length < LONGEST).catch(() => {});
  });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") flush(); });

  return {
    flush,
    changed() {
      if (!copying) copying = setTimeout(keep, COPY);
      if (!owner) {
        clearTimeout(idle);
        idle = setTimeout(alone, IDLE);
        return;
      }
      if (stopped || kind === "offline") return;
      tell("changed", "changed");
      later();
    },
    /** Go on after a conflict, with the other's version as the base. `theirs` is the text that is there now. */
    resolve(version, theirs) {
      base = version;
      known = theirs;
      stopped = false;
      return flush(false);
    },
    get base() { return base; },
  };
}
