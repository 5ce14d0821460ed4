// One pair of axes: curves, bands, bars and maps; hover for values, drag or pinch to zoom, double click to see all.

const MARGIN = { left: 58, right: 12, top: 8, bottom: 42 };
const COLOURS = 10;
const DASHES = ["", "6 4", "2 4"];
const MAP = ["#3b1c6b", "#33638d", "#1f9e89", "#8fd744", "#fde725"];

function colourOf(index) {
  return `var(--s${index % COLOURS})`;
}

function dashOf(index) {
  return DASHES[Math.floor(index / COLOURS) % DASHES.length];
}

function mapColour(share) {
  const place = Math.max(0, Math.min(1, share)) * (MAP.length - 1);
  const k = Math.min(MAP.length - 2, Math.floor(place));
  const parts = [1, 3, 5].map((i) => {
    const [a, b] = [MAP[k], MAP[k + 1]].map((colour) => parseInt(colour.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * (place - k));
  });
  return `rgb(${parts.join()})`;
}

// Edges of the cells around sorted places: half way between neighbours.
function edges(places) {
  if (places.length === 1) return [places[0] - 0.5, places[0] + 0.5];
  const middle = places.slice(1).map((value, i) => (value + places[i]) / 2);
  return [2 * places[0] - middle[0], ...middle, 2 * places.at(-1) - middle.at(-1)];
}

class Plot {
  constructor(host, panel, order, hidden) {
    Object.assign(this, { panel, order, hidden, zoom: null });
    this.box = element("div", { class: "panel" }, host);
    element("h3", {}, this.box, panel.title);
    const reset = element("button", { class: "button reset", type: "button" }, this.box, "Show all");
    reset.addEventListener("click", () => this.setZoom(null));
    this.svg = shape("svg", { role: "img", "aria-label": `${panel.title}: ${panel.y_label} over ${panel.x_label}` }, this.box);
    this.tip = element("div", { class: "tip" }, this.box);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  get series() {
    return this.panel.series.filter((one) => !this.hidden.has(one.name));
  }

  setZoom(zoom) {
    this.zoom = zoom;
    this.box.classList.toggle("zoomed", zoom !== null);
    this.draw();
  }

  domain() {
    const { panel } = this;
    const shown = this.series.length || panel.heat ? this.series : panel.series;
    const xs = shown.flatMap((one) => one.x);
    const ys = shown.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])]);
    if (!panel.heat) return { x: extent(xs, panel.log_x), y: extent(ys, panel.log_y) };
    const [across, up] = [edges(panel.heat.x), edges(panel.heat.y)];
    return { x: [across[0], across.at(-1)], y: [up[0], up.at(-1)] };
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const height = Math.max(230, Math.min(400, Math.round(width * 0.68)));
    const right = MARGIN.right + (this.panel.heat ? 66 : 0);
    const { x, y } = this.zoom || this.domain();
    this.x = new Scale(...x, MARGIN.left, width - right, this.panel.log_x);
    this.y = new Scale(...y, height - MARGIN.bottom, MARGIN.top, this.panel.log_y);
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.drawAxes(width, height);
    const clip = `clip${Plot.count = (Plot.count || 0) + 1}`;
    const area = { x: this.x.from, y: this.y.to, width: this.x.to - this.x.from, height: this.y.from - this.y.to };
    shape("rect", area, shape("clipPath", { id: clip }, this.svg));
    this.inside = shape("g", { "clip-path": `url(#${clip})` }, this.svg);
    if (this.panel.heat) this.drawHeat();
    const ordered = [...this.series].sort((a, b) => a.strong - b.strong);
    for (const one of ordered) this.drawSpread(one);
    for (const one of ordered) this.drawSeries(one);
    shape("rect", { ...area, class: "frame" }, this.svg);
    this.spot = shape("circle", { r: 5, class: "spot", visibility: "hidden" }, this.svg);
  }

  drawAxes(width, height) {
    const [x, y] = [this.x, this.y];
    const given = (this.panel.x_ticks || []).filter((value) => value >= x.low && value <= x.high);
    for (const value of given.length ? given : x.ticks(Math.max(3, Math.floor((x.to - x.from) / 48)))) {
      shape("line", { x1: x.at(value), x2: x.at(value), y1: y.from, y2: y.to, class: "grid" }, this.svg);
      shape("text", { x: x.at(value), y: y.from + 16, "text-anchor": "middle" }, this.svg, tickLabel(value));
    }
    for (const value of y.ticks(6)) {
      shape("line", { x1: x.from, x2: x.to, y1: y.at(value), y2: y.at(value), class: "grid" }, this.svg);
      shape("text", { x: x.from - 7, y: y.at(value) + 4, "text-anchor": "end" }, this.svg, tickLabel(value));
    }
    const middle = (y.from + y.to) / 2;
    shape("text", { x: (x.from + x.to) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, this.svg, this.panel.x_label);
    shape("text", { x: 12, y: middle, "text-anchor": "middle", class: "label", transform: `rotate(-90 12 ${middle})` }, this.svg, this.panel.y_label);
  }

  // Runs of points that can be drawn; a missing value, or one that a log scale does not have, ends a run.
  runs(one, values) {
    const found = [[]];
    one.x.forEach((x, i) => {
      const y = values[i];
      const drawable = y !== null && y !== undefined && (!this.panel.log_y || y > 0) && (!this.panel.log_x || x > 0);
      if (drawable) found.at(-1).push([this.x.at(x), this.y.at(y), i]);
      else if (found.at(-1).length) found.push([]);
    });
    return found.filter((run) => run.length);
  }

  path(run, kind) {
    return run.map(([x, y], i) => (i === 0 ? `M${x},${y}` : kind === "step" ? `H${x}V${y}` : `L${x},${y}`)).join("");
  }

  drawSpread(one) {
    if (!one.low || !one.high) return;
    const floor = one.low.map((low) => (this.panel.log_y && low !== null && low <= 0 ? this.y.low : low));
    const colour = colourOf(this.order.get(one.name));
    const highs = new Map(this.runs(one, one.high).flat().map((point) => [point[2], point]));
    for (const run of this.runs(one, floor)) {
      const pairs = run.filter((point) => highs.has(point[2])).map((point) => [point, highs.get(point[2])]);
      if (one.bars) {
        for (const [low, high] of pairs) {
          const line = `M${low[0]},${low[1]}V${high[1]}M${low[0] - 4},${low[1]}h8M${low[0] - 4},${high[1]}h8`;
          shape("path", { d: line, class: "curve", "data-name": one.name, style: `stroke:${colour};stroke-width:1.2` }, this.inside);
        }
      } else if (pairs.length) {
        const corners = one.kind === "step"
          ? [stairs(pairs.map((pair) => pair[0])), stairs(pairs.map((pair) => pair[1]))]
          : [pairs.map((pair) => pair[0]), pairs.map((pair) => pair[1])];
        const around = [...corners[0], ...corners[1].reverse()].map(([x, y]) => `${x},${y}`);
        shape("polygon", { points: around.join(" "), class: `band ${one.strong ? "strong" : ""}`, style: `fill:${colour}`, "data-name": one.name }, this.inside);
      }
    }
  }

  drawSeries(one) {
    const index = this.order.get(one.name);
    const style = `stroke:${colourOf(index)}`;
    for (const run of this.runs(one, one.y)) {
      if (one.kind !== "points" && run.length > 1) {
        const dash = dashOf(index);
        const strong = one.strong ? "strong" : "";
        if (this.panel.heat) shape("path", { d: this.path(run, one.kind), class: "curve halo", "data-name": one.name }, this.inside);
        shape("path", { d: this.path(run, one.kind), class: `curve ${strong}`, style, "stroke-dasharray": dash, "data-name": one.name }, this.inside);
      }
      if (one.kind === "points" || one.bars || run.length === 1) {
        for (const [x, y] of run) shape("circle", { cx: x, cy: y, r: 3, style: `fill:${colourOf(index)}`, "data-name": one.name }, this.inside);
      }
    }
  }

  drawHeat() {
    const { heat } = this.panel;
    const [across, up] = [edges(heat.x), edges(heat.y)];
    const [low, high] = this.span();
    heat.z.forEach((line, j) => line.forEach((value, i) => {
      if (value === null) return;
      const [left, right] = [this.x.at(across[i]), this.x.at(across[i + 1])];
      const [top, bottom] = [this.y.at(up[j + 1]), this.y.at(up[j])];
      const box = { x: left, y: top, width: right - left + 0.5, height: bottom - top + 0.5 };
      shape("rect", { ...box, fill: mapColour((value - low) / (high - low || 1)), class: "cell" }, this.inside);
    }));
    const bar = { from: this.y.from, to: this.y.to, left: this.x.to + 10 };
    for (let k = 0; k < 40; k++) {
      const step = (bar.from - bar.to) / 40;
      shape("rect", { x: bar.left, y: bar.to + k * step, width: 10, height: step + 0.5, fill: mapColour(1 - k / 39) }, this.svg);
    }
    const middle = (bar.from + bar.to) / 2;
    const side = bar.left + 52;
    shape("text", { x: side, y: middle, "text-anchor": "middle", class: "label", transform: `rotate(-90 ${side} ${middle})` }, this.svg, heat.label);
    const scale = new Scale(low, low === high ? low + 1 : high, bar.from, bar.to, false);
    for (const value of scale.ticks(5)) shape("text", { x: bar.left + 14, y: scale.at(value) + 4 }, this.svg, tickLabel(value));
  }

  span() {
    const known = this.panel.heat.z.flat().filter((value) => value !== null);
    return this.panel.heat.span || (known.length ? [Math.min(...known), Math.max(...known)] : [0, 1]);
  }

  // Fade everything but one curve; null shows all alike again.
  focus(name) {
    for (const drawn of this.inside?.querySelectorAll("[data-name]") ?? []) {
      drawn.classList.toggle("faded", name !== null && drawn.dataset.name !== name);
      drawn.classList.toggle("focused", drawn.dataset.name === name);
    }
  }

  listen() {
    let start = null;
    let rubber = null;
    const place = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      start = place(event);
      rubber = shape("rect", { class: "rubber" }, this.svg);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const [px, py] = place(event);
      if (start) {
        const [x, y] = [Math.min(start[0], px), Math.min(start[1], py)];
        for (const [name, value] of Object.entries({ x, y, width: Math.abs(px - start[0]), height: Math.abs(py - start[1]) })) rubber.setAttribute(name, value);
      } else this.hover(px, py);
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (!start) return this.hover(...place(event));
      const [from, to] = [start, place(event)];
      start = null;
      rubber.remove();
      if (Math.abs(to[0] - from[0]) > 8 && Math.abs(to[1] - from[1]) > 8) this.setZoom(this.between(from, to));
    });
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return; // the page scrolls; a pinch on a trackpad comes with this key
      event.preventDefault();
      const [px, py] = place(event);
      const factor = event.deltaY > 0 ? 1.25 : 0.8;
      this.setZoom({ x: this.x.stretched(px, factor), y: this.y.stretched(py, factor) });
    }, { passive: false });
    this.svg.addEventListener("pointerleave", () => this.hide());
    this.svg.addEventListener("dblclick", () => this.setZoom(null));
  }

  between(from, to) {
    const within = (pixel, scale) => Math.max(Math.min(scale.from, scale.to), Math.min(Math.max(scale.from, scale.to), pixel));
    const span = (scale, k) => [scale.back(within(from[k], scale)), scale.back(within(to[k], scale))].sort((a, b) => a - b);
    return { x: span(this.x, 0), y: span(this.y, 1) };
  }

  hover(px, py) {
    const found = this.nearest(px, py) || this.cell(px, py);
    if (!found) return this.hide();
    this.spot.setAttribute("visibility", found.colour ? "visible" : "hidden");
    this.spot.setAttribute("cx", found.at[0]);
    this.spot.setAttribute("cy", found.at[1]);
    this.spot.setAttribute("style", `fill:${found.colour}`);
    this.tip.replaceChildren();
    element("b", {}, this.tip, found.title);
    for (const line of found.lines) element("div", {}, this.tip, line);
    const room = this.box.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, found.at[0] + 12))}px`;
    const above = this.svg.getBoundingClientRect().top - this.box.getBoundingClientRect().top + found.at[1] - 10;
    this.tip.style.top = `${Math.max(0, above - this.tip.offsetHeight)}px`;
    this.tip.classList.add("on");
  }

  hide() {
    this.tip.classList.remove("on");
    this.spot?.setAttribute("visibility", "hidden");
  }

  nearest(px, py) {
    let best = null;
    for (const one of this.series) {
      for (const [x, y, i] of this.runs(one, one.y).flat()) {
        const apart = Math.hypot(x - px, y - py);
        if (apart < 30 && x >= this.x.from && x <= this.x.to && (!best || apart < best.apart)) best = { apart, one, i, at: [x, y] };
      }
    }
    if (!best) return null;
    const { one, i, at } = best;
    const lines = [`${this.panel.x_label}: ${shownNumber(one.x[i], 4)}`, `${this.panel.y_label}: ${shownNumber(one.y[i], 5)}`];
    if (one.low && one.high) lines.push(`from ${shownNumber(one.low[i], 5)} to ${shownNumber(one.high[i], 5)}`);
    return { title: one.name, lines, at, colour: colourOf(this.order.get(one.name)) };
  }

  cell(px, py) {
    const { heat } = this.panel;
    if (!heat) return null;
    const find = (places, value) => edges(places).findIndex((edge, k, all) => edge <= value && value < all[k + 1]);
    const [i, j] = [find(heat.x, this.x.back(px)), find(heat.y, this.y.back(py))];
    if (i < 0 || j < 0) return null;
    const lines = [`${this.panel.x_label}: ${shownNumber(heat.x[i], 4)}`, `${this.panel.y_label}: ${shownNumber(heat.y[j], 4)}`];
    return { title: `${heat.label || "value"}: ${shownNumber(heat.z[j][i], 4)}`, lines, at: [px, py], colour: "" };
  }
}

function stairs(points) {
  return points.flatMap(([x, y], i) => (i ? [[x, points[i - 1][1]], [x, y]] : [[x, y]]));
}
