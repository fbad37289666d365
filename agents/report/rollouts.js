
// Rollouts: a list of groups, and the group that is looked at; bodies are inflated when needed.

const groups = data.groups.map((group, place) => ({ ...group, place, size: group.reward.length }));
const looking = { shown: groups, at: -1, words: "", drawn: 0, think: false };
const bodies = new Map();

async function body(group) {
  if (!bodies.has(group.place)) {
    const packed = atob(byId(`body-${group.place}`).textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    bodies.set(group.place, JSON.parse(await new Response(stream).text()));
  }
  return bodies.get(group.place);
}

const isRight = (group, i) => group.right[i] === 1;

function matches(group, i) {
  const verdict = byId("by-verdict").value, status = byId("by-status").value;
  if (verdict && (verdict === "right") !== isRight(group, i)) return false;
  return !status || group.status[i] === status;
}

function kept(group) {
  const run = byId("by-run").value, step = byId("by-step").value, problem = byId("by-problem").value.trim();
  if (run && group.run !== Number(run)) return false;
  if (step && group.step !== Number(step)) return false;
  if (problem && !group.problem.toLowerCase().includes(problem.toLowerCase())) return false;
  return group.reward.some((_, i) => matches(group, i));
}

let search = 0;

// Applies the filters, and the search among what they leave.
async function filter() {
  const mine = ++search;
  const words = byId("search").value.toLowerCase();
  let found = groups.filter(kept);
  if (words) {
    const told = [];
    for (const [k, group] of found.entries()) {
      const text = await body(group);
      if (mine !== search) return;
      const texts = [text.question, ...text.responses.map((r) => r.text)];
      if (texts.some((t) => t.toLowerCase().includes(words))) told.push(group);
      if (k % 100 === 99) byId("count").textContent = `searching, ${k + 1} of ${found.length} groups`;
    }
    found = told;
  }
  looking.words = words;
  looking.shown = found;
  const responses = found.reduce((sum, group) => sum + group.size, 0);
  byId("count").textContent = groups.length ? `${found.length} of ${groups.length} groups, ${responses} responses` : "This run holds no rollouts.";
  byId("groups").replaceChildren();
  looking.drawn = 0;
  more();
  await look(found.length ? 0 : -1);
}

// The next entries of the list; it grows as it is scrolled.
function more() {
  const list = byId("groups");
  const next = looking.shown.slice(looking.drawn, looking.drawn + 200);
  list.append(...next.map((group, k) => entry(group, looking.drawn + k)));
  looking.drawn += next.length;
}

function entry(group, place) {
  const marks = make("span", { class: "marks", "aria-hidden": "true" }, ...group.right.map((_, i) => {
    const right = isRight(group, i);
    return make("span", { class: right ? "right" : "wrong" }, right ? "✓" : "✗");
  }));
  const right = group.right.filter((value) => value === 1).length;
  const told = group.reward.filter((value) => value !== null);
  const mean = told.length ? told.reduce((a, b) => a + b, 0) / told.length : null;
  const small = make("small", {});
  write(small, `${group.problem} · ${right} of ${group.size} right · reward ${number(mean, 3)}`);
  const run = data.runs.length > 1 ? `run ${group.run + 1}, ` : "";
  const button = make("button", { type: "button" }, `${run}step ${group.step} `, marks, small);
  button.addEventListener("click", () => look(place));
  return button;
}

async function look(place) {
  const list = byId("groups");
  list.querySelector('[aria-current="true"]')?.removeAttribute("aria-current");
  looking.at = place;
  const group = looking.shown[place];
  if (!group) {
    byId("group").replaceChildren(make("p", { class: "hint" }, groups.length ? "No group fits the filters." : ""));
    return;
  }
  while (looking.drawn <= place) more();
  const button = list.children[place];
  button.setAttribute("aria-current", "true");
  const top = button.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + button.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
  const text = await body(group);
  if (looking.shown[looking.at] !== group) return;
  byId("group").replaceChildren(problem(group, text, make("h3", {}, `Step ${group.step}`)), key(text), ...text.responses.map((r, i) => response(group, i, r)));
  highlight();
}

function problem(group, text, heading) {
  const words = make("div", {}, heading);
  const question = make("div", { class: "text question" });
  write(question, text.question);
  words.append(question);
  const reference = make("p", { class: "facts" }, "reference ", make("b", { class: "text" }));
  write(reference.lastChild, text.reference);
  if (text.reference) words.append(reference);
  if (text.system) {
    const system = make("div", { class: "text" });
    write(system, text.system);
    words.append(make("details", { class: "system" }, make("summary", {}, "System prompt"), system));
  }
  return make("div", { class: "problem" }, ...figures(group.images, "problem"), words);
}

function figures(images, place) {
  return images.map((k, i) => {
    const image = make("img", { alt: `Figure ${i + 1} of the ${place}` });
    image.src = byId(`image-${k}`).textContent;
    return image;
  });
}

function key(text) {
  if (!text.responses.some((r) => r.ratios)) {
    return make("p", { class: "hint" }, text.responses.some((r) => r.cuts)
      ? "These responses were not trained on: there is no log-ratio to colour tokens by."
      : "This run kept no tokens: there is no log-ratio to colour them by.");
  }
  if (text.responses.every((r) => !r.ratios || r.ratios.every((ratio) => ratio === 0))) {
    return make("p", { class: "hint" }, "All log-ratios are 0: these responses were in the first minibatch, before the policy moved.");
  }
  const sample = (name, words) => make("span", {}, make("span", { class: name }, words));
  return make("p", { class: "key" }, "log-ratio ln(π/π_old) of a token:",
    sample("down3", "below −0.2"), sample("down2", "−0.2"), sample("down1", "−0.05"), sample("", "0"),
    sample("up1", "0.05"), sample("up2", "0.2"), sample("up3", "above 0.2"), sample("clip", "the clip acted"));
}

function response(group, i, told) {
  const right = isRight(group, i);
  const why = group.status[i] && group.status[i] !== "ok" ? `: ${group.status[i]}` : "";
  const header = make("header", {}, make("span", { class: `verdict ${right ? "right" : "wrong"}` }, `${right ? "✓ right" : "✗ wrong"}${why}`));
  const fact = (name, value) => {
    const cell = make("b", { class: "text" });
    write(cell, value);
    header.append(make("span", { class: "facts" }, `${name} `, cell));
  };
  fact("reward", number(group.reward[i]));
  fact("advantage", group.advantage[i] === null ? "not trained on" : number(group.advantage[i]));
  fact("answer", told.answer === null || told.answer === "" ? "none" : told.answer);
  if (group.length[i] !== null) fact("tokens", `${group.length[i]}${group.finished[i] === false ? ", cut" : ""}`);
  const words = make("div", { class: "words text", dir: "auto" });
  const node = make("article", { class: `response${matches(group, i) ? "" : " other"}`, tabindex: -1, "aria-label": `Response ${i + 1} of ${group.size}, ${right ? "right" : "wrong"}` }, header, words);
  fill(words, told);
  return node;
}

// The parts of a response before, within and after its thinking, each a node to write tokens into.
function parts(words, text) {
  const from = text.indexOf("<think>");
  const to = text.indexOf("</think>");
  if (from < 0) return [[text.length, words]];
  const end = to < from ? text.length : to + "</think>".length;
  const before = make("span", {}), inside = make("div", {}), after = make("span", {});
  const fold = make("details", { class: "think", open: looking.think || end - from < 1500 }, make("summary", {}, `thinking, ${end - from} characters`), inside);
  words.append(before, fold, after);
  return [[from, before], [end, inside], [text.length, after]];
}

function fill(words, told) {
  const text = told.text, places = parts(words, text);
  const pieces = told.cuts ?? places.map(([end], k) => end - (k ? places[k - 1][0] : 0));
  const clipped = new Set(told.clipped);
  let start = 0, reply = null;
  pieces.forEach((length, k) => {
    let node = places.find(([end]) => start < end)?.[1] ?? places.at(-1)[1];
    const turn = told.replies?.find(([from, to]) => from <= k && k < to);
    if (turn?.[0] === k) node.append(reply = make("div", { class: "reply" }, ...figures(turn[2], "reply")));
    if (turn) node = reply;
    const piece = text.slice(start, start + length);
    start += length;
    const ratio = told.ratios?.[k];
    if (ratio === undefined || (ratio === 0 && !clipped.has(k))) {
      write(node, piece);
      return;
    }
    const u = ratio / 1000, acted = clipped.has(k);
    const title = `log-ratio ${u > 0 ? "+" : ""}${u}, ratio ${number(Math.exp(u))}${acted ? ", the clip acted" : ""}`;
    const token = make("span", { class: `${shade(u)}${acted ? " clip" : ""}`, title });
    write(token, piece);
    node.append(token);
  });
}

function shade(u) {
  const size = Math.abs(u), level = size > 0.2 ? 3 : size > 0.05 ? 2 : size > 0.005 ? 1 : 0;
  return level ? `${u > 0 ? "up" : "down"}${level}` : "";
}

// Marks what is searched for, over the bounds of tokens, without touching the page's nodes.
function highlight() {
  if (!CSS.highlights) return;
  CSS.highlights.delete("found");
  if (!looking.words) return;
  const ranges = [];
  for (const part of byId("group").querySelectorAll(".words, .question")) {
    const nodes = [], walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    let text = "";
    while (walk.nextNode()) {
      nodes.push([text.length, walk.currentNode]);
      text += walk.currentNode.data;
    }
    text = text.toLowerCase();
    const where = (offset) => nodes.findLast(([start]) => start <= offset);
    for (let at = text.indexOf(looking.words); at >= 0 && ranges.length < 500; at = text.indexOf(looking.words, at + 1)) {
      const range = new Range(), [start, node] = where(at), [stop, other] = where(at + looking.words.length - 1);
      range.setStart(node, Math.min(at - start, node.length));
      range.setEnd(other, Math.min(at + looking.words.length - stop, other.length));
      ranges.push(range);
      for (let above = node.parentElement; above !== part; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function step(way) {
  const place = looking.at + way;
  if (place < 0 || place >= looking.shown.length) return;
  look(place);
  const top = byId("rollouts").getBoundingClientRect().top;
  if (top > innerHeight * 0.6 || top < -innerHeight * 4) byId("rollouts").scrollIntoView();
}

function stepResponse(way) {
  const cards = [...document.querySelectorAll("#group .response")];
  const next = cards[Math.min(cards.length - 1, Math.max(0, cards.indexOf(document.activeElement.closest(".response")) + way))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function foldAll() {
  looking.think = !looking.think;
  for (const fold of document.querySelectorAll(".think")) fold.open = looking.think;
}

function colours(on) {
  byId("colours").checked = on;
  byId("group").classList.toggle("plain", !on);
}

const KEYS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  n: () => stepResponse(1), p: () => stepResponse(-1), t: foldAll, c: () => colours(!byId("colours").checked),
  d: nextTheme, "?": () => byId("keys").showModal(),
  "/": () => { byId("rollouts").scrollIntoView(); byId("search").focus(); },
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const inField = event.target.matches?.("input, select, textarea, svg");
  if (event.key === "Escape" && inField) event.target.blur();
  if (inField || !(event.key in KEYS)) return;
  // The arrows scroll the page until the rollouts are in view.
  const box = byId("rollouts").getBoundingClientRect();
  if (event.key.startsWith("Arrow") && (box.top > innerHeight / 2 || box.bottom < 0)) return;
  event.preventDefault();
  KEYS[event.key]();
});

function choices(id, values, any, label = String) {
  byId(id).replaceChildren(make("option", { value: "" }, any), ...values.map((value) => make("option", { value }, label(value))));
}

choices("by-run", data.runs.map((_, k) => k), "all", (k) => `${k + 1}: ${data.runs[k].label}${data.runs[k].seed === null ? "" : `, seed ${data.runs[k].seed}`}`);
byId("by-run").parentElement.hidden = data.runs.length < 2;
choices("by-step", [...new Set(groups.map((group) => group.step))].sort((a, b) => a - b), "all");
choices("by-status", [...new Set(groups.flatMap((group) => group.status))].filter(Boolean).sort(), "any");
for (const id of ["by-run", "by-step", "by-verdict", "by-status"]) byId(id).addEventListener("change", filter);
byId("by-problem").addEventListener("input", later(150, filter));
byId("search").addEventListener("input", later(200, filter));
byId("colours").addEventListener("change", (event) => colours(event.target.checked));
byId("groups").addEventListener("scroll", (event) => {
  const list = event.target;
  if (list.scrollTop + 2 * list.clientHeight > list.scrollHeight) more();
});
