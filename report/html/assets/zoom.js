// Looking closer at charts over time. Without this script the page has the same charts as pictures.
"use strict";
const zoom = (() => {
  const tracks = new Map();
  const track = id => {
    if (!tracks.has(id)) tracks.set(id, JSON.parse(document.getElementById(id).textContent));
    return tracks.get(id);
  };
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const button = (text, label, act) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.setAttribute("aria-label", label);
    b.addEventListener("click", act);
    return b;
  };

  // moments draws events as lines and shades the measured time.
  const moments = data => ({
    hooks: {
      drawClear: [u => {
        const c = u.ctx;
        c.save();
        c.fillStyle = css("--span");
        for (const s of data.spans || []) {
          const from = Math.max(u.bbox.left, u.valToPos(s.at, "x", true)), to = Math.min(u.bbox.left + u.bbox.width, u.valToPos(s.to, "x", true));
          if (to > from) c.fillRect(from, u.bbox.top, to - from, u.bbox.height);
        }
        c.restore();
      }],
      draw: [u => {
        const c = u.ctx, ratio = devicePixelRatio || 1;
        c.save();
        c.strokeStyle = c.fillStyle = css("--soft");
        c.font = 11 * ratio + "px sans-serif";
        c.setLineDash([3 * ratio, 3 * ratio]);
        let end = -Infinity;
        for (const m of data.marks || []) {
          const x = u.valToPos(m.at, "x", true);
          if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
          c.beginPath();
          c.moveTo(x, u.bbox.top);
          c.lineTo(x, u.bbox.top + u.bbox.height);
          c.stroke();
          const text = m.text.slice(0, 40);
          if (x > end) {
            c.fillText(text, x + 3 * ratio, u.bbox.top + 11 * ratio);
            end = x + c.measureText(text).width + 8 * ratio;
          }
        }
        c.restore();
      }],
    },
  });

  const options = (figure_, data, lines, width, log, unit) => ({
    width, height: 280, plugins: [moments(data)],
    cursor: { sync: { key: figure_.dataset.track, setSeries: false }, drag: { x: true, y: false } },
    scales: {
      x: { time: false },
      y: log ? { distr: 3, log: 10 } : { range: (u, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.06 : 1] },
    },
    axes: [
      { stroke: css("--soft"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule") }, values: (u, at) => at.map(figure.clock), space: 80 },
      { stroke: css("--soft"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule") }, size: 72, values: (u, at) => at.map(v => v === null ? "" : figure.value(v, unit)) },
    ],
    series: [{ label: "at", value: (u, v) => figure.value(v, "s") }].concat(lines.map(l => ({
      label: l.label, stroke: css("--c" + l.colour % 6), width: 1.5, dash: l.dash ? [6, 3] : undefined,
      spanGaps: false, points: { show: false }, value: (u, v) => figure.value(v, l.unit),
    }))),
  });

  class Zoom {
    constructor(element) {
      this.element = element;
      this.tools = document.createElement("div");
      this.tools.className = "tools";
      this.open = button("Zoom", "Zoom into " + element.querySelector("figcaption").textContent, () => this.start());
      this.tools.append(this.open);
      element.querySelector(".drawing").before(this.tools);
    }
    data() { return this.drawn || track(this.element.dataset.track); }
    start() {
      const data = this.drawn = track(this.element.dataset.track), names = this.element.dataset.lines.split(",");
      const lines = names.map(n => data.lines.find(l => l.name === n)).filter(Boolean);
      this.place = document.createElement("div");
      this.place.className = "zoomed";
      this.element.classList.add("zooming");
      this.element.querySelector(".drawing").after(this.place);
      const log = this.element.dataset.log === "true";
      const values = lines.map(l => log ? l.values.map(v => v > 0 ? v : null) : l.values);
      this.plot = new uPlot(options(this.element, data, lines, this.place.clientWidth, log, this.element.dataset.unit),
        [data.t, ...values], this.place);
      this.resized = new ResizeObserver(() => this.plot && this.plot.setSize({ width: this.place.clientWidth, height: 280 }));
      this.resized.observe(this.place);
      this.open.hidden = true;
      this.more = [
        button("+", "Zoom in", () => this.scale(0.5)), button("−", "Zoom out", () => this.scale(2)),
        button("←", "Earlier", () => this.move(-0.5)), button("→", "Later", () => this.move(0.5)),
        button("Whole run", "Show the whole run", () => this.range(data.t[0], data.t[data.t.length - 1])),
        button("Picture", "Back to the picture", () => this.stop()),
      ];
      this.tools.append(...this.more);
      this.more[0].focus();
    }
    stop() {
      this.resized.disconnect();
      this.plot.destroy();
      this.plot = this.drawn = null;
      this.place.remove();
      this.more.forEach(b => b.remove());
      this.element.classList.remove("zooming");
      this.open.hidden = false;
      this.open.focus();
    }
    range(min, max) {
      const t = this.data().t, first = t[0], last = t[t.length - 1];
      const span = Math.min(max - min, last - first);
      min = Math.max(first, Math.min(min, last - span));
      this.plot.setScale("x", { min, max: min + span });
    }
    scale(by) {
      const { min, max } = this.plot.scales.x, middle = (min + max) / 2, half = (max - min) / 2 * by;
      this.range(middle - half, middle + half);
    }
    move(by) {
      const { min, max } = this.plot.scales.x, step = (max - min) * by;
      this.range(min + step, max + step);
    }
    again() { if (this.plot) { const { min, max } = this.plot.scales.x; this.stop(); this.start(); this.range(min, max); } }
  }

  let all = [];
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all.forEach(z => z.again()));
  // A live page calls it again when it has new figures; those that are zoomed then stay as they are.
  const attach = () => {
    tracks.clear();
    all = Array.from(document.querySelectorAll("figure[data-track]"), e => e.zoom || (e.zoom = new Zoom(e)));
  };
  attach();
  return { attach };
})();
