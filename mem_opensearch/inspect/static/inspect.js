// The page: asks its own process, puts the answer where it belongs, and knows the keys. All HTML is escaped by the server.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const state = { look: null, page: 1, pages: 1, entitiesPage: 1, opener: null };

const values = (form) => {
  const found = Object.fromEntries(new FormData(form));
  for (const box of $$("input[type=checkbox]", form)) found[box.name] = box.checked;
  return found;
};
const scope = () => values($("#scope"));
const threshold = () => Number($("#threshold").value);

// One request at a time for each purpose: a later one takes the place of an earlier one.
const running = new Map();
async function ask(purpose, path, body, target) {
  running.get(purpose)?.abort();
  const control = new AbortController();
  running.set(purpose, control);
  target.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(path, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal: control.signal,
    });
    const html = await answer.text();
    if (control.signal.aborted) return null;
    if (answer.headers.get("content-type")?.startsWith("text/html")) return { ok: answer.ok, html };
    return { ok: false, html: plain(html) };
  } catch (error) {
    return error.name === "AbortError" ? null : { ok: false, html: plain(document.body.dataset.lost) };
  } finally {
    if (running.get(purpose) === control) target.setAttribute("aria-busy", "false");
  }
}

function plain(text) {
  const box = document.createElement("div");
  box.className = "error";
  box.setAttribute("role", "alert");
  box.textContent = text;
  return box.outerHTML;
}

// -- searches

function place(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const part of $$("[data-into]", parsed)) {
    if (part.dataset.look) {
      state.look = part.dataset.look;
      state.page = Number(part.dataset.page);
      state.pages = Number(part.dataset.pages);
    }
    $(part.dataset.into).replaceChildren(...part.childNodes);
  }
  $("#said").textContent = $("#results .summary p").textContent;  // read aloud, and not the whole list
}

async function search() {
  const given = values($("#ask"));
  const body = { ...scope(), ...given, top_k: Number(given.top_k), threshold: threshold() };
  const answer = await ask("results", "/search", body, $("#results"));
  if (!answer) return;
  $("#why-answer").replaceChildren();
  if (answer.ok) place(answer.html);
  else { state.look = null; $("#results").innerHTML = answer.html; }
  $("#gate").hidden = $("#why").hidden = !answer.ok;
}

async function rank(page = 1) {
  if (!state.look) return;
  const answer = await ask("results", "/rank", { look: state.look, threshold: threshold(), page }, $("#results"));
  if (!answer) return;
  if (answer.ok) place(answer.html);
  else $("#results").innerHTML = answer.html;
}

$("#ask").addEventListener("submit", (event) => { event.preventDefault(); search(); });
$("#scope").addEventListener("submit", (event) => { event.preventDefault(); if (current() === "entities") entities(); else search(); });
$("#ask").addEventListener("change", (event) => { if (event.target.id !== "query" && $("#query").value.trim()) search(); });

let waiting = 0;
$("#threshold").addEventListener("input", () => {
  $("#threshold-value").textContent = threshold().toFixed(2);
  clearTimeout(waiting);
  // A second stage may be a service that costs: it is asked when the slider is let go.
  if (!$("#ask select[name=rerank]").value) waiting = setTimeout(rank, 60);
});
$("#threshold").addEventListener("change", () => { clearTimeout(waiting); rank(); });

$("#why").addEventListener("submit", async (event) => {
  event.preventDefault();
  const id = $("#why-id").value.trim();
  if (!id || !state.look) return;
  const answer = await ask("why", "/why", { look: state.look, id, threshold: threshold() }, $("#why-answer"));
  if (answer) $("#why-answer").innerHTML = answer.html;
});

// -- one memory, one entity

async function open(path, body, opener) {
  const drawer = $("#detail");
  const answer = await ask("detail", path, body, $("#detail-body"));
  if (!answer) return;
  if (drawer.hidden) state.opener = opener;
  $("#detail-body").innerHTML = answer.html;
  for (const row of $$(".row[aria-current]")) row.removeAttribute("aria-current");
  if (opener?.classList.contains("row")) opener.setAttribute("aria-current", "true");
  drawer.hidden = false;
  drawer.scrollTop = 0;
  drawer.focus();
}
const memory = (id, opener) => state.look && open("/memory", { look: state.look, id, threshold: threshold() }, opener);

function close() {
  if ($("#detail").hidden) return;
  $("#detail").hidden = true;
  for (const row of $$(".row[aria-current]")) row.removeAttribute("aria-current");
  if (state.opener?.isConnected) state.opener.focus();
}
$("#close-detail").addEventListener("click", close);

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const data = button.dataset;
  if (data.id !== undefined) memory(data.id, button);
  else if (data.page !== undefined) turn(Number(data.page));
  else if (data.entity !== undefined) open("/entity", { ...scope(), entity: data.entity, type: data.type, owner: JSON.parse(data.owner) }, button);
  else if (data.entitiesPage !== undefined) entities(Number(data.entitiesPage));
});

async function turn(page) {
  if (page < 1 || page > state.pages) return;
  await rank(page);
  $("#results").scrollIntoView({ block: "start" });
  $(".row")?.focus();
}

// -- views

async function entities(page = 1) {
  const answer = await ask("entities", "/entities", { ...scope(), ...values($("#entities-form")), page }, $("#entities"));
  if (answer) $("#entities").innerHTML = answer.html;
}
$("#entities-form").addEventListener("submit", (event) => { event.preventDefault(); entities(); });

async function health() {
  const answer = await ask("health", "/health", {}, $("#health"));
  if (answer) $("#health").innerHTML = answer.html;
}

const tabs = $$("[role=tab]");
const current = () => tabs.find((tab) => tab.ariaSelected === "true").id.slice("tab-".length);
function show(tab) {
  close();
  for (const each of tabs) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    $(`#${each.getAttribute("aria-controls")}`).hidden = !chosen;
  }
  if (current() === "entities") entities();
  if (current() === "health") health();
}
for (const [number, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(number + step + tabs.length) % tabs.length];
    next.focus();
    show(next);
  });
}

// -- keys

$("#show-help").addEventListener("click", () => $("#help").showModal());

function move(step) {
  const rows = $$(".row:not([data-quiet])");
  const at = rows.indexOf(document.activeElement.closest?.(".row") ?? $(".row[aria-current]"));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  if (!$("#detail").hidden) memory(next.dataset.id, next).then(() => next.focus());
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $("#help").open) return;
  if (event.key === "Escape") {
    if ($("#detail").hidden) document.activeElement.blur();
    close();
    return;
  }
  if (event.target.matches("input:not([type=range]):not([type=radio]):not([type=checkbox]), select")) return;
  const does = {
    "/": () => { show($("#tab-search")); $("#query").select(); $("#query").focus(); },
    "?": () => $("#help").showModal(),
    j: () => move(1),
    k: () => move(-1),
    n: () => turn(state.page + 1),
    p: () => turn(state.page - 1),
  }[event.key];
  if (does) { event.preventDefault(); does(); }
});

$("#query").focus();
