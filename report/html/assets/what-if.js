// The form of a study: the throughput of levels that were not measured, from the curves that the page has. Between two
// points of a curve it interpolates on logarithmic scales.
"use strict";
for (const form of document.querySelectorAll("form.what-if")) {
  const {Base, Curves} = JSON.parse(form.dataset.question);
  const inputs = [...form.querySelectorAll("input")], output = form.querySelector("output");
  const units = {"": 1, k: 1e3, M: 1e6, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4};
  const read = text => {
    const [, n, unit] = /^\s*([\d.,]+)\s*([A-Za-z]*)\s*$/.exec(text) || [];
    return Number((n || "x").replace(/,/g, "")) * units[unit];
  };
  const between = (c, values, x) => {
    const i = Math.max(1, c.At.findIndex(at => at >= x));
    const t = Math.log(x / c.At[i - 1]) / Math.log(c.At[i] / c.At[i - 1]);
    return values[i - 1] * (values[i] / values[i - 1]) ** t;
  };
  const answer = () => {
    let x = Base, below = 0, above = 0, changed = 0;
    for (const [i, c] of Curves.entries()) {
      const size = read(inputs[i].value);
      if (Math.abs(size / c.Now - 1) < 1e-3) continue;
      if (!(size >= c.At[0] * 0.999 && size <= c.At.at(-1) * 1.001)) return c.Factor + ": not predictable outside of " + c.From + " to " + c.To + ".";
      const ratio = between(c, c.Ratio, size);
      x *= ratio;
      below += Math.log(between(c, c.Low, size) / ratio) ** 2;
      above += Math.log(between(c, c.Up, size) / ratio) ** 2;
      changed++;
    }
    if (changed === 0) return figure.significant(Base) + " ok/s, as measured.";
    return figure.significant(x) + " ok/s, 95 % interval " + figure.significant(x * Math.exp(-Math.sqrt(below))) + " to " +
      figure.significant(x * Math.exp(Math.sqrt(above))) + (changed > 1 ? ". The changes were measured one at a time and are multiplied." : ".");
  };
  const show = () => { output.value = answer(); };
  form.addEventListener("input", show);
  form.addEventListener("submit", e => e.preventDefault());
  show();
}
