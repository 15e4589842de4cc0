"use strict";
// Offsets are code points, so a note is an array of them; marks are drawn block by block, and text only as text.
const ABSENT = 0, SUGGESTED = 1, JUDGED = 2, BLOCK = 2000, IDLE = 60, SHORTCUTS = "123456789abcdefghijklmnopqrstuvwxyz";
const $ = id => document.getElementById(id);
const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", token);
history.replaceState(null, "", location.pathname);

const SIGNS = {done: "✓", begun: "…", changed: "!", new: "○"};

let entries = [], labels = [], category = {}, note = null, at = {start: 0, end: 0}, used = "", acted = performance.now();
let saving = Promise.resolve(), unsaved = 0, trains = false;

function made(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// The server

async function api(path, body) {
  const answer = await fetch(`api/${path}`, {
    method: body ? "POST" : "GET", headers: {"x-phistack-token": token}, body: body && JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error), {status: answer.status});
  return found;
}

function save(number, path, body) {
  unsaved++;
  saving = saving.then(() => sent(number, path, body)).finally(() => { unsaved--; });
  return saving;
}

async function sent(number, path, body) {
  for (;;) {
    try {
      await api(`notes/${number}/${path}`, body);
      return complain("");
    } catch (error) {
      complain(error.status ? error.message : "phistack review does not answer: what you do now is not saved until it runs again");
      if (error.status === 409 && note?.number === number) return show(number);
      if (error.status) return;
      await new Promise(done => setTimeout(done, 1000));
    }
  }
}

function complain(text) { $("trouble").textContent = text; }
addEventListener("beforeunload", event => { if (unsaved) event.preventDefault(); });

function spent() {
  const now = performance.now(), seconds = Math.min((now - acted) / 1000, IDLE);
  acted = now;
  return Math.round(100 * seconds) / 100;
}

// Spans and edits

const same = (a, b) => a.start === b.start && a.end === b.end;
const overlaps = (a, b) => a.start < b.end && b.start < a.end;
const keyOf = (start, end, label) => `${start} ${end} ${label}`;
const byPlace = (a, b) => a.start - b.start || a.end - b.end;
const sorted = () => [...note.spans.values()].sort(byPlace);
const near = range => [...new Set(blocksOf(range).flatMap(block => [...block.spans]))];
const touched = range => near(range).filter(span => overlaps(span, range)).sort(byPlace);
const there = () => near(at).find(span => same(span, at));
const change = (range, label, now) =>
  [range.start, range.end, label, note.spans.get(keyOf(range.start, range.end, label))?.state ?? ABSENT, now];
const inverse = changes => changes.map(([start, end, label, was, now]) => [start, end, label, now, was]);
const textOf = range => note.chars.slice(range.start, range.end).join("");

function put(kind, range, label) {
  const others = touched(range).filter(span => !(same(span, range) && span.label === label));
  edit(kind, [...others.map(span => change(span, span.label, ABSENT)), change(range, label, JUDGED)]);
  used = label;
}

function edit(kind, changes) {
  changes = changes.filter(([, , , was, now]) => was !== now);
  if (!changes.length) return;
  for (const [start, end, label, , now] of changes) {
    const key = keyOf(start, end, label), span = note.spans.get(key) ?? {start, end, label, told: note.told.get(key)};
    span.state = now;
    if (now) note.spans.set(key, span); else note.spans.delete(key);
    for (const block of blocksOf(span)) { if (now) block.spans.add(span); else block.spans.delete(span); block.stale = true; }
  }
  remember(kind, changes);
  save(note.number, "edit", {kind, changes, seconds: spent()});
  stateOf(note.number, "begun");
  paint();
}

function remember(kind, changes) {
  if (kind === "undo") note.undone.push(note.done.pop());
  else if (kind === "redo") note.done.push(note.undone.pop());
  else { note.done.push(changes); note.undone = []; }
}

function accept() {
  const span = there(), over = touched(at);
  if (span) { put("accept", at, span.label); return goTo(next(1, other => other.state === SUGGESTED)); }
  if (over.length) put("correct", at, over[0].label);
  else if (at.end > at.start) { if (used) put("draw", at, used); else $("labels").showModal(); }
}

function remove() {
  const over = touched(at);
  edit("delete", over.map(span => change(span, span.label, ABSENT)));
  if (over.length) goTo(next(1, other => other.state === SUGGESTED));
}

function relabel(label) {
  if (at.end > at.start) put(there() ? "relabel" : touched(at).length ? "correct" : "draw", at, label);
}

function trimmed(range) {
  let {start, end} = range;
  while (start < end && !note.chars[start].trim()) start++;
  while (start < end && !note.chars[end - 1].trim()) end--;
  return {start, end};
}

function split() {
  const whole = touched(at)[0];
  if (!whole || (at.start <= whole.start && at.end >= whole.end)) return tell("To split a span, select a part of it.");
  const cuts = [whole.start, at.start, at.end, whole.end].filter(cut => cut >= whole.start && cut <= whole.end);
  const parts = cuts.slice(1).map((end, i) => trimmed({start: cuts[i], end})).filter(part => part.start < part.end);
  edit("split", [change(whole, whole.label, ABSENT), ...parts.map(part => change(part, whole.label, JUDGED))]);
  goTo(parts[0]);
}

function join() {
  const [first] = touched(at), last = touched(at).length > 1 ? touched(at).at(-1) : first && sorted().find(s => s.start >= first.end);
  if (!last) return tell("There is no span after this one to join it with.");
  const whole = {start: first.start, end: last.end};
  put("join", whole, first.label);
  goTo(whole);
}

function everywhere() {
  const span = there(), sought = note.chars.slice(at.start, at.end), changes = [], n = sought.length;
  const ends = (i, j) => i < 0 || j >= note.chars.length || !(isWord(note.chars[i]) && isWord(note.chars[j]));
  for (let i = n ? note.chars.indexOf(sought[0]) : -1; i >= 0; i = note.chars.indexOf(sought[0], i + 1)) {
    if (!sought.every((c, k) => note.chars[i + k] === c) || !ends(i - 1, i) || !ends(i + n - 1, i + n)) continue;
    const range = {start: i, end: i + n}, over = touched(range);
    if (!span) changes.push(...over.filter(other => same(other, range)).map(other => change(other, other.label, ABSENT)));
    else if (!over.some(other => !same(other, range))) {
      changes.push(...over.filter(other => other.label !== span.label).map(other => change(other, other.label, ABSENT)));
      changes.push(change(range, span.label, JUDGED));
    }
    i += n - 1;
  }
  const count = changes.filter(([, , , was, now]) => was !== now).length;
  edit("everywhere", changes);
  tell(span ? `The same in ${count} places of this note.` : `${count} spans with this text are deleted.`);
}

const undo = () => note.done.length ? edit("undo", inverse(note.done.at(-1))) : tell("There is nothing to undo.");
const redo = () => note.undone.length ? edit("redo", note.undone.at(-1)) : tell("There is nothing to redo.");

async function finish() {
  edit("accept the rest", sorted().filter(span => span.state === SUGGESTED).map(span => change(span, span.label, JUDGED)));
  const {number} = note;
  stateOf(number, "done");
  await save(number, "finish", {seconds: spent()});
  const rest = entries.find(entry => entry.state !== "done");
  if (rest) await open(rest.number); else tell("All notes are done.");
  status();
}

// Where one is

const isWord = c => /[\p{L}\p{N}\p{M}_]/u.test(c);

function word(from, step) {
  const {chars} = note;
  let start = from, end = from;
  if (step > 0) {
    while (start < chars.length && !isWord(chars[start])) start++;
    for (end = start; end < chars.length && isWord(chars[end]);) end++;
  } else {
    while (end > 0 && !isWord(chars[end - 1])) end--;
    for (start = end; start > 0 && isWord(chars[start - 1]);) start--;
  }
  return start < end ? {start, end} : null;
}

function back(from, goesOn) {
  while (from > 0 && goesOn(note.chars[from - 1])) from--;
  return from;
}

const wordAt = place => word(back(place, isWord), 1);
const lineAt = place => back(place, c => c !== "\n");

function line(step) {
  const {chars} = note, opens = lineAt(at.start), below = chars.indexOf("\n", at.start) + 1;
  if (step > 0 ? !below : !opens) return null;
  const other = step > 0 ? below : lineAt(opens - 1), broken = chars.indexOf("\n", other);
  const closes = broken < 0 ? chars.length : broken, place = Math.min(other + at.start - opens, closes);
  const right = wordAt(place), left = word(place, -1);
  return right && right.start < closes ? right : step < 0 || (left && left.end > other) ? left : right;
}

function next(step, wanted = () => true) {
  const spans = sorted().filter(span => wanted(span) && !same(span, at));
  const after = span => span.start > at.start || (span.start === at.start && span.end > at.end);
  return step > 0 ? spans.find(after) ?? spans[0] : spans.findLast(span => !after(span)) ?? spans.at(-1);
}

function goTo(range) {
  if (!range) return tell(sorted().some(span => span.state === SUGGESTED) ? "" : "Nothing is left to judge; press d if the note is done.");
  for (const block of [...blocksOf(at), ...blocksOf(range)]) block.stale = true;
  at = {start: range.start, end: range.end};
  paint();
  document.querySelector("#text .at")?.scrollIntoView({block: "nearest"});
}

function grow(start, end) {
  start = Math.max(0, start), end = Math.min(end, note.chars.length);
  if (start < end) goTo({start, end});
}

const MOVES = {
  n: () => goTo(next(1)), p: () => goTo(next(-1)),
  ArrowRight: () => goTo(word(at.end, 1) ?? at), ArrowLeft: () => goTo(word(at.start, -1) ?? at),
  ArrowDown: () => goTo(line(1) ?? at), ArrowUp: () => goTo(line(-1) ?? at),
  "Shift+ArrowRight": () => grow(at.start, word(at.end, 1)?.end ?? at.end),
  "Shift+ArrowLeft": () => grow(at.start, Math.max(word(word(at.end, -1)?.start ?? 0, -1)?.end ?? 0, at.start + 1)),
  ",": () => grow(at.start - 1, at.end), ".": () => grow(at.start, at.end + 1),
  "<": () => grow(at.start + 1, at.end), ";": () => grow(at.start + 1, at.end),
  ">": () => grow(at.start, at.end - 1), ":": () => grow(at.start, at.end - 1),
};
const ACTIONS = [
  ["Enter", "Accept", accept], ["x", "Delete", remove], ["l", "Label", () => $("labels").showModal()],
  ["s", "Split", split], ["j", "Join", join], ["e", "Everywhere", everywhere], ["u", "Undo", undo], ["r", "Redo", redo],
  ["d", "Done", finish], ["?", "Help", () => $("help").showModal()],
];
const KEYS = {
  ...MOVES, ...Object.fromEntries(ACTIONS.map(([key, , act]) => [key, act])), a: accept, Delete: remove, "Ctrl+z": undo,
  "Ctrl+y": redo, "Ctrl+Shift+Z": redo, "]": () => step(1), "[": () => step(-1),
};

addEventListener("keydown", event => {
  if (!note || document.querySelector("dialog[open]") || event.target.closest("select, button, summary, input")) return;
  const name = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.shiftKey && (event.key.length > 1 || event.ctrlKey) ? "Shift+" : ""}${event.key}`;
  const act = KEYS[name] ?? (labels[name - 1] && (() => relabel(labels[name - 1])));
  if (!act || event.altKey) return;
  event.preventDefault();
  act();
});

// What is seen

function lay() {
  const {chars} = note, sheet = document.createDocumentFragment();
  note.blocks = [];
  for (let start = 0; start < chars.length;) {
    let end = Math.min(start + BLOCK, chars.length);
    const broken = chars.lastIndexOf("\n", end - 1);
    if (end < chars.length && broken >= start) end = broken + 1;
    const part = made("span", "", {class: "block"});
    note.blocks.push({start, end, part, spans: new Set(), stale: true});
    // A line that is longer than a block stays one line.
    const isWhole = (i) => !i || i === chars.length || chars[i - 1] === "\n";
    if (isWhole(start) && isWhole(end)) part.classList.add("lines");
    sheet.append(part);
    start = end;
  }
  for (const span of note.spans.values()) for (const block of blocksOf(span)) block.spans.add(span);
  $("text").replaceChildren(sheet);
}

function blocksOf(range) {
  let low = 0, high = note.blocks.length;
  while (low < high) { const middle = (low + high) >> 1; if (note.blocks[middle].end <= range.start) low = middle + 1; else high = middle; }
  const found = [];
  for (let i = low; i < note.blocks.length && note.blocks[i].start < Math.max(range.end, range.start + 1); i++) found.push(note.blocks[i]);
  return found;
}

function paint() {
  for (const block of note.blocks) if (block.stale) { block.part.replaceChildren(...pieces(block)); block.stale = false; }
  const span = there(), over = touched(at);
  const sure = span?.state === SUGGESTED ? `suggested${span.told?.by ? ` by ${span.told.by}` : ""}${span.told?.probability != null ? `, ${span.told.probability.toFixed(2)}` : ""}` : "judged";
  const what = span ? `${span.label}, ${sure}` : over.length ? "not a whole span" : "not marked";
  tell(at.end > at.start ? `${textOf(at)}: ${what}` : "");
  const left = [...note.spans.values()].filter(other => other.state === SUGGESTED).length;
  $("left").textContent = `${note.spans.size} spans, ${left} to judge`;
}

function pieces(block) {
  const spans = [...block.spans].sort((a, b) => same(b, at) - same(a, at) || a.start - b.start || a.end - b.end);
  const inside = [...spans, at].flatMap(({start, end}) => [start, end]).filter(cut => cut > block.start && cut < block.end);
  const cuts = [...new Set([block.start, ...inside, block.end])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, i) => {
    const start = cuts[i], text = textOf({start, end}), span = spans.find(s => s.start <= start && end <= s.end);
    const chosen = at.start <= start && end <= at.end ? " at" : "";
    if (!span) return chosen ? made("span", text, {class: "at"}) : document.createTextNode(text);
    const kind = span.state === SUGGESTED ? "suggested" : "judged";
    const mark = made("mark", text, {class: `m ${kind} c-${category[span.label] ?? "OTHER"}${chosen}`});
    if (end === span.end) mark.dataset.label = span.label;
    return mark;
  });
}

function tell(text) { $("told").textContent = text; }

function offsetOf(node, offset) {
  const part = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest(".block");
  const block = note.blocks.find(other => other.part === part);
  if (!block) return null;
  const before = document.createRange();
  before.setStart(part, 0);
  before.setEnd(node, offset);
  return block.start + Array.from(before.toString()).length;
}

$("text").addEventListener("mouseup", () => {
  const chosen = getSelection();
  if (!note || !chosen.rangeCount) return;
  const {startContainer, startOffset, endContainer, endOffset, collapsed} = chosen.getRangeAt(0);
  const start = offsetOf(startContainer, startOffset), end = offsetOf(endContainer, endOffset) ?? note.chars.length;
  if (start === null) return;
  if (!collapsed) { chosen.removeAllRanges(); return goTo(trimmed({start, end})); }
  const span = sorted().find(other => other.start <= start && start < other.end);
  const near = wordAt(start);
  goTo(span ?? (near && near.start <= start ? near : at));
});

// Notes and figures

function stateOf(number, state) {
  const entry = entries.find(other => other.number === number);
  entry.state = state;
  const option = $("notes").querySelector(`option[value="${number}"]`);
  option.textContent = `${SIGNS[state]} ${entry.id}${entry.again ? " (again)" : ""}`;
}

function step(by) {
  const place = entries.findIndex(entry => entry.number === note.number) + by;
  if (entries[place]) open(entries[place].number);
}

async function open(number) {
  await saving;
  await show(number);
}

async function show(number) {
  const found = await api(`notes/${number}`);
  const told = new Map(), spans = new Map();
  for (const [start, end, label, state, probability, by] of found.spans) {
    const key = keyOf(start, end, label);
    told.set(key, {probability, by});
    spans.set(key, {start, end, label, state, told: told.get(key)});
  }
  note = {number, chars: Array.from(found.text), spans, told, done: [], undone: []};
  for (const [kind, changes] of found.edits) remember(kind, changes);
  at = {start: 0, end: 0};
  lay();
  const remarks = [
    found.state === "changed" && "The text of this note changed since it was judged: it begins anew.",
    found.again && "You judged this note before: judge it again, to see how far you agree with yourself.",
    !found.shown && "Suggestions are hidden in this note: mark all that you find.",
    found.aside && "This note is set aside: no engine learns from it, and each is measured on it.",
  ];
  $("remark").textContent = remarks.filter(Boolean).join(" ");
  $("notes").value = $("text").dataset.note = number;
  acted = performance.now();
  const first = sorted().find(span => span.state === SUGGESTED) ?? sorted()[0] ?? word(0, 1);
  if (first) goTo(first); else paint();
  $("text").scrollTop = 0;
  $("text").focus({preventScroll: true});
  stateOf(number, found.state === "done" ? "done" : "begun");
}

const percent = share => `${(100 * share).toFixed(1)} %`;

async function status() {
  const found = await api("status"), {f1} = found, rows = [["Notes done", `${found.done} of ${found.notes}`]];
  if (found.seconds !== null) rows.push(["Seconds a note (median)", found.seconds.toFixed(0)], ["Decisions", found.edits]);
  if (found.changed) rows.push(["Changed since they were judged", found.changed]);
  rows.push(["Set aside and done", found.aside]);
  if (found.engine) rows.push(["Engine", found.engine]);
  if (f1?.length) rows.push(["Its F1 on notes set aside", `${percent(f1[0])} (${percent(f1[1])} to ${percent(f1[2])})`]);
  for (const [notes, value] of found.curve ?? []) rows.push([`F1 after ${notes} notes`, percent(value)]);
  if (found.next) rows.push(["The next 50 notes may bring", percent(found.next)]);
  for (const [what, value] of Object.entries(found.agreement)) if (value) rows.push([`Agreement ${what}`, `${percent(value[0])} in ${value[1]} ${value[1] === 1 ? "note" : "notes"}`]);
  $("figures").replaceChildren(...rows.flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
  $("said").textContent = found.training ? "An engine is being trained; go on meanwhile." : found.said ?? "";
  if (found.training) setTimeout(status, 2000);
  else if (trains) await list();
  trains = found.training;
}

async function list() {
  const found = await api("state");
  ({entries} = found);
  $("notes").replaceChildren(...entries.map(entry => made("option", "", {value: entry.number})));
  for (const entry of entries) stateOf(entry.number, entry.state);
  if (note) $("notes").value = note.number;
  return found;
}

$("notes").addEventListener("change", event => open(Number(event.target.value)));
$("train").addEventListener("click", () => api("train", {}).then(status, error => complain(error.message)));
for (const [key, name, act] of ACTIONS) {
  const button = made("button", name, {type: "button"});
  button.append(made("kbd", key));
  button.addEventListener("click", () => { if (note) act(); if (!document.querySelector("dialog[open]")) $("text").focus({preventScroll: true}); });
  $("tools").append(button);
}
$("labels").addEventListener("keydown", event => {
  const place = SHORTCUTS.indexOf(event.key);
  if (event.key.length > 1 || place < 0 || !labels[place]) return;
  event.preventDefault();
  $("labels").close();
  relabel(labels[place]);
});
for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("close", () => $("text").focus({preventScroll: true}));

async function begin() {
  const found = await list();
  category = Object.fromEntries(found.labels), labels = found.labels.map(([label]) => label);
  for (const [place, label] of labels.entries()) {
    const button = made("button", label, {type: "button", class: `chip c-${category[label]}`});
    if (place < SHORTCUTS.length) button.append(made("kbd", SHORTCUTS[place]));
    button.addEventListener("click", () => { $("labels").close(); relabel(label); });
    $("choices").append(button);
  }
  $("train").hidden = !found.trains;
  document.body.classList.add("ready");
  await open((entries.find(entry => entry.state !== "done") ?? entries[0]).number);
  await status();
}

begin().catch(error => complain(error.message));
