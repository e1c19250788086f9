//! The page in a real browser: no console error, no overflow, no empty plot, no live markup.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use report::{Format, Options, render};

/// The browser: the first of these that PATH has, as the scripts find it.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut files = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.find(|file| file.is_file())
}

fn html(run: &record::Run, dir: Option<&Path>) -> String {
    let options = Options {
        format: Format::Html,
        ..Options::default()
    };
    render(run, dir, &options).unwrap()
}

/// Counts what is wrong and sends it to the frame above, which has the window's real width.
const CHECKER: &str = r##"<script>
window.problems = [];
addEventListener("error", (e) => problems.push("error: " + e.message));
addEventListener("securitypolicyviolation", (e) => problems.push("request: " + e.blockedURI));
addEventListener("load", () => setTimeout(() => {
  const drawn = (c) => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < d.length; i += 4) if (d[i] !== 0) n++;
    return n;
  };
  const plots = [...document.querySelectorAll("svg.plot")];
  const bars = plots.map((p) => [...p.querySelectorAll("rect.bar")].filter((b) => b.getBBox().width > 1).length);
  const canvases = [...document.querySelectorAll("canvas")];
  const first = document.querySelector("main .scroll > table");
  const top = first ? first.getBoundingClientRect().top : -1;
  // Another trial over the first one: dashed lines, in every chart.
  const lines = () => document.querySelectorAll("#tele-charts .u-series").length;
  const over = document.getElementById("tele-over");
  const alone = lines();
  if (over) { over.value = "1"; over.dispatchEvent(new Event("change")); }
  const together = lines();
  const tables = [...document.querySelectorAll("main .scroll > table")].filter((t) => !t.closest("td"));
  const copied = first ? fslabTables.csv(fslabTables.rowsOf(first)) : "";
  // Texts of a drawing that are over each other, or outside of it and so cut.
  const texts = plots.map((p) => [p, [...p.querySelectorAll("text")].filter((t) => t.getBoundingClientRect().width > 0)]);
  const inner = (a) => ({ left: a.left + 1, right: a.right - 1, top: a.top + 2, bottom: a.bottom - 2 });
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const collisions = [], cut = [];
  for (const [plot, all] of texts) {
    const boxes = all.map((t) => inner(t.getBoundingClientRect()));
    const whole = plot.getBoundingClientRect();
    boxes.forEach((box, i) => {
      for (let j = i + 1; j < boxes.length; j++) {
        if (meet(box, boxes[j])) collisions.push(all[i].textContent + " / " + all[j].textContent);
      }
      if (box.left < whole.left || box.right > whole.right || box.top < whole.top || box.bottom > whole.bottom) cut.push(all[i].textContent);
    });
  }
  const result = {
    problems,
    collisions,
    cut,
    width: document.documentElement.clientWidth,
    scroll: document.documentElement.scrollWidth,
    plots: plots.length,
    empty_plots: bars.filter((n) => n === 0).length,
    unlabelled: plots.filter((p) => !p.getAttribute("aria-label")).length,
    whiskers: document.querySelectorAll("svg .whisker").length,
    diamonds: document.querySelectorAll("svg .published").length,
    canvases: canvases.length,
    first_table: top,
    tables: tables.length,
    tools: tables.filter((t) => t.parentElement.nextElementSibling?.className === "tools").length,
    copied,
    empty_sections: [...document.querySelectorAll("main section")].filter((s) => s.innerText.trim() === "").length,
    lines: [alone, together],
    // The class of a section is its name, which must not be that of a part of the page's frame.
    framed: [...document.querySelectorAll("main > section")].filter((s) => getComputedStyle(s).display !== "block").map((s) => s.id),
    sticky: getComputedStyle(document.querySelector(".layout > nav")).position,
    empty_canvases: canvases.filter((c) => drawn(c) < 500).length,
    trials: document.querySelectorAll("#tele-pick option").length,
    // What a sheet of paper cuts off, and how it is set; on a screen it scrolls.
    too_wide: [...document.querySelectorAll("main table, main pre, main figure")]
      .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
      .map((e) => (e.closest("section[id]")?.id ?? "") + " " + e.tagName),
    letters: Math.max(0, ...[...document.querySelectorAll("main section.legend p, main section.legend, main figcaption, main .sub")]
      .map((e) => parseFloat(getComputedStyle(e).fontSize))),
    kept: [...document.querySelectorAll("main tr, main figure")].every((e) => getComputedStyle(e).breakInside === "avoid")
      && [...document.querySelectorAll("main h2, main h3, main h4, main figcaption")].every((e) => getComputedStyle(e).breakAfter === "avoid"),
    abreast: Math.max(0, ...[...document.querySelectorAll(".plots.trace, #tele-charts")].map((e) => getComputedStyle(e).gridTemplateColumns.split(" ").length)),
    shown: document.getElementById("tele-shown")?.innerText ?? "",
    picker: [...document.querySelectorAll(".picker label")].map((l) => l.getClientRects().length && l.offsetHeight > 1.6 * (l.querySelector("select").offsetHeight || 1)),
    markers: [...document.querySelectorAll(".u-legend .u-marker")].map((m) => m.style.borderStyle || getComputedStyle(m).borderTopStyle),
    facts: (() => { const d = document.querySelector(".strip"); return d ? getComputedStyle(d).gridTemplateColumns.split(" ").length : 0; })(),
    hacked: !!window.hacked,
  };
  parent.postMessage(JSON.stringify(result), "*");
}, 600));
</script>"##;

/// Opens the page in a frame of that width and returns what the checker saw.
fn open(page: &str, width: u32) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let page = page.replacen("<head>", &format!("<head>{CHECKER}"), 1);
    std::fs::write(dir.path().join("page.html"), page).unwrap();
    let wrapper = format!(
        "<!doctype html><body style='margin:0'><iframe src='page.html' style='border:0;width:{width}px;height:2000px'></iframe>\
         <pre id='out'>nothing</pre><script>addEventListener('message', (e) => {{ document.getElementById('out').textContent = e.data; }});</script>"
    );
    let file = dir.path().join("wrapper.html");
    std::fs::write(&file, wrapper).unwrap();
    let output = Command::new(browser().expect("looked for before"))
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--enable-logging=stderr",
            "--log-level=0",
            "--virtual-time-budget=8000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            dir.path().join("profile").display()
        ))
        .arg(format!("--window-size={},2200", width.max(600)))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = stderr.lines().filter(|l| l.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let json = dom
        .split("<pre id=\"out\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_else(|| panic!("no result in {dom}\n{stderr}"));
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}\n{stderr}"))
}

fn chromium() -> bool {
    let there = browser().is_some();
    if !there {
        testkit::skip!("needs chromium");
    }
    there
}

/// A page like that of a quick run, kept for looking at when FSLAB_KEEP_PAGE names a file.
fn quick_page() -> String {
    let dir = tempfile::tempdir().unwrap();
    let run = common::quick(5, Some(dir.path()));
    let page = html(&run, Some(dir.path()));
    if let Some(path) = std::env::var_os("FSLAB_KEEP_PAGE") {
        std::fs::write(PathBuf::from(path), &page).unwrap();
    }
    page
}

#[test]
fn a_quick_run_opens_clean_at_both_widths_needs_chromium() {
    let page = quick_page();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let note = "all 30 trials of workload compilebench: scale 0.02: trees";
    assert_eq!(page.matches(note).count(), 1);
    assert!(page.contains("s of wall time"));
    if !chromium() {
        return;
    }
    for width in [1280, 390] {
        let seen = open(&page, width);
        assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
        assert_eq!(seen["width"], width, "{seen}");
        assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
        assert!(seen["plots"].as_u64() >= Some(22), "{seen}");
        assert_eq!(seen["empty_plots"], 0, "{seen}");
        assert_eq!(seen["unlabelled"], 0, "{seen}");
        assert!(seen["whiskers"].as_u64() >= Some(100), "{seen}");
        // 22 published rows with four columns each.
        assert_eq!(seen["diamonds"], 88, "{seen}");
        assert!(seen["canvases"].as_u64() >= Some(6), "{seen}");
        assert_eq!(seen["empty_canvases"], 0, "{seen}");
        assert_eq!(seen["trials"], 90, "{seen}");
    }
}

/// The pages of runs with grids, kept like [`quick_page`] with the run's study before the name.
fn grid_pages() -> [String; 2] {
    [common::grids::streaming(5), common::grids::fsck_scale(3)].map(|run| {
        let page = html(&run, None);
        if let Some(path) = std::env::var_os("FSLAB_KEEP_PAGE") {
            let path = PathBuf::from(path);
            std::fs::write(
                path.with_extension(format!("{}.html", run.plan.study)),
                &page,
            )
            .unwrap();
        }
        page
    })
}

/// Heights of a screen at two widths; the first table begins within both.
const SCREENS: [(u32, f64); 2] = [(1400, 1000.0), (420, 900.0)];

/// What every page of a run must be at any width.
fn assert_readable(page: &str, about: &str) {
    for (width, height) in SCREENS {
        let seen = open(page, width);
        assert_eq!(seen["problems"], serde_json::json!([]), "{about}: {seen}");
        assert_eq!(seen["width"], width, "{about}: {seen}");
        assert!(
            seen["scroll"].as_u64() <= seen["width"].as_u64(),
            "{about}: {seen}"
        );
        let top = seen["first_table"].as_f64().unwrap();
        assert!((0.0..height - 60.0).contains(&top), "{about}: {seen}");
        assert_eq!(seen["empty_sections"], 0, "{about}: {seen}");
        assert_eq!(seen["framed"], serde_json::json!([]), "{about}");
        assert_eq!(seen["collisions"], serde_json::json!([]), "{about}");
        assert_eq!(seen["cut"], serde_json::json!([]), "{about}");
        assert_eq!(seen["sticky"], "sticky", "{about}: {seen}");
        assert!(seen["tables"].as_u64() >= Some(1), "{about}: {seen}");
        assert_eq!(seen["tools"], seen["tables"], "{about}: {seen}");
        let copied = seen["copied"].as_str().unwrap();
        assert!(copied.lines().count() >= 2, "{about}: {copied}");
        assert_eq!(copied.matches('\n').count(), copied.matches("\r\n").count());
    }
}

#[test]
fn the_first_table_is_on_the_first_screen_needs_chromium() {
    if !chromium() {
        return;
    }
    assert_readable(&quick_page(), "journal");
    let [streaming, matrix] = grid_pages();
    assert_readable(&streaming, "streaming");
    assert_readable(&matrix, "fsck-scale");
    assert_readable(&html(&common::io::allocation(5), None), "allocation");
}

/// The page of a forged trace of a stack, with doubts and all tables.
fn trace_page() -> String {
    let folder = tempfile::tempdir().unwrap();
    let forge = fixtures::block_trace::Forge::hostile(7, 3000);
    forge.write(folder.path(), "sda").unwrap();
    let mut trace = blktrace::Trace::open(&folder.path().join("sda")).unwrap();
    let outcome = blktrace::btt::run(&mut trace, &blktrace::btt::Options::default(), None);
    let analysis = outcome.unwrap().analysis();
    let subject = report::trace::Subject {
        analysis: &analysis,
        recorded: &[],
        names: &std::collections::BTreeMap::new(),
        devices: &[],
        processes: &[],
    };
    report::trace::html(&subject).unwrap()
}

#[test]
fn a_trace_opens_clean_and_its_tables_are_copied_needs_chromium() {
    if !chromium() {
        return;
    }
    let page = trace_page();
    for (width, _) in SCREENS {
        let seen = open(&page, width);
        assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
        assert_eq!(seen["width"], width, "{seen}");
        assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
        assert_eq!(seen["collisions"], serde_json::json!([]));
        assert_eq!(seen["cut"], serde_json::json!([]));
        assert_eq!(seen["unlabelled"], 0, "{seen}");
        assert_eq!(seen["sticky"], "sticky", "{seen}");
        assert!(seen["tables"].as_u64() >= Some(7), "{seen}");
        assert_eq!(seen["tools"], seen["tables"], "{seen}");
        let copied = seen["copied"].as_str().unwrap();
        assert!(copied.contains("bios queued (Q),"), "{copied}");
    }
}

/// The page as on paper: the rules for print are those of the frame, which is as wide as an A4 sheet within its margins.
fn on_paper(page: &str) -> serde_json::Value {
    const SHEET: u32 = 703;
    assert_eq!(page.matches("@media print{").count(), 1);
    let page = page.replace("@media print{", "@media all{");
    open(&page, SHEET)
}

fn assert_printable(page: &str, about: &str) {
    // What is folded is printed as it is, and may be unfolded before.
    for page in [page.to_owned(), page.replace("<details", "<details open")] {
        let seen = on_paper(&page);
        assert_eq!(seen["problems"], serde_json::json!([]), "{about}: {seen}");
        assert_eq!(seen["too_wide"], serde_json::json!([]), "{about}");
        assert_eq!(seen["cut"], serde_json::json!([]), "{about}");
        assert!(
            seen["scroll"].as_u64() <= seen["width"].as_u64(),
            "{about}: {seen}"
        );
        assert!(seen["letters"].as_f64() <= Some(11.0), "{about}: {seen}");
        assert_eq!(seen["kept"], true, "{about}: {seen}");
        assert_eq!(seen["tools"], seen["tables"], "{about}: {seen}");
    }
}

#[test]
fn a_page_fits_a_sheet_of_paper_needs_chromium() {
    if !chromium() {
        return;
    }
    let quick = quick_page();
    assert_printable(&quick, "journal");
    let seen = on_paper(&quick);
    let shown = seen["shown"].as_str().unwrap();
    assert!(
        shown.starts_with("Trial A: 1, block 1: ") && shown.contains("Trial B, dashed: 2, "),
        "{seen}"
    );
    assert_eq!(seen["abreast"], 2, "{seen}");
    let [streaming, matrix] = grid_pages();
    assert_printable(&streaming, "streaming");
    assert_printable(&matrix, "fsck-scale");
    assert_printable(&html(&common::io::allocation(5), None), "allocation");
    let trace = trace_page();
    assert_printable(&trace, "trace");
    assert_eq!(on_paper(&trace)["abreast"], 2);
}

/// Levels with the names that options of a mount have.
fn long_names(run: &mut record::Run) {
    let long = |level: &str| format!("{level}-o-data=writeback,nobarrier,nodelalloc,commit=30");
    for (_, levels) in &mut run.plan.factors {
        for level in levels {
            *level = long(level);
        }
    }
    for cell in &mut run.plan.cells {
        for level in cell.levels.values_mut() {
            *level = long(level);
        }
    }
}

#[test]
fn long_names_are_whole_and_over_nothing_needs_chromium() {
    let mut run = crate::latency::run();
    long_names(&mut run);
    // An axis that ends at a tick.
    for trial in &mut run.trials {
        for phase in &mut trial.phases {
            for operation in phase.detail["latency"].as_array_mut().unwrap() {
                let slowest = serde_json::json!({"from": 0.08, "to": 0.1, "count": 1});
                operation["histogram"].as_array_mut().unwrap().push(slowest);
            }
        }
    }
    let page = html(&run, None);
    assert!(page.contains("class=\"plot histogram\"") && page.contains(">100 ms</text>"));
    if !chromium() {
        return;
    }
    for width in [1400, 420] {
        let seen = open(&page, width);
        assert_eq!(seen["collisions"], serde_json::json!([]), "{width}");
        assert_eq!(seen["cut"], serde_json::json!([]), "{width}");
        assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
    }
    assert_printable(&page, "long names");
}

#[test]
fn facts_are_in_two_columns_on_a_telephone_needs_chromium() {
    if !chromium() {
        return;
    }
    let page = trace_page();
    assert_eq!(open(&page, 420)["facts"], 2);
    assert!(open(&page, 1400)["facts"].as_u64() >= Some(4));
}

#[test]
fn two_trials_are_drawn_over_each_other_needs_chromium() {
    if !chromium() {
        return;
    }
    let seen = open(&quick_page(), 1280);
    assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
    let (alone, together) = (&seen["lines"][0], &seen["lines"][1]);
    let canvases = seen["canvases"].as_u64().unwrap();
    // The time is a line of the legend, too, and is there once.
    let doubled = 2 * alone.as_u64().unwrap() - canvases;
    assert_eq!(together.as_u64(), Some(doubled), "{seen}");
    // The legend shows which line is whose: those of B are dashed there, too.
    let markers = seen["markers"].as_array().unwrap();
    let dashed = markers.iter().filter(|style| *style == "dashed").count() as u64;
    let lines = together.as_u64().unwrap() - canvases;
    assert_eq!(dashed * 2, lines, "{markers:?}");
    let narrow = open(&quick_page(), 420);
    let wrapped = narrow["picker"].as_array().unwrap();
    assert_eq!(wrapped.as_slice(), [false, false], "{narrow}");
}

#[test]
fn tables_of_one_title_share_their_axis() {
    let run = common::quick(5, None);
    let options = Options {
        format: Format::Html,
        rows: vec!["phase".into()],
        columns: vec!["filesystem".into()],
        metric: Some("throughput".into()),
        clock: Some(study::Clock::Syncfs),
        ..Options::default()
    };
    let page = render(&run, None, &options).unwrap();
    let ends = |row: &str| -> Vec<String> {
        let caption = format!("<figcaption><b>{row}</b>");
        let plots = page.split(&caption).skip(1);
        let plots = plots.map(|rest| rest.split("</figure>").next().unwrap());
        let last = |plot: &str| {
            let tick = plot.rsplit("<text class=\"tick\"").next().unwrap();
            let text = tick.split('>').nth(1).unwrap();
            text.split('<').next().unwrap().to_owned()
        };
        plots.map(last).collect()
    };
    let found = ends("initial_write");
    assert_eq!(found.len(), 2, "one for each number of threads");
    assert_eq!(found[0], found[1]);
}

#[test]
fn grids_open_clean_at_both_widths_needs_chromium() {
    let [streaming, matrix] = grid_pages();
    assert!(streaming.contains("<b>[11]</b>"));
    assert!(streaming.contains("iostat -x, today&#39;s layout"));
    assert_eq!(
        streaming.matches("maxresident)k").count(),
        40 * 3,
        "three phases of each trial"
    );
    assert!(streaming.contains("Timing buffered disk reads: 1576 MB in  3.00 seconds"));
    assert_eq!(matrix.matches("<td class=\"num\">missing</td>").count(), 11);
    assert!(matrix.contains("File System Size (in GiB)"));
    if !chromium() {
        return;
    }
    // Rows of ext4, ext3 and XFS; six rows of the matrix.
    for (page, plots) in [(&streaming, 3), (&matrix, 6)] {
        // Open footnotes must not widen the page either.
        let page = page.replace("<details", "<details open");
        for width in [1280, 390] {
            let seen = open(&page, width);
            assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
            assert_eq!(seen["width"], width, "{seen}");
            assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
            assert_eq!(
                (&seen["plots"], &seen["empty_plots"]),
                (&plots.into(), &0.into()),
                "{seen}"
            );
        }
    }
}

#[test]
fn layouts_and_traces_open_clean_at_both_widths_needs_chromium() {
    let mut run = common::io::allocation(5);
    // A figure that only one trial has, and names that are longer than a column.
    run.trials[1].traces[0].notes.push("<b>x</b>".to_owned());
    let page = html(&run, None);
    for heading in [
        "Layout:",
        "Block trace:",
        "Cost of tracing",
        "as the message lists them",
        ">Why<",
    ] {
        assert!(page.contains(heading), "{heading}");
    }
    assert!(!page.contains("<b>x</b>"));
    assert_eq!(
        page.matches("<span class=\"unit\">degraded</span>").count(),
        4,
        "in each table of figures"
    );
    if let Some(path) = std::env::var_os("FSLAB_KEEP_PAGE") {
        std::fs::write(PathBuf::from(path).with_extension("allocation.html"), &page).unwrap();
    }
    if !chromium() {
        return;
    }
    let page = page.replace("<details", "<details open");
    for width in [1280, 390] {
        let seen = open(&page, width);
        assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
        assert_eq!(seen["width"], width, "{seen}");
        assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
        assert_eq!(seen["empty_plots"], 0, "{seen}");
    }
}

#[test]
fn hostile_names_are_inert_needs_chromium() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = common::quick(2, Some(dir.path()));
    let hostile =
        "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&";
    run.name = hostile.to_owned();
    run.plan.title = hostile.to_owned();
    run.tool = hostile.to_owned();
    run.notes.push(hostile.to_owned());
    for (_, levels) in &mut run.plan.factors {
        for level in levels.iter_mut().filter(|l| *l == "xfs") {
            *level = hostile.to_owned();
        }
    }
    for cell in &mut run.plan.cells {
        for level in cell.levels.values_mut().filter(|l| *l == "xfs") {
            *level = hostile.to_owned();
        }
    }
    for trial in &mut run.trials {
        trial.warnings.push(hostile.to_owned());
        for evidence in &mut trial.evidence {
            evidence.detail = hostile.to_owned();
        }
        for phase in &mut trial.phases {
            phase.name = hostile.to_owned();
        }
    }
    let page = html(&run, Some(dir.path()));
    assert!(!page.contains("<script>window.hacked"), "a script element");
    assert!(!page.contains("<img src=x"), "an image element");
    if !chromium() {
        return;
    }
    let seen = open(&page, 390);
    assert_eq!(seen["hacked"], false, "{seen}");
    assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
    assert!(seen["scroll"].as_u64() <= seen["width"].as_u64(), "{seen}");
}

#[test]
fn a_row_without_values_says_so_instead_of_an_empty_plot() {
    let mut run = fixtures::example::run();
    for trial in &mut run.trials {
        trial.samples.retain(|s| s.phase != "patch");
    }
    let page = html(&run, None);
    assert_eq!(page.matches("No finished trial measured it.").count(), 1);
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 15);
}

#[test]
fn nothing_is_fetched() {
    let page = quick_page();
    for wrong in [
        " src=",
        "@import",
        "url(",
        "<link",
        "fetch(",
        "XMLHttpRequest",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_without_telemetry_or_context_says_so() {
    let mut run = fixtures::example::run();
    run.contexts.clear();
    let page = html(&run, None);
    assert!(
        page.contains("No telemetry to show: the report was made without the run&#x27;s folder."),
        "says why"
    );
    assert!(page.contains("This run has no context record."));
    assert!(!page.contains("tele-data"));
}
