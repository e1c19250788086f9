"use strict";
// Filters the rows of a list by words: a row stays that has all of them.
(function () {
  const box = document.getElementById("filter");
  const input = document.getElementById("filter-words");
  const shown = document.getElementById("filter-shown");
  if (!box || !input) return;
  const rows = [...document.querySelectorAll("tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
  box.classList.add("on");
  function apply() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [row, text] of rows) {
      const stays = words.every((word) => text.includes(word));
      row.hidden = !stays;
      if (stays) count += 1;
    }
    shown.textContent = words.length ? count + " of " + rows.length : "";
  }
  input.addEventListener("input", apply);
  apply();
})();
