// Following a record that is being written: what comes replaces what is shown, and what a reader has opened, focused
// or scrolled to stays where it is. Without this script the page loads itself again from time to time.
"use strict";
(() => {
  const { events, seen, final, alone } = document.body.dataset;
  if (!events) return;
  const main = document.getElementById("content");
  const panel = document.querySelector(".live");
  const say = (kind, state, message) => {
    panel.className = "live " + kind;
    document.getElementById("state").textContent = state;
    document.getElementById("message").textContent = message;
  };

  // A key is the same for the same thing in the next picture.
  const home = e => { const h = e.parentElement.closest("[id]"); return h ? h.id : ""; };
  const name = e => e.getAttribute("aria-label") || (e.tagName === "DETAILS" ? e.querySelector("summary") : e).textContent.slice(0, 200);
  const key = e => e.id || [home(e), e.tagName, name(e)].join("|");
  const keyed = (root, selector) => new Map(Array.from(root.querySelectorAll(selector), e => [key(e), e]));

  const focusable = "a[href], button, summary, [tabindex]";
  // What is next to the upper edge of the window stays there, also if something is new above it.
  const anchor = () => {
    let best = null;
    for (const e of main.querySelectorAll("section[id], figure[id], details")) {
      const box = e.getBoundingClientRect();
      if (box.height > 0 && box.bottom > 0 && box.top < innerHeight && (!best || Math.abs(box.top) < Math.abs(best.top))) best = { key: key(e), top: box.top };
    }
    return best;
  };
  const replace = text => {
    const next = document.createElement("template");
    next.innerHTML = text;
    const open = new Set(Array.from(main.querySelectorAll("details[open]"), key));
    const scrolled = Array.from(main.querySelectorAll(".scroll, pre")).filter(e => e.scrollLeft || e.scrollTop).map(e => [key(e), e.scrollLeft, e.scrollTop]);
    const active = main.contains(document.activeElement) ? document.activeElement : null;
    const at = scrollY > 0 ? anchor() : null, focused = active && key(active);
    for (const e of next.content.querySelectorAll("details")) e.open = open.has(key(e));
    for (const e of main.querySelectorAll("figure.zooming")) { // who looks closer is not disturbed
      const place = next.content.getElementById(e.id);
      if (place) place.replaceWith(e);
    }
    main.replaceChildren(next.content);
    zoom.attach();
    const boxes = keyed(main, ".scroll, pre");
    for (const [k, left, top] of scrolled) if (boxes.has(k)) boxes.get(k).scrollTo(left, top);
    if (at) {
      const e = keyed(main, "section[id], figure[id], details").get(at.key);
      if (e) scrollBy({ top: e.getBoundingClientRect().top - at.top, behavior: "instant" });
    }
    if (active) {
      const e = main.contains(active) ? active : keyed(main, focusable).get(focused);
      if (e) e.focus({ preventScroll: true });
    }
  };

  // Who marks text to copy it is not disturbed either; the picture waits.
  let waiting = null;
  const marking = () => { const s = getSelection(); return !s.isCollapsed && main.contains(s.anchorNode); };
  const flush = () => { if (waiting !== null && !marking()) { const text = waiting; waiting = null; replace(text); } };
  document.addEventListener("selectionchange", () => { if (!marking()) flush(); });

  let last = seen, source = null, ended = false;
  const connect = () => {
    source = new EventSource(events + "?seen=" + encodeURIComponent(last));
    source.addEventListener("open", () => say("", "Running", ""));
    source.addEventListener("picture", e => { last = e.lastEventId; waiting = e.data; flush(); });
    source.addEventListener("now", e => { document.getElementById("now").innerHTML = e.data; });
    source.addEventListener("end", () => {
      ended = true;
      source.close();
      document.getElementById("now").textContent = "";
      document.getElementById("actions").replaceChildren();
      if (alone === undefined) {
        say("ended", "Ended", "This is the final report.");
        history.replaceState(null, "", final);
        return;
      }
      // What served this page ends with the record, so nothing of it can be opened any longer.
      for (const e of document.querySelectorAll(".crumbs")) e.remove();
      for (const e of main.querySelectorAll('a[href^="/"]')) e.removeAttribute("href");
      say("ended", "Ended", "This is the final report. This page ends with the command and cannot be loaded again; plimsoll report makes a file of the record.");
    });
    source.addEventListener("error", () => {
      if (ended) return;
      document.getElementById("now").textContent = "";
      say("lost", "Not connected", "The connection to plimsoll is lost, so this page may be out of date. It reconnects automatically.");
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };
  connect();
})();
