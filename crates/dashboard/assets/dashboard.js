// Keeps the page of an order up to date. Everything it puts there was made, and escaped, on the server.
(() => {
  "use strict";
  const page = document.getElementById("page");
  if (!page || !window.EventSource) return;
  const MOST = 800;
  const link = document.getElementById("link");
  const made = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  };
  const reachable = "a,button,summary,input,textarea,select,[tabindex]";

  // What was unfolded stays so, and whoever is in it with the keyboard stays there.
  const replace = (old, html) => {
    const fresh = made(html);
    const folds = old.querySelectorAll("details");
    fresh.querySelectorAll("details").forEach((one, place) => { if (folds[place]?.open) one.open = true; });
    const at = old.contains(document.activeElement) ? [...old.querySelectorAll(reachable)].indexOf(document.activeElement) : -1;
    old.replaceWith(fresh);
    if (at >= 0) fresh.querySelectorAll(reachable)[at]?.focus({ preventScroll: true });
  };

  const runs = document.getElementById("runs");
  const run = (name) => document.getElementById("run-" + name);
  const begin = (name, title) => {
    // What is over can be read with its step.
    run(name)?.remove();
    runs.querySelectorAll("[data-ended]").forEach((one) => one.remove());
    const section = document.createElement("section");
    section.className = "live";
    section.id = "run-" + name;
    const heading = document.createElement("h3");
    heading.textContent = title + " ";
    const mark = document.createElement("span");
    mark.className = "badge working";
    mark.textContent = "live";
    heading.append(mark);
    const said = document.createElement("div");
    said.className = "said";
    said.tabIndex = 0;
    said.setAttribute("role", "log");
    said.setAttribute("aria-label", "What " + title + " says");
    section.append(heading, said);
    runs.append(section);
  };

  const take = {
    part({ id, into, html }) {
      const old = document.getElementById(id);
      if (old) replace(old, html);
      else document.getElementById(into)?.append(made(html));
    },
    progress({ text }) { Object.assign(document.getElementById("progress"), { textContent: text, hidden: !text }); },
    "run-begun"({ run: name, name: title }) { begin(name, title); },
    "run-ended"({ run: name }) {
      const mark = run(name)?.querySelector(".badge");
      if (run(name)) run(name).dataset.ended = "";
      if (mark) { mark.textContent = "ended"; mark.className = "badge quiet"; }
    },
    words({ run: name, html }) {
      const said = run(name)?.querySelector(".said");
      if (!said) return;
      const follows = said.scrollHeight - said.scrollTop - said.clientHeight < 60;
      const holder = document.createElement("template");
      holder.innerHTML = html;
      said.append(holder.content);
      while (said.childElementCount > MOST) said.firstElementChild.remove();
      if (follows) said.scrollTop = said.scrollHeight;
    },
  };

  // Where it was refused, the browser does not try again by itself: too many pages may be open, or the session over.
  const AGAIN = 30000;
  const follow = () => {
    const events = new EventSource(page.dataset.events);
    for (const [name, handle] of Object.entries(take)) {
      events.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    events.onopen = () => { link.textContent = "This page follows the work."; link.className = "link"; take.progress({ text: null }); };
    events.onerror = () => {
      const isOver = events.readyState === EventSource.CLOSED;
      if (isOver) setTimeout(follow, AGAIN);
      link.textContent = isOver ? "This page does not follow the work now, and tries again every half minute. Reload it, and sign in again if you are asked to." : "The server cannot be reached; trying again.";
      link.className = "link lost";
    };
  };
  follow();
})();
