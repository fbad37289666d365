// What both parts of the page share. Text from a run becomes text nodes, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "rect", "circle", "polygon", "text", "g", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}

function later(wait, act) {
  let timer = 0;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...words), wait);
  };
}

// Characters that cannot be seen, or that turn the order of others around, are written out.
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function write(parent, text) {
  if (!HIDDEN.test(text)) {
    parent.append(text);
    return;
  }
  let plain = "";
  for (const character of text) {
    if (!HIDDEN.test(character)) {
      plain += character;
      continue;
    }
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parent.append(plain, make("span", { class: "control" }, `U+${code}`));
    plain = "";
  }
  parent.append(plain);
}

const THEMES = ["system", "light", "dark"];

function theme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = `Theme: ${name}`;
  try {
    localStorage.setItem("theme", name);
  } catch {
    // A file may have no storage: the choice then lasts as long as the page.
  }
}

function nextTheme() {
  const now = document.documentElement.dataset.theme ?? "system";
  theme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
}

byId("theme").addEventListener("click", nextTheme);
byId("help").addEventListener("click", () => byId("keys").showModal());
try {
  const kept = localStorage.getItem("theme");
  if (THEMES.includes(kept)) theme(kept);
} catch {
  // As above.
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const command = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
  });
}
for (const form of document.querySelectorAll("form.controls")) form.addEventListener("submit", (event) => event.preventDefault());
