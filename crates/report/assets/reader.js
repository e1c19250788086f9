"use strict";
// Copies and downloads tables, and marks the section that is read in the outline.
(function () {
  // A cell as one line of plain text, without what is folded or drawn in it.
  function cellText(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("details, svg, a.note").forEach((part) => part.remove());
    copy.querySelectorAll("br").forEach((line) => line.replaceWith(" "));
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  // Rows of texts; the title of a group of rows is a first column.
  function rowsOf(table) {
    const grouped = table.querySelector("th[scope=rowgroup]") !== null;
    let group = "";
    const rows = [];
    for (const row of table.rows) {
      const title = row.querySelector("th[scope=rowgroup]");
      if (title) { group = cellText(title); continue; }
      // A head that several columns share is in the first of them.
      const cells = [...row.cells].flatMap((cell) => [cellText(cell), ...Array(cell.colSpan - 1).fill("")]);
      rows.push(grouped ? [row.parentElement.tagName === "THEAD" ? "" : group].concat(cells) : cells);
    }
    return rows;
  }

  const field = (text) => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  const csv = (rows) => rows.map((row) => row.map(field).join(",") + "\r\n").join("");
  const tsv = (rows) => rows.map((row) => row.join("\t") + "\n").join("");

  // The clipboard needs a secure page; a file may not be one.
  async function copy(text) {
    if (navigator.clipboard && window.isSecureContext) {
      try { await navigator.clipboard.writeText(text); return true; } catch (error) { /* the old way below */ }
    }
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  function save(text, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function button(label, title, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.title = title;
    made.addEventListener("click", () => act(made));
    return made;
  }

  const run = document.body.dataset.run || "run";
  const numbers = new Map();
  document.querySelectorAll("section .scroll > table").forEach((table) => {
    const section = table.closest("section[id]");
    const id = section ? section.id : "table";
    const number = (numbers.get(id) || 0) + 1;
    numbers.set(id, number);
    const name = (run + "-" + id + (number > 1 ? "-" + number : "")).replace(/[^\w.-]+/g, "_") + ".csv";
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      button("copy", "Copy this table, with tabs between the columns", async (made) => {
        made.textContent = await copy(tsv(rowsOf(table))) ? "copied" : "not copied";
        setTimeout(() => { made.textContent = "copy"; }, 1500);
      }),
      button("CSV", "Save this table as " + name, () => save(csv(rowsOf(table)), name)),
    );
    table.parentElement.after(tools);
  });
  window.fslabTables = { rowsOf, csv };

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  let current = null;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (!entry.isIntersecting || !link || link === current) continue;
      if (current) current.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      current = link;
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => seen.observe(section));
})();
