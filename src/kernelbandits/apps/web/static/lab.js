// The only script of the lab pages. Every page works without it; it adds four things: news of other
// people, texts and sizes of figures, files that are dropped, and a button that prints.
"use strict";

const NEWS_EVERY = 1000; // milliseconds
const LONGEST_PAUSE = 15000;

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
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  // Whether the answers of the model are still being computed.
  if (page.body.dataset.waiting) document.body.dataset.waiting = page.body.dataset.waiting;
  else delete document.body.dataset.waiting;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh) continue;
    if (part.dataset.live === "items") renewItems(part, fresh);
    else if (!isInUse(part)) {
      part.replaceChildren(...fresh.childNodes);
      part.querySelectorAll("[data-marks]").forEach(showMarks);
    }
  }
}

// A list whose items are known by their ids: those that are gone are removed, new ones are added,
// the others stay as they are.
function renewItems(list, fresh) {
  const wanted = [...fresh.children];
  const names = new Set(wanted.map((item) => item.id));
  for (const item of [...list.children]) {
    if (names.has(item.id)) continue;
    if (isInUse(item)) say(item, "This trial is no longer pending: somebody told its result, or gave it up.");
    else item.remove();
  }
  wanted.forEach((item, place) => {
    const known = document.getElementById(item.id);
    if (!known) list.insertBefore(item, list.children[place] || null);
    // Somebody told some of its values.
    else if (known.dataset.told !== item.dataset.told && !isInUse(known)) known.replaceWith(item);
  });
}

// Whether somebody is typing here.
function isInUse(part) {
  const fields = [...part.querySelectorAll("input:not([type=hidden]), textarea, select")];
  const typed = fields.some((field) => "defaultValue" in field && field.value !== field.defaultValue);
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

// ---------------------------------------------------------------- figures

const NEAR = 24; // pixels from the pointer to a mark
const SIZES = [1, 1.5, 2.25, 3.5]; // of the width that a figure has at first

// A figure gets two buttons that change its size, and shows the text of the mark nearest to the
// pointer. Where the marks are is asked for when the pointer first comes.
function showMarks(figure) {
  const frame = figure.querySelector(".picture");
  const image = frame.querySelector("img");
  const text = document.createElement("p");
  const ring = document.createElement("span");
  let marks;
  text.className = "mark-text";
  ring.className = "mark-ring";
  text.hidden = ring.hidden = true;
  frame.append(text, ring);
  frame.addEventListener("pointerenter", async () => {
    if (marks) return;
    marks = [];
    const answer = await fetch(figure.dataset.marks, { credentials: "same-origin" });
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

// ---------------------------------------------------------------- start

if (document.body.dataset.news) follow(document.body);
document.querySelectorAll("[data-drop]").forEach(acceptFiles);
document.querySelectorAll("[data-marks]").forEach(showMarks);
document.querySelectorAll("[data-print]").forEach((button) => button.addEventListener("click", () => print()));
// A second click while the first one is under way would only show the same page twice.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
