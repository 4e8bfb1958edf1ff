// The only script of the lab pages. Every page works without it; it adds six things: news of other
// people, forms that lose nothing while the server is away, keys and pasted columns in a batch, texts
// and sizes of figures, files that are dropped, and a button that prints.
"use strict";

const NEWS_EVERY = 1000; // milliseconds
const LONGEST_PAUSE = 15000;
const PATIENCE = 10000; // a server that was stopped takes requests and answers none

// ---------------------------------------------------------------- news

// Ask for the number of the last event. If there is a newer one, load the page again and put its
// parts in the place of the old ones. What somebody is typing stays.
function follow(body) {
  let known = Number(body.dataset.event);
  let pause = NEWS_EVERY;
  const ask = async () => {
    try {
      const waiting = body.dataset.waiting ? `&waiting=${body.dataset.waiting}` : "";
      const answer = await fetch(`${body.dataset.news}?after=${known}${waiting}`, { credentials: "same-origin" });
      if (answer.status === 401) return tell("This page is no longer open here. Use a new link.");
      if (!answer.ok) throw new Error(answer.status);
      const news = await answer.json();
      if (news.event !== known || (body.dataset.waiting && news.ready)) {
        await renew();
        known = news.event;
      }
      tell("");
      pause = NEWS_EVERY;
    } catch (error) {
      // The server may be starting again: ask less often until it answers.
      tell("The server does not answer. What you type stays here.");
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
    setTimeout(ask, document.hidden ? Math.max(pause, 5000) : pause);
  };
  setTimeout(ask, pause);
}

async function renew() {
  if (document.getElementById("waiting")) return location.reload();
  const answer = await fetch(document.body.dataset.page, { credentials: "same-origin", headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.status);
  showParts(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

// Put the parts of a page that was loaded in the place of the old ones.
function showParts(page) {
  // Whether the answers of the model are still being computed.
  if (page.body.dataset.waiting) document.body.dataset.waiting = page.body.dataset.waiting;
  else delete document.body.dataset.waiting;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh) continue;
    if (part.dataset.live === "items") renewList(part, fresh);
    else if (!isInUse(part)) {
      part.replaceChildren(...fresh.childNodes);
      part.querySelectorAll("[data-marks]").forEach(showMarks);
    }
  }
}

// A single candidate is a card and a batch is a grid. One takes the place of the other, unless
// somebody is typing there: then only items that are gone are removed.
function renewList(list, fresh) {
  const [work, other] = [list, fresh].map((one) => one.closest("#work"));
  if (list.tagName === fresh.tagName) renewItems(list, fresh);
  else if (!isInUse(list)) {
    work.replaceWith(other);
    restoreTyped(other);
  } else renewItems(list, fresh, false);
  document.querySelectorAll(".batch").forEach(countLines);
}

// A list whose items are known by their ids: those that are gone are removed, new ones are added,
// the others stay as they are.
function renewItems(list, fresh, adds = true) {
  const wanted = [...fresh.children];
  const names = new Set(wanted.map((item) => item.id));
  for (const item of [...list.children]) {
    if (names.has(item.id)) continue;
    if (isInUse(item)) say(item.querySelector("th") || item, "This trial is no longer pending: somebody told its result, or gave it up.");
    else item.remove();
  }
  if (!adds) return;
  wanted.forEach((item, place) => {
    const known = document.getElementById(item.id);
    if (!known) list.insertBefore(item, list.children[place] || null);
    // Somebody told some of its values.
    else if (known.dataset.told !== item.dataset.told && !isInUse(known)) known.replaceWith(item);
    else return;
    restoreTyped(item.closest("form")?.parentElement || item);
  });
}

// Whether somebody is typing here, or has just sent a form.
function isInUse(part) {
  if (part.querySelector("form[data-sent]") || part.closest("form[data-sent]")) return true;
  const fields = [...part.querySelectorAll("input:not([type=hidden]), textarea, select")];
  const typed = fields.some((field) => "defaultValue" in field && isChanged(field));
  const open = part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  return typed || open;
}

function say(item, sentence) {
  if (item.querySelector(".problem")) return;
  const note = document.createElement("p");
  note.className = "problem";
  note.setAttribute("role", "alert");
  note.textContent = sentence;
  item.prepend(note);
  return note;
}

// One line at the top of the page, for what concerns the connection.
function tell(sentence) {
  let line = document.getElementById("connection");
  if (!line && sentence) {
    line = document.createElement("p");
    line.id = "connection";
    line.className = "note";
    line.setAttribute("role", "status");
    document.getElementById("main").prepend(line);
  }
  if (!line) return;
  if (sentence) line.textContent = sentence;
  else line.remove();
}

// ---------------------------------------------------------------- forms

const TYPED = "typed "; // what the names of drafts begin with in the storage of this tab

// What is typed into a form is kept in this tab until the server has answered the form, so that it
// survives a reload, an error page of the browser and a restart of the tab. The key of the form is
// kept with it: if the form was stored and only the answer was lost, it counts once when it is sent
// again. Files cannot be kept.
function keepTyped(form) {
  const typed = typedFields(form)
    .filter(([, field]) => isChanged(field))
    .map(([name, field]) => [name, isCheck(field) ? field.checked : field.value]);
  try {
    if (typed.length) sessionStorage.setItem(nameDraft(form), JSON.stringify({ key: form.elements.key.value, typed }));
    else sessionStorage.removeItem(nameDraft(form));
  } catch (error) {
    // The storage is full or switched off. The fields of the page still have what was typed.
  }
}

function restoreTyped(part) {
  const drafts = new Map(readDrafts());
  for (const form of part.querySelectorAll("form[method=post]")) {
    const draft = drafts.get(nameDraft(form));
    if (!draft) continue;
    const fields = new Map(typedFields(form));
    for (const [name, value] of draft.typed) {
      const field = fields.get(name);
      if (!field) continue;
      if (isCheck(field)) field.checked = value;
      else field.value = value;
      const folded = field.closest("details");
      if (folded) folded.open = true;
    }
    form.elements.key.value = draft.key;
  }
}

// The server has answered the form with this key: it stored what was typed, or shows it again.
function forgetTyped(key) {
  for (const [name, draft] of readDrafts()) if (draft.key === key) sessionStorage.removeItem(name);
}

function readDrafts() {
  try {
    const names = Object.keys(sessionStorage).filter((name) => name.startsWith(TYPED));
    return names.map((name) => [name, JSON.parse(sessionStorage.getItem(name))]);
  } catch (error) {
    return []; // the storage is switched off
  }
}

// A form is known by where it is sent to and by what it is about, such as a trial of a study.
function nameDraft(form) {
  const about = [...form.querySelectorAll("input[type=hidden]:not([name=csrf], [name=key])")];
  return TYPED + [form.getAttribute("action"), ...about.map((field) => `${field.name}=${field.value}`)].join(" ");
}

// The fields of a form by name; those that have the same name are numbered.
function typedFields(form) {
  const counts = new Map();
  const fields = [...form.elements].filter((field) => field.matches("input:not([type=hidden], [type=file]), textarea, select"));
  return fields.map((field) => {
    counts.set(field.name, (counts.get(field.name) || 0) + 1);
    return [`${field.name} ${counts.get(field.name)}`, field];
  });
}

const isCheck = (field) => field.type === "checkbox" || field.type === "radio";

// Whether a field differs from what the server has written into it.
function isChanged(field) {
  if (isCheck(field)) return field.checked !== field.defaultChecked;
  if (!field.options) return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
}

// A browser that sends a form to a server that is away shows an error page in place of the form. So
// the server is asked for something small first, and the form is sent only if it answers. A second
// press while the first one is under way does nothing.
async function send(event) {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (form.dataset.sent === "answered") {
    form.dataset.sent = "yes";
    return;
  }
  event.preventDefault();
  if (form.dataset.sent) return;
  form.dataset.sent = "asking";
  const button = event.submitter;
  form.querySelectorAll(".problem").forEach((note) => note.remove());
  if (form.hasAttribute("data-stay")) return stay(form);
  if (await isServerBack()) {
    form.dataset.sent = "answered";
    form.requestSubmit(button);
    if (form.dataset.sent === "yes") return;
    // The browser found a field that is not filled in.
  } else say(form, "The server does not answer. What you typed is still here; send it again when the server is back.");
  delete form.dataset.sent;
}

// A form that takes long is sent while its page stays: it counts the seconds, results may be typed
// and told meanwhile, and then the page shows what is new.
async function stay(form) {
  const note = document.createElement("p");
  const begun = Date.now();
  const count = () => { note.lastChild.textContent = ` Candidates are being chosen: ${Math.round((Date.now() - begun) / 1000)} s. You can go on typing.`; };
  note.className = "note busy";
  note.setAttribute("role", "status");
  note.append(document.createElement("progress"), "");
  count();
  form.after(note);
  const clock = setInterval(count, 1000);
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.action, { method: "post", body, credentials: "same-origin", headers: { accept: "text/html" } });
    if ([502, 503, 504].includes(answer.status)) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const problem = page.querySelector("#main > .problem");
    if (!answer.ok && !problem) return location.reload();
    forgetTyped(form.elements.key.value);
    document.querySelectorAll("#main > .said, #main > .problem").forEach((one) => one.remove());
    document.getElementById("main").prepend(...page.querySelectorAll("#main > .said, #main > .problem"));
    showParts(page);
    const again = page.querySelector(`form[action="${form.getAttribute("action")}"]`);
    if (answer.ok && again) form.elements.key.value = again.elements.key.value;
  } catch (error) {
    say(form, "The server does not answer. What you typed is still here; send it again when the server is back.");
  }
  clearInterval(clock);
  note.remove();
  delete form.dataset.sent;
}

async function isServerBack() {
  try {
    const answer = await fetch("/static/lab.js", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    // A proxy answers in place of a server that is away.
    return ![502, 503, 504].includes(answer.status);
  } catch (error) {
    return false;
  }
}

// ---------------------------------------------------------------- a batch

const FOCUS = "focus "; // what the name of the field with the focus begins with in the storage
const YES = /^(yes|true|x|1|ja|failed)$/i;

const batchLines = (form) => [...form.querySelectorAll("tbody tr")];
const batchField = (line, column) => line.querySelector(`[data-column="${column}"]`);

// Enter and the arrows move: up and down in a column, to the left and right at the ends of a text.
function move(event) {
  const field = event.target;
  const form = field.closest(".batch");
  if (!form || !field.dataset.column || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
  const lines = batchLines(form);
  const line = lines.indexOf(field.closest("tr"));
  const column = Number(field.dataset.column);
  const text = field.type !== "checkbox";
  const atStart = !text || (field.selectionStart === 0 && field.selectionEnd === 0) || isWhole(field);
  const atEnd = !text || field.selectionEnd === field.value.length;
  let next;
  if (event.key === "ArrowDown" || (event.key === "Enter" && !event.shiftKey)) next = below(lines.slice(line + 1), column);
  else if (event.key === "ArrowUp" || event.key === "Enter") next = below(lines.slice(0, line).reverse(), column);
  else if (event.key === "ArrowRight" && atEnd) next = beside(lines[line], column, 1);
  else if (event.key === "ArrowLeft" && atStart) next = beside(lines[line], column, -1);
  else return;
  // Enter in the last line leads to the button; in a form without this it would send the first one.
  if (!next && event.key === "Enter") next = form.querySelector(".save button");
  event.preventDefault();
  if (!next) return;
  next.focus();
  if (next.select) next.select();
}

const isWhole = (field) => field.selectionStart === 0 && field.selectionEnd === field.value.length;
const below = (lines, column) => lines.map((line) => batchField(line, column)).find(Boolean);

function beside(line, column, step) {
  const columns = [...line.querySelectorAll("[data-column]")].map((field) => Number(field.dataset.column));
  const next = columns.filter((one) => (one - column) * step > 0).sort((one, other) => (one - other) * step);
  return next.length ? batchField(line, next[0]) : null;
}

// Cells that were copied from a spreadsheet fill the fields from here to the right and downwards.
function pasteCells(event) {
  const field = event.target;
  const form = field.closest?.(".batch");
  const text = event.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n$/, "") || "";
  if (!form || !field.dataset.column || !/[\n\t]/.test(text)) return;
  event.preventDefault();
  const lines = batchLines(form);
  const first = lines.indexOf(field.closest("tr"));
  const pasted = text.split("\n").map((line) => line.split("\t"));
  let left = 0;
  pasted.forEach((cells, i) => {
    const line = lines[first + i];
    if (!line) left += 1;
    else cells.forEach((cell, j) => fillField(batchField(line, Number(field.dataset.column) + j), cell.trim()));
  });
  keepTyped(form);
  countLines(form);
  form.querySelectorAll(".save .problem").forEach((note) => note.remove());
  if (left) say(form.querySelector(".save"), `${left} more pasted ${left === 1 ? "line has" : "lines have"} no line here.`);
}

function fillField(field, text) {
  if (!field) return;
  if (isCheck(field)) field.checked = YES.test(text);
  else field.value = text;
}

// Say how many lines will be saved.
function countLines(form) {
  const note = form.querySelector("[data-count]");
  if (!note) return;
  note.dataset.hint = note.dataset.hint || note.innerHTML;
  const lines = batchLines(form);
  const filled = lines.filter((line) => [...line.querySelectorAll("[data-column]")].some((field) => (isCheck(field) ? field.checked : field.value.trim()))).length;
  if (filled) note.textContent = `${filled} of ${lines.length} lines are filled; the others stay pending.`;
  else note.innerHTML = note.dataset.hint;
}

// The field with the focus has it again after the page was loaded anew.
function keepFocus(event) {
  if (!event.target.closest?.(".batch")) return;
  try {
    sessionStorage.setItem(FOCUS + location.pathname, event.target.id);
  } catch (error) {
    // The storage is switched off.
  }
}

function restoreFocus() {
  if (document.querySelector("[autofocus]")) return;
  let name = null;
  try {
    name = sessionStorage.getItem(FOCUS + location.pathname);
  } catch (error) {
    // The storage is switched off.
  }
  const field = name && document.getElementById(name);
  if (field) field.focus();
}

// ---------------------------------------------------------------- figures

const NEAR = 24; // pixels from the pointer to a mark
const NARROW = "&narrow=true"; // ends the address of a figure for the screen of a phone
const SIZES = [1, 1.5, 2.25, 3.5]; // of the width that a figure has at first

// A figure gets two buttons that change its size, and shows the text of the mark nearest to the
// pointer. Where the marks are is asked for when the pointer first comes; a narrow screen has a
// figure of its own.
function showMarks(figure) {
  const frame = figure.querySelector(".picture");
  const image = frame.querySelector("img");
  const text = document.createElement("p");
  const ring = document.createElement("span");
  let marks, known;
  text.className = "mark-text";
  ring.className = "mark-ring";
  text.hidden = ring.hidden = true;
  frame.append(text, ring);
  frame.addEventListener("pointerenter", async () => {
    const narrow = image.currentSrc.endsWith(NARROW) ? NARROW : "";
    if (marks && known === narrow) return;
    marks = [];
    known = narrow;
    const answer = await fetch(figure.dataset.marks + narrow, { credentials: "same-origin" });
    if (answer.ok) marks = await answer.json();
  });
  frame.addEventListener("pointermove", (event) => {
    const box = image.getBoundingClientRect();
    const away = ([x, y]) => Math.hypot(box.left + x * box.width - event.clientX, box.top + y * box.height - event.clientY);
    const near = (marks || []).map((mark) => [away(mark), mark]).filter(([distance]) => distance < NEAR);
    const [, mark] = near.reduce((one, other) => (other[0] < one[0] ? other : one), [Infinity, null]);
    text.hidden = ring.hidden = !mark;
    if (!mark) return;
    const left = mark[0] * box.width;
    text.textContent = mark[2];
    ring.style.left = `${left}px`;
    ring.style.top = text.style.top = `${mark[1] * box.height}px`;
    // The text stands on the side of the mark that has more room.
    const atLeft = mark[0] > 0.5;
    text.style.left = atLeft ? "" : `${left + 12}px`;
    text.style.right = atLeft ? `${frame.clientWidth - left + 12}px` : "";
  });
  frame.addEventListener("pointerleave", () => { text.hidden = ring.hidden = true; });
  let size = 0;
  const change = (step) => {
    const before = image.width;
    const middle = frame.scrollLeft + frame.clientWidth / 2;
    const first = before / SIZES[size];
    size = Math.min(Math.max(size + step, 0), SIZES.length - 1);
    image.style.maxWidth = size ? "none" : "";
    image.style.width = size ? `${SIZES[size] * first}px` : "";
    frame.scrollLeft = (middle * image.width) / before - frame.clientWidth / 2;
    text.hidden = ring.hidden = true;
  };
  const buttons = document.createElement("p");
  buttons.className = "row sizes";
  for (const [name, step] of [["Larger", 1], ["Smaller", -1]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = name;
    button.addEventListener("click", () => change(step));
    buttons.append(button);
  }
  figure.insertBefore(buttons, figure.querySelector("figcaption"));
}

// ---------------------------------------------------------------- files that are dropped

function acceptFiles(area) {
  const field = area.querySelector("input[type=file]");
  const mark = (over) => (event) => {
    event.preventDefault();
    area.classList.toggle("over", over);
  };
  area.addEventListener("dragover", mark(true));
  area.addEventListener("dragleave", mark(false));
  area.addEventListener("drop", (event) => {
    mark(false)(event);
    if (event.dataTransfer.files.length) field.files = event.dataTransfer.files;
  });
}

// ---------------------------------------------------------------- recipes

// The menus of what must not be together have the values of the choices that are typed above them.
function offerPairs(form) {
  const texts = (name) => [...form.querySelectorAll(`[name=${name}]`)].map((field) => field.value.trim());
  const values = texts("choice-values").map((line) => line.split(",").map((text) => text.trim()).filter(Boolean));
  const options = texts("choice-name").flatMap((name, i) => (name ? values[i].map((text) => `${name} = ${text}`) : []));
  for (const menu of form.querySelectorAll("[data-pairs]")) {
    const chosen = menu.value;
    menu.replaceChildren(menu.options[0], ...options.map((text) => new Option(text, text, text === chosen, text === chosen)));
  }
}

// ---------------------------------------------------------------- start

if (document.body.dataset.news) follow(document.body);
document.querySelectorAll("[data-drop]").forEach(acceptFiles);
document.querySelectorAll("[data-marks]").forEach(showMarks);
document.querySelectorAll("[data-print]").forEach((button) => button.addEventListener("click", () => print()));
if (document.body.dataset.answered) forgetTyped(document.body.dataset.answered);
restoreTyped(document);
document.querySelectorAll(".batch").forEach(countLines);
restoreFocus();
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (event.target.name?.startsWith("choice-")) offerPairs(form);
  if (form?.elements.key) keepTyped(form);
  if (form?.matches(".batch")) countLines(form);
});
document.addEventListener("keydown", move);
document.addEventListener("paste", pasteCells);
document.addEventListener("focusin", keepFocus);
document.addEventListener("submit", send);
addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
