
// Highlights: groups at the head of the page, the responses side by side, the largest advantage first.

const THIRDS = ["First third of the steps", "Middle third", "Last third"];
const SIDE_BY_SIDE = 8;

// Indices of a group's responses by advantage, equal responses together.
function distinct(group, text) {
  const value = (i) => group.advantage[i] ?? group.reward[i] ?? 0;
  const order = group.reward.map((_, i) => i).sort((a, b) => value(b) - value(a));
  const same = new Map();
  for (const i of order) {
    const key = JSON.stringify([text.responses[i].text, text.responses[i].answer, group.reward[i], group.advantage[i], group.right[i], group.status[i]]);
    if (!same.has(key)) same.set(key, []);
    same.get(key).push(i);
  }
  return [...same.values()];
}

function card(group, text, equal) {
  const node = response(group, equal[0], text.responses[equal[0]]);
  node.classList.remove("other");
  if (equal.length > 1) node.querySelector("header").append(make("span", { class: "facts" }, make("b", {}, `${equal.length} equal responses`)));
  return node;
}

async function highlightOf(group) {
  const text = await body(group);
  const all = distinct(group, text), half = SIDE_BY_SIDE / 2;
  const shown = all.length > SIDE_BY_SIDE ? [...all.slice(0, half), ...all.slice(-half)] : all;
  const run = data.runs.length > 1 ? `run ${group.run + 1}, ` : "";
  const right = group.right.filter((value) => value === 1).length;
  const title = `${run}step ${group.step}: ${right} of ${group.size} responses right`;
  const side = make("div", { class: "side plain", role: "group", "aria-label": "Responses" }, ...shown.map((equal) => card(group, text, equal)));
  const below = make("button", { type: "button", class: "below" }, all.length > shown.length ? `Show all ${group.size} responses` : "Show with coloured tokens");
  below.addEventListener("click", () => openBelow(group));
  return make("article", { class: "highlight", "aria-label": title }, problem(group, text, make("h4", {}, title)), side, make("p", {}, below));
}

// Shows a group in the list of all rollouts, without filters.
async function openBelow(group) {
  for (const id of ["search", "by-run", "by-step", "by-verdict", "by-status", "by-problem"]) byId(id).value = "";
  await filter();
  await look(group.place);
  byId("group").scrollIntoView();
  byId("groups").querySelector('[aria-current="true"]').focus({ preventScroll: true });
}

async function highlights() {
  const section = byId("highlights");
  for (const [k, places] of data.highlights.entries()) {
    if (!places.length) continue;
    section.append(make("h3", {}, THIRDS[k]));
    for (const place of places) section.append(await highlightOf(groups[place]));
  }
  if (!data.highlights.flat().length) section.append(make("p", {}, "No logged group has both right and wrong responses."));
  // What scrolls can be reached by key.
  for (const node of section.querySelectorAll(".side, .words")) {
    if (node.scrollHeight > node.clientHeight + 1 || node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
  }
}

filter().then(highlights).then(() => { document.documentElement.dataset.ready = "yes"; });
