// The page: sections from the data, a legend for each figure, light and dark, the rows to take away.

function element(tag, attributes, parent, text) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shape(tag, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// The same name has the same colour everywhere on the page.
function seriesOrder(sections) {
  const names = sections.flatMap((part) => part.panels || []).flatMap((panel) => panel.series.map((one) => one.name));
  return new Map([...new Set(names)].map((name, i) => [name, i]));
}

function drawText(part, host) {
  host.classList.add("prose");
  for (const words of part.paragraphs) element("p", {}, host, words);
}

function drawFigure(part, host, order) {
  const names = [...new Set(part.panels.flatMap((panel) => panel.series.map((one) => one.name)))];
  const hidden = new Set();
  const legend = names.length ? element("div", { class: "legend", role: "group", "aria-label": "Curves" }, host) : null;
  const panels = element("div", { class: "panels" }, host);
  const plots = part.panels.map((panel) => new Plot(panels, panel, order, hidden));
  const buttons = names.map((name) => {
    const button = element("button", { type: "button", "aria-pressed": "true", title: "Click: show or hide. Double click: this one alone, or all." }, legend);
    const swatch = shape("svg", { viewBox: "0 0 22 8" }, button);
    const index = order.get(name);
    shape("line", { x1: 1, x2: 21, y1: 4, y2: 4, style: `stroke:${colourOf(index)};stroke-width:3`, "stroke-dasharray": dashOf(index) }, swatch);
    button.append(name);
    button.addEventListener("click", () => { if (!hidden.delete(name)) hidden.add(name); refresh(); });
    button.addEventListener("pointerenter", () => plots.forEach((plot) => plot.focus(name)));
    button.addEventListener("pointerleave", () => plots.forEach((plot) => plot.focus(null)));
    button.addEventListener("dblclick", () => {
      const alone = hidden.size === names.length - 1 && !hidden.has(name);
      hidden.clear();
      if (!alone) for (const other of names) if (other !== name) hidden.add(other);
      refresh();
    });
    return button;
  });
  if (legend) element("span", { class: "hint" }, legend, "Drag to zoom, double click to see all; click a name to hide it.");
  function refresh() {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(!hidden.has(names[i]))));
    for (const plot of plots) plot.draw();
  }
  return refresh;
}

// Tables and figures of one group become the tabs of one section.
function gathered(sections) {
  const found = [];
  for (const part of sections) {
    const last = found.at(-1);
    if (part.group && last?.kind === "tabs" && last.title === part.group) last.parts.push(part);
    else found.push(part.group ? { kind: "tabs", title: part.group, parts: [part] } : part);
  }
  return found;
}

function drawTabs(group, host, order) {
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": group.title }, host);
  const sheets = group.parts.map((part) => {
    const tab = element("button", { type: "button", role: "tab" }, list, part.tab || part.title);
    const sheet = element("div", { role: "tabpanel", "aria-label": part.title }, host);
    const redraw = part.kind === "figure" ? drawFigure(part, sheet, order) : drawTable(part, sheet);
    element("p", { class: "caption" }, sheet, part.caption);
    tab.addEventListener("click", () => { show(part); redraw(); });
    return { part, tab, sheet };
  });
  function show(chosen) {
    for (const { part, tab, sheet } of sheets) {
      tab.setAttribute("aria-selected", String(part === chosen));
      sheet.hidden = part !== chosen;
    }
  }
  show(group.parts[0]);
}

function drawSection(part, index, order) {
  const host = element("section", { id: `part${index}` }, document.querySelector("main"));
  element("h2", {}, host, part.title);
  if (part.kind === "text") drawText(part, host);
  if (part.kind === "table") drawTable(part, host);
  if (part.kind === "tabs") drawTabs(part, host, order);
  if (part.kind === "figure") drawFigure(part, host, order);
  if (part.caption) element("p", { class: "caption" }, host, part.caption);
  element("a", { href: `#part${index}` }, document.querySelector("nav"), part.title);
}

function offerRows(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  document.getElementById("download").href = URL.createObjectURL(new Blob([bytes], { type: "application/gzip" }));
}

function themeSwitch() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = dark() ? "☀" : "☾"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  system.addEventListener("change", label);
  label();
}

function main() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const top = document.querySelector("main");
  element("h1", {}, top, data.title);
  element("p", { class: "lead" }, top, data.lead);
  const order = seriesOrder(data.sections);
  gathered(data.sections).forEach((part, index) => drawSection(part, index, order));
  offerRows(data.rows);
  themeSwitch();
}

main();
