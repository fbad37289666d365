
// Curves: one line for runs that differ in their seed alone, the median with the range of the seeds.

const FAMILIES = ["evaluation", "reward", "response", "policy", "train", "sampler", "grade", "rollout", "time", "throughput", "memory"];
const WIDTH = 340, HEIGHT = 136, OPENING_HEIGHT = 240, LEFT = 46, RIGHT = 14, TOP = 6, BOTTOM = 18;
const view = { from: null, to: null, smoothing: 0, log: false, hidden: new Set() };
const charts = [];

const kinds = [];
data.runs.forEach((run) => {
  kinds[run.kind] ??= { label: run.label, runs: [], place: run.kind % 8 };
  kinds[run.kind].runs.push(run);
});
for (const kind of kinds) {
  if (kind.runs.length > 1) kind.label += ` (${kind.runs.length} runs, median and range)`;
  else if (kind.runs[0].seed !== null) kind.label += `, seed ${kind.runs[0].seed}`;
}

// Points [step, value] of a metric of a run.
function points(run, metric) {
  if (metric.startsWith("evaluation/")) {
    const split = metric.slice("evaluation/accuracy ".length);
    return run.evaluations.filter((e) => e.split === split && e.accuracy !== null).map((e) => [e.step, e.accuracy]);
  }
  const values = run.metrics[metric] ?? [];
  return run.steps.map((step, i) => [step, values[i]]).filter(([, value]) => value !== null && value !== undefined);
}

// Points [step, median, lowest, highest] of the runs of a kind.
function joined(kind, metric) {
  const steps = new Map();
  for (const run of kind.runs) {
    for (const [step, value] of points(run, metric)) {
      if (!steps.has(step)) steps.set(step, []);
      steps.get(step).push(value);
    }
  }
  return [...steps].sort((a, b) => a[0] - b[0]).map(([step, values]) => {
    values.sort((a, b) => a - b);
    const half = values.length >> 1;
    const median = values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    return [step, median, values[0], values.at(-1)];
  });
}

// A running mean whose weights fall off; the first points are not drawn towards 0.
function smooth(series, keep) {
  if (!keep) return series;
  const sums = [0, 0, 0];
  let weight = 0;
  return series.map(([step, ...values]) => {
    weight = keep * weight + 1 - keep;
    values.forEach((value, i) => { sums[i] = keep * sums[i] + (1 - keep) * value; });
    return [step, ...sums.map((sum) => sum / weight)];
  });
}

// At most two points for each pixel: the lowest and the highest, in their order.
function thinned(series, pixels) {
  if (series.length <= 2 * pixels) return series;
  const size = Math.ceil(series.length / pixels), kept = [];
  for (let i = 0; i < series.length; i += size) {
    const part = series.slice(i, i + size);
    const low = part.reduce((a, b) => (b[1] < a[1] ? b : a)), high = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(low === high ? [low] : [low, high].sort((a, b) => a[0] - b[0])));
  }
  return kept;
}

function ticks(low, high, log) {
  if (log) {
    const found = [];
    const stride = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 4));
    for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e += stride) found.push(10 ** e);
    return found.length > 1 ? found : [low, high];
  }
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) found.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return found;
}

function path(series, x, y, column = 1) {
  return series.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[column]).toFixed(1)}`).join("");
}

// Corners of the mark of an evaluation split around a point; the first split has a circle.
const MARKS = [null, [[-4, -4], [4, -4], [4, 4], [-4, 4]], [[0, -5.5], [5, 4], [-5, 4]], [[0, -5.5], [5.5, 0], [0, 5.5], [-5.5, 0]]];
const splits = [...new Set(data.runs.flatMap((run) => run.evaluations.map((e) => e.split)))];

function mark(split, color, cx, cy, ...children) {
  const corners = MARKS[Math.max(0, splits.indexOf(split)) % MARKS.length];
  if (!corners) return make("circle", { class: `dot f${color}`, r: 4, cx, cy }, ...children);
  return make("polygon", { class: `dot f${color}`, points: corners.map(([x, y]) => `${cx + x},${cy + y}`).join(" ") }, ...children);
}

function chart(metric, { name = metric, height = HEIGHT, range = null } = {}) {
  const title = make("figcaption", {}, name);
  const told = make("output", {});
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", tabindex: 0, role: "img" });
  const self = { metric, node: make("figure", { class: "chart" }, title, told, svg), svg, told, height, range, at: null, stale: true, seen: false };
  self.series = kinds.map((kind) => joined(kind, metric));
  self.evaluated = metric === "reward/accuracy" ? splits : [];
  listen(self);
  return self;
}

// The curves that are seen and have positive values where the scale is logarithmic.
function shown(self) {
  const log = view.log && !self.range && self.series.flat().some((p) => p[1] > 0);
  const within = ([step, value]) => (view.from === null || step >= view.from) && (view.to === null || step <= view.to) && (!log || value > 0);
  const lines = kinds.map((kind, k) => {
    if (view.hidden.has(k)) return { k, kind, raw: [], curve: [], marks: [] };
    const smoothing = self.metric.startsWith("evaluation/") ? 0 : view.smoothing;
    const curve = smooth(self.series[k], smoothing).filter(within);
    const marks = self.evaluated.flatMap((split) => joined(kind, `evaluation/accuracy ${split}`).filter(within).map((p) => [...p, split]));
    return { k, kind, raw: smoothing ? self.series[k].filter(within) : [], curve, marks };
  });
  return { log, lines };
}

function draw(self) {
  self.stale = false;
  const { log, lines } = shown(self);
  const all = lines.flatMap((line) => [...line.curve, ...line.raw, ...line.marks]);
  self.svg.replaceChildren();
  self.lines = lines;
  if (!all.length) {
    self.told.textContent = "no values in this range";
    return;
  }
  const wide = self.svg.clientWidth || WIDTH;
  self.svg.setAttribute("viewBox", `0 0 ${wide} ${self.height}`);
  const size = (values, pick) => values.reduce((a, b) => pick(a, b));
  let [low, high] = [size(all.flatMap((p) => [p[1], p[2] ?? p[1]]), Math.min), size(all.flatMap((p) => [p[1], p[3] ?? p[1]]), Math.max)];
  if (self.range) [low, high] = self.range;
  if (log && low <= 0) low = size(all.map((p) => p[1]), Math.min);
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const first = size(all.map((p) => p[0]), Math.min), last = size(all.map((p) => p[0]), Math.max);
  const scale = log ? (v) => Math.log(Math.max(v, low)) : (v) => v;
  self.x = (step) => LEFT + (last > first ? (step - first) / (last - first) : 0.5) * (wide - LEFT - RIGHT);
  self.step = (pixel) => first + Math.min(1, Math.max(0, (pixel - LEFT) / (wide - LEFT - RIGHT))) * (last - first);
  self.y = (value) => TOP + (1 - (scale(value) - scale(low)) / (scale(high) - scale(low))) * (self.height - TOP - BOTTOM);
  axes(self, low, high, first, last, wide, log);
  for (const line of lines) trace(self, line, wide - LEFT - RIGHT);
  self.cross = make("line", { class: "cross", y1: TOP, y2: self.height - BOTTOM, visibility: "hidden" });
  self.svg.append(self.cross);
  tell(self, self.at);
  const summary = lines.filter((line) => line.curve.length).map((line) => `${line.kind.label}: ${number(line.curve[0][1])} to ${number(line.curve.at(-1)[1])}`);
  self.svg.setAttribute("aria-label", `${self.metric} over steps ${first} to ${last}. ${summary.join("; ")}`);
}

function axes(self, low, high, first, last, wide, log) {
  const { svg, y, x } = self;
  for (const value of ticks(low, high, log)) {
    svg.append(make("line", { class: "axis", x1: LEFT, x2: wide - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(make("text", { class: "tick", x: LEFT - 4, y: y(value) + 3, "text-anchor": "end" }, number(value, 3)));
  }
  for (const step of last > first ? ticks(first, last, false).filter(Number.isInteger) : [first]) {
    svg.append(make("text", { class: "tick", x: x(step), y: self.height - 5, "text-anchor": "middle" }, String(step)));
  }
}

function trace(self, line, pixels) {
  const { svg, x, y } = self, color = line.kind.place;
  const curve = thinned(line.curve, pixels);
  if (line.kind.runs.length > 1 && curve.length > 1) {
    const back = [...curve].reverse();
    svg.append(make("path", { class: `band f${color}`, d: `${path(curve, x, y, 3)}L${path(back, x, y, 2).slice(1)}Z` }));
  }
  if (line.raw.length) svg.append(make("path", { class: `curve raw k${color}`, d: path(thinned(line.raw, pixels), x, y) }));
  if (curve.length > 1) svg.append(make("path", { class: `curve k${color}`, d: path(curve, x, y) }));
  const dots = curve.length === 1 || self.metric.startsWith("evaluation/") ? curve : [];
  for (const p of [...dots, ...line.marks]) {
    const title = make("title", {}, `${p[4] ?? line.kind.label}, step ${p[0]}: ${number(p[1])}`);
    svg.append(mark(p[4], color, x(p[0]), y(p[1]), title));
  }
}

// Writes the values at a step, or the last ones, above the curves.
function tell(self, at) {
  self.at = at;
  self.told.replaceChildren();
  let step = null, latest = null;
  for (const line of self.lines ?? []) {
    if (!line.curve.length) continue;
    const p = at === null ? line.curve.at(-1) : line.curve.reduce((a, b) => (Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a));
    const spread = p[2] === p[3] ? "" : ` (${number(p[2], 3)} to ${number(p[3], 3)})`;
    step = p[0];
    latest = Math.max(latest ?? step, step);
    self.told.append(make("span", {}, make("b", { class: `c${line.kind.place}` }, number(p[1])), spread));
  }
  if (step === null) return;
  self.told.prepend(make("span", {}, at === null ? `last, step ${latest}` : `step ${step}`));
  self.cross?.setAttribute("visibility", at === null ? "hidden" : "visible");
  self.cross?.setAttribute("x1", self.x(step));
  self.cross?.setAttribute("x2", self.x(step));
}

function listen(self) {
  let start = null, box = null;
  const pixel = (event) => event.clientX - self.svg.getBoundingClientRect().left;
  self.svg.addEventListener("pointerdown", (event) => {
    if (!self.x) return;
    start = pixel(event);
    box = make("rect", { class: "pick", y: TOP, height: self.height - TOP - BOTTOM });
    self.svg.append(box);
  });
  self.svg.addEventListener("pointermove", (event) => {
    if (!self.x) return;
    const now = pixel(event);
    for (const other of charts) if (other.seen && other.x) tell(other, Math.round(self.step(now)));
    box?.setAttribute("x", Math.min(start, now));
    box?.setAttribute("width", Math.abs(now - start));
  });
  self.svg.addEventListener("pointerup", (event) => {
    const ends = start === null ? [] : [start, pixel(event)].sort((a, b) => a - b).map((p) => Math.round(self.step(p)));
    box?.remove();
    const dragged = start !== null && Math.abs(pixel(event) - start) > 8;
    start = box = null;
    if (dragged && ends[1] > ends[0]) zoom(...ends);
  });
  self.svg.addEventListener("pointerleave", () => {
    box?.remove();
    start = box = null;
    for (const other of charts) if (other.seen && other.x) tell(other, null);
  });
  self.svg.addEventListener("dblclick", () => zoom(null, null));
  self.svg.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || !self.x) return;
    event.preventDefault();
    const steps = [...new Set(self.lines.flatMap((line) => line.curve.map((p) => p[0])))].sort((a, b) => a - b);
    const here = self.at === null ? steps.length : steps.findIndex((step) => step >= self.at);
    tell(self, steps[Math.min(steps.length - 1, Math.max(0, here + way))]);
  });
}

function zoom(from, to) {
  view.from = from;
  view.to = to;
  byId("first").value = from ?? "";
  byId("last").value = to ?? "";
  redraw();
}

function redraw() {
  for (const self of charts) {
    self.stale = true;
    if (self.seen) draw(self);
  }
}

const watched = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const self = entry.target.chart;
    self.seen = entry.isIntersecting;
    if (self.seen && self.stale) draw(self);
  }
}, { rootMargin: "300px" });

function legend() {
  byId("legend").replaceChildren(...kinds.map((kind, k) => {
    const sample = make("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" }, make("path", { class: `curve k${kind.place}`, d: "M0 4H28" }));
    const button = make("button", { type: "button", "aria-pressed": "true" }, sample, kind.label);
    button.addEventListener("click", () => {
      if (!view.hidden.delete(k)) view.hidden.add(k);
      button.setAttribute("aria-pressed", String(!view.hidden.has(k)));
      redraw();
    });
    return button;
  }));
}

// The accuracy of all runs at the head of the page, on a scale from 0 to 1, and the marks of splits.
function opening() {
  const self = chart("reward/accuracy", { name: "Share of right responses in each training step", height: OPENING_HEIGHT, range: [0, 1] });
  charts.push(self);
  self.svg.chart = self;
  watched.observe(self.svg);
  byId("opening").append(self.node);
  const entry = (sample, words) => {
    const name = make("span", {});
    write(name, words);
    return make("span", {}, make("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, sample), name);
  };
  byId("splits").append(
    ...kinds.map((kind) => entry(make("path", { class: `curve k${kind.place}`, d: "M0 6H28" }), kinds.length > 1 ? kind.label : "training responses")),
    ...splits.map((split) => entry(mark(split, 0, 14, 6), `evaluation on ${split || "an unnamed split"}`)));
}

function families() {
  const metrics = new Set(data.runs.flatMap((run) => run.evaluations.map((e) => `evaluation/accuracy ${e.split}`)));
  for (const run of data.runs) for (const metric of Object.keys(run.metrics)) if (run.metrics[metric].some((v) => v !== null)) metrics.add(metric);
  const groups = new Map(FAMILIES.map((family) => [family, []]));
  for (const metric of metrics) {
    const family = metric.includes("/") ? metric.split("/")[0] : "other";
    if (!groups.has(family)) groups.set(family, []);
    groups.get(family).push(metric);
  }
  for (const [family, names] of groups) {
    if (!names.length) continue;
    const made = names.sort().map(chart);
    charts.push(...made);
    const grid = make("div", { class: "grid" }, ...made.map((self) => self.node));
    byId("charts").append(make("section", { class: "family", "aria-label": family }, make("h3", {}, family), grid));
    for (const self of made) {
      self.svg.chart = self;
      watched.observe(self.svg);
    }
  }
}

legend();
opening();
families();
byId("smoothing").addEventListener("input", (event) => { view.smoothing = Number(event.target.value); redraw(); });
byId("log").addEventListener("change", (event) => { view.log = event.target.checked; redraw(); });
byId("reset").addEventListener("click", () => zoom(null, null));
for (const id of ["first", "last"]) {
  byId(id).addEventListener("change", () => zoom(...["first", "last"].map((i) => (byId(i).value === "" ? null : Number(byId(i).value)))));
}
byId("metric").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase();
  for (const self of charts) self.node.hidden = !self.range && !self.metric.toLowerCase().includes(words);
  for (const family of document.querySelectorAll(".family")) family.hidden = !family.querySelector(".chart:not([hidden])");
});
addEventListener("resize", later(150, redraw));
addEventListener("beforeprint", () => { for (const self of charts) if (self.stale) draw(self); });
