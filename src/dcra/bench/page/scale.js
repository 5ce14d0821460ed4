// Scales between values and pixels, their ticks, and numbers as people write them.

class Scale {
  constructor(low, high, from, to, log) {
    Object.assign(this, { low, high, from, to, log });
    this.a = log ? Math.log10(low) : low;
    this.b = log ? Math.log10(high) : high;
  }

  at(value) {
    const place = ((this.log ? Math.log10(value) : value) - this.a) / (this.b - this.a);
    return this.from + place * (this.to - this.from);
  }

  back(pixel) {
    const place = this.a + ((pixel - this.from) / (this.to - this.from)) * (this.b - this.a);
    return this.log ? 10 ** place : place;
  }

  // The values at the ends when everything moves away from a pixel by a factor.
  stretched(pixel, factor) {
    return [this.from, this.to].map((end) => this.back(pixel + (end - pixel) * factor)).sort((a, b) => a - b);
  }

  ticks(most) {
    if (!this.log || this.b - this.a < 0.8) return evenTicks(this.low, this.high, most);
    const every = Math.ceil((this.b - this.a) / most);
    const steps = this.b - this.a < 2.2 ? [1, 2, 5] : [1];
    const found = [];
    for (let k = Math.floor(this.a); k <= this.b; k++) {
      if (k % every === 0) for (const step of steps) found.push(step * 10 ** k);
    }
    return found.filter((value) => value >= this.low * 0.999 && value <= this.high * 1.001);
  }
}

function evenTicks(low, high, most) {
  const rough = (high - low) / most;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12) + 1e-12 * step; k++) found.push(k * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

function tickLabel(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e5 || size < 1e-3) {
    const power = Math.floor(Math.log10(size) + 1e-9);
    const lead = Number((value / 10 ** power).toPrecision(3));
    const raised = String(power).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return lead === 1 ? `10${raised}` : `${lead}·10${raised}`;
  }
  return String(Number(value.toPrecision(6)));
}

function extent(values, log) {
  const good = values.filter((value) => value !== null && value !== undefined && (!log || value > 0));
  if (!good.length) return log ? [1, 10] : [0, 1];
  const [low, high] = [good.reduce((a, b) => Math.min(a, b)), good.reduce((a, b) => Math.max(a, b))];
  if (low === high) {
    if (log) return [low / 2, high * 2];
    const half = Math.abs(low) / 2 || 1;
    return [low - half, high + half];
  }
  if (log) {
    const room = (high / low) ** 0.04;
    return [low / room, high * room];
  }
  const room = 0.04 * (high - low);
  return [low - room, high + room];
}
