// The map shows one session at a time; the address keeps which one: #session=NAME.
const maps = [...document.querySelectorAll(".map")];
const picker = document.querySelector(".picker");
const select = document.querySelector("#session");
const cellSays = document.querySelector("#cell");
const PREFIX = "#session=";

function show(name) {
  const shown = maps.find((map) => map.dataset.session === name) ?? maps[0];
  for (const map of maps) map.hidden = map !== shown;
  select.value = shown.dataset.session;
  cellSays.textContent = "What a cell says stands here when it is pointed at or focused.";
  const [previous, next] = picker.querySelectorAll("button");
  previous.disabled = shown === maps.at(0);
  next.disabled = shown === maps.at(-1);
}

function pick(name) {
  history.replaceState(null, "", PREFIX + encodeURIComponent(name));
  show(name);
}

function fromAddress() {
  if (location.hash.startsWith(PREFIX)) show(decodeURIComponent(location.hash.slice(PREFIX.length)));
}

// Keys follow the session: from turn to turn, and within a turn from the prefill worker to the decode worker.
// One cell of a map can be reached with the Tab key, the one visited last.
function path(map) {
  const turns = [];
  for (const cell of map.querySelectorAll("td[class]")) (turns[cell.cellIndex - 1] ??= []).push(cell);
  return turns.filter(Boolean);
}

function visit(map, cell) {
  map.querySelector("td[tabindex='0']")?.setAttribute("tabindex", "-1");
  cell.setAttribute("tabindex", "0");
  cell.focus();
}

function onKey(map, event) {
  const cell = event.target.closest("td[class]");
  if (!cell || event.altKey || event.metaKey) return;
  const turns = path(map);
  const turn = turns.findIndex((cells) => cells.includes(cell));
  const leg = turns[turn].indexOf(cell);
  const target = {
    ArrowRight: () => turns[turn + 1]?.[0],
    ArrowLeft: () => turns[turn - 1]?.[0],
    ArrowDown: () => turns[turn][leg + 1],
    ArrowUp: () => turns[turn][leg - 1],
    Home: () => turns[0][0],
    End: () => turns.at(-1)[0],
  }[event.key];
  if (!target) return;
  event.preventDefault();
  const next = target();
  if (next) visit(map, next);
}

function tell(event) {
  const words = event.target.closest("td[class]")?.querySelector(".unseen");
  if (words) cellSays.textContent = words.textContent;
}

if (maps.length) {
  for (const map of maps) {
    for (const cell of map.querySelectorAll("td[class]")) cell.setAttribute("tabindex", "-1");
    path(map)[0]?.[0].setAttribute("tabindex", "0");
    map.querySelector("table").setAttribute("aria-describedby", "map-help");
    map.addEventListener("keydown", (event) => onKey(map, event));
    map.addEventListener("focusin", tell);
    map.addEventListener("pointerover", tell);
    map.addEventListener("click", (event) => {
      const cell = event.target.closest("td[class]");
      if (cell) visit(map, cell);
    });
  }
  picker.hidden = cellSays.hidden = false;
  select.addEventListener("change", () => pick(select.value));
  picker.addEventListener("click", (event) => {
    const step = Number(event.target.dataset.step ?? 0);
    if (step) pick(maps[maps.findIndex((map) => !map.hidden) + step].dataset.session);
  });
  addEventListener("hashchange", fromAddress);
  show(maps[0].dataset.session);
  fromAddress();
}
