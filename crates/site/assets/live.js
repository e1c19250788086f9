"use strict";
// Shows the events of a run while it is written. All text reaches the page as text, never as markup.
(function () {
  const plan = JSON.parse(document.getElementById("live-plan").textContent);
  const by = (id) => document.getElementById(id);
  const state = new Map();
  const MOST_LINES = 200;
  let last = -1;

  function put(id, text) { by(id).textContent = text; }

  function line(at, text) {
    const log = by("live-log");
    const item = document.createElement("li");
    item.textContent = at.replace("T", " ").replace(/\..*$/, "") + "  " + text;
    log.prepend(item);
    while (log.children.length > MOST_LINES) log.lastElementChild.remove();
  }

  function count() {
    const of = (word) => [...state.values()].filter((value) => value === word).length;
    const finished = of("finished"), failed = of("failed"), total = Math.max(plan.total, state.size);
    put("live-finished", String(finished));
    put("live-failed", String(failed));
    put("live-total", String(total));
    const bar = by("live-bar");
    bar.max = Math.max(total, 1);
    bar.value = finished + failed;
    bar.textContent = (finished + failed) + " of " + total;
  }

  const label = (trial) => "trial " + (trial + 1) + (plan.labels[trial] ? ": " + plan.labels[trial] : "");

  const meanings = {
    trial_started: (e) => { state.set(e.slot.trial, "running"); put("live-now", label(e.slot.trial)); return label(e.slot.trial) + " begins"; },
    filesystem_ready: (e) => label(e.trial) + ": filesystem mounted",
    phase_finished: (e) => { put("live-now", label(e.trial) + ", phase " + e.phase + " done"); return label(e.trial) + ": phase " + e.phase + " done"; },
    trial_finished: (e) => { state.set(e.trial, "finished"); return label(e.trial) + " finished"; },
    trial_failed: (e) => { state.set(e.trial, "failed"); return label(e.trial) + " failed: " + e.message; },
    trial_repeated: (e) => { plan.total += 1; return label(e.slot.trial) + " repeats trial " + (e.repeats + 1); },
    resumed: () => "resumed",
    note: (e) => "note: " + e.message,
    run_finished: (e) => "the run is finished: " + e.finished + " trials finished, " + e.failed + " failed",
  };

  const source = new EventSource(plan.events);
  source.onopen = () => put("live-link", "connected");
  source.onerror = () => put("live-link", source.readyState === EventSource.CLOSED ? "not connected: reload the page" : "connecting again");
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.seq <= last) return;
    last = event.seq;
    const meaning = meanings[event.event];
    if (meaning) line(event.at, meaning(event));
    count();
    if (event.event === "run_finished") {
      source.close();
      put("live-link", "finished");
      put("live-now", "the run is finished");
      by("live-report").hidden = false;
    }
  };
})();
