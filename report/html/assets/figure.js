// How numbers are written for people: the same as package internal/figure, so that the page and the terminal read
// the same. A test compares them.
"use strict";
const figure = (() => {
  const group = s => s.replace(/^(-?)(\d+)/, (_, sign, n) => sign + n.replace(/\B(?=(\d{3})+$)/g, ","));
  const significant = x => {
    if (x === 0) return "0";
    if (Number.isNaN(x)) return "NaN";
    if (!Number.isFinite(x)) return x > 0 ? "+Inf" : "-Inf";
    // toExponential rounds a half away from zero, as the terminal does.
    const [mantissa, exponent] = x.toExponential(2).split("e");
    const digits = 2 - Number(exponent);
    if (digits <= 0) return group(BigInt(Math.round(Number(mantissa + "e" + exponent))).toString());
    return Number(mantissa + "e" + exponent).toFixed(Math.min(100, digits));
  };
  const two = n => String(n).padStart(2, "0");
  const long = ns => {
    const total = Math.round(Math.abs(ns) / 1e9), sign = ns < 0 ? "-" : "";
    const h = Math.floor(total / 3600), m = Math.floor(total / 60) % 60;
    return sign + (h > 0 ? h + "h" : "") + m + "m" + total % 60 + "s";
  };
  const duration = ns => {
    ns = Math.trunc(ns);
    const abs = Math.abs(ns);
    if (ns === 0) return "0";
    if (abs < 1e3) return ns + " ns";
    if (abs < 1e6 - 500) return significant(ns / 1e3) + " µs";
    if (abs < 1e9 - 5e5) return significant(ns / 1e6) + " ms";
    if (abs < 600e9) return significant(ns / 1e9) + " s";
    return long(ns);
  };
  const roundAway = x => Math.sign(x) * Math.round(Math.abs(x));
  const whole = x => group(BigInt(roundAway(x)).toString());
  const rate = x => Math.abs(x) >= 100 ? whole(x) : significant(x);
  const percent = share => {
    if (share > 0.9995 && share < 1) return "99.9+ %";
    if (share !== 0 && Math.abs(share) < 0.0001) return "<0.01 %";
    return significant(share * 100) + " %";
  };
  const bytes = n => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let u = 0;
    for (; Math.abs(n) >= 1024 && u < units.length - 1; u++) n /= 1024;
    return significant(n) + " " + units[u];
  };
  const value = (x, unit) => {
    if (x === null || x === undefined || Number.isNaN(x)) return "-";
    switch (unit) {
      case "ns": return duration(x);
      case "1/s": return rate(x) + "/s";
      case "share": return percent(x);
      case "B": return bytes(x);
      case "B/s": return bytes(x) + "/s";
      case "s": return clock(x);
    }
    return significant(x);
  };
  const clock = s => {
    if (s < 60) return Math.round(s * 10) / 10 + " s";
    const n = Math.round(s);
    if (n < 3600) return Math.floor(n / 60) + ":" + two(n % 60) + " min";
    return Math.floor(n / 3600) + ":" + two(Math.floor(n / 60) % 60) + ":" + two(n % 60) + " h";
  };
  return { significant, duration, rate, percent, bytes, count: whole, value, clock };
})();
