"use strict";
// Draws the telemetry of one trial, or of two over each other. All text reaches the page as text, never as markup.
(function () {
  const data = JSON.parse(document.getElementById("tele-data").textContent);
  const pick = document.getElementById("tele-pick");
  const over = document.getElementById("tele-over");
  const box = document.getElementById("tele-charts");
  const shown = document.getElementById("tele-shown");
  const root = document.documentElement;
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  let plots = [];

  data.trials.forEach((trial, i) => {
    const option = document.createElement("option");
    option.value = String(i);
    option.textContent = trial.label;
    pick.append(option);
  });
  const none = document.createElement("option");
  none.value = "";
  none.textContent = "no other trial";
  over.append(none, ...[...pick.options].map((option) => option.cloneNode(true)));

  // Phases as bands below the lines, named where the name fits.
  function bands(phases) {
    return {
      hooks: {
        drawClear: [(u) => {
          const c = u.ctx, b = u.bbox, dpr = window.devicePixelRatio || 1;
          c.save();
          c.beginPath();
          c.rect(b.left, b.top, b.width, b.height);
          c.clip();
          c.font = 10.5 * dpr + "px sans-serif";
          c.textBaseline = "top";
          phases.forEach(([name, from, to], i) => {
            const x0 = u.valToPos(from, "x", true), x1 = u.valToPos(to, "x", true);
            c.fillStyle = color("--band");
            if (i % 2 === 0) c.fillRect(x0, b.top, x1 - x0, b.height);
            c.strokeStyle = color("--line");
            c.beginPath();
            c.moveTo(x0, b.top); c.lineTo(x0, b.top + b.height);
            c.moveTo(x1, b.top); c.lineTo(x1, b.top + b.height);
            c.stroke();
            c.fillStyle = color("--soft");
            if (c.measureText(name).width + 8 * dpr < x1 - x0) c.fillText(name, x0 + 4 * dpr, b.top + 3 * dpr);
          });
          c.restore();
        }],
      },
    };
  }

  const digits = (v) => v == null ? "–" : Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 1 ? v.toFixed(1) : v.toFixed(2);

  // Two trials may have used two loop devices: their charts and lines still belong together.
  const kind = (text) => text.replace(/^Device \S+:/, "Device:");
  const nth = (list, i, name) => list.slice(0, i).filter((other) => name(other) === name(list[i])).length;

  // The chart of another trial that shows the same: of the same kind, and as many before it.
  function partner(trial, i, other) {
    const name = (chart) => kind(chart.title);
    const rank = nth(trial.charts, i, name);
    return other.charts.filter((chart) => name(chart) === name(trial.charts[i]))[rank];
  }

  // Lines of a chart, then those of the other trial at the times of both.
  function lines(chart, trial, match, other) {
    const own = [trial.t].concat(chart.series.map((s) => s.data));
    if (!match) return own;
    return uPlot.join([own, [other.t].concat(match.series.map((s) => s.data))]);
  }

  // The colour of the same line of the chart below, else the next one.
  function place(match, i, chart) {
    const at = chart.series.findIndex((s) => s.label === match.series[i].label);
    return at >= 0 ? at : i;
  }

  function options(chart, trial, width, match, other) {
    const end = other ? [Math.min(trial.range[0], other.range[0]), Math.max(trial.range[1], other.range[1])] : trial.range;
    const mark = other ? "A " : "";
    const axis = () => ({
      stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 },
    });
    return {
      width, height: 190,
      cursor: { sync: { key: "trial" } },
      scales: { x: { time: false, range: () => end }, y: { range: (u, lo, hi) => [0, hi > 0 ? hi * 1.12 : 1] } },
      axes: [
        Object.assign(axis(), { values: (u, ticks) => ticks.map((t) => t + " s") }),
        Object.assign(axis(), { size: 58, values: (u, ticks) => ticks.map((t) => t >= 1e5 ? t / 1e3 + "k" : String(t)) }),
      ],
      series: [{ label: "s", value: (u, v) => v == null ? "–" : v.toFixed(2) }].concat(chart.series.map((s, i) => ({
        label: mark + s.label, stroke: color("--s" + (i % 6)), width: 1.4, points: { show: trial.t.length < 3 },
        value: (u, v) => digits(v), spanGaps: !!other,
      })), (match ? match.series : []).map((s, i) => ({
        label: "B " + s.label, stroke: color("--s" + (place(match, i, chart) % 6)), width: 1.4, dash: [5, 4],
        points: { show: other.t.length < 3 }, value: (u, v) => digits(v), spanGaps: true,
      }))),
      legend: { markers: { dash: (u, i) => i > chart.series.length ? "dashed" : "solid" } },
      plugins: [bands(trial.phases)],
    };
  }

  function spoken(chart) {
    return chart.title + " in " + chart.unit + ". " + chart.series.map((s) => {
      const known = s.data.filter((v) => v != null);
      const mean = known.reduce((a, b) => a + b, 0) / (known.length || 1);
      return s.label + ": mean " + digits(mean) + ", largest " + digits(known.length ? Math.max(...known) : null);
    }).join("; ") + ".";
  }

  function show(i) {
    const trial = data.trials[i];
    const other = over.value === "" ? null : data.trials[Number(over.value)];
    plots.forEach((p) => p.destroy());
    plots = [];
    box.replaceChildren();
    shown.textContent = "Trial A: " + trial.label + (other ? ". Trial B, dashed: " + other.label : "") + ".";
    trial.charts.forEach((chart, at) => {
      const match = other ? partner(trial, at, other) : null;
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      const title = document.createElement("b");
      title.textContent = chart.title;
      caption.append(title, " " + chart.unit);
      const place = document.createElement("div");
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", (match ? "A: " : "") + spoken(chart) + (match ? " B: " + spoken(match) : ""));
      figure.append(caption, place);
      box.append(figure);
      plots.push(new uPlot(options(chart, trial, Math.max(200, place.clientWidth), match, match && other), lines(chart, trial, match, other), place));
    });
  }

  const current = () => Number(pick.value);
  const step = (by) => {
    const n = data.trials.length;
    pick.value = String((current() + by + n) % n);
    show(current());
  };
  pick.addEventListener("change", () => show(current()));
  over.addEventListener("change", () => show(current()));
  document.getElementById("tele-prev").addEventListener("click", () => step(-1));
  document.getElementById("tele-next").addEventListener("click", () => step(1));
  let last = 0;
  new ResizeObserver(() => {
    const width = box.clientWidth;
    if (width === last || width === 0) return;
    last = width;
    plots.forEach((p) => p.setSize({ width: Math.max(200, p.root.parentElement.clientWidth), height: 190 }));
  }).observe(box);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(current()));
  show(0);
})();
