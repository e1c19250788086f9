//! What the pages show, and that nothing of a run is more than text there.

use std::collections::BTreeMap;

use site::{Build, Origin, build, comparison_page};

use crate::common::{HOSTILE, TOOL, assert_linked, make, pages, run, runs};

/// Runs whose every name is hostile, or very long, or looks like a path.
pub(crate) fn hostile() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let long = "long".repeat(5000);
    for number in 1..=14 {
        let mut simulated = run(number, if number > 7 { 800.0 } else { 1000.0 });
        let name = match number % 4 {
            0 => long.as_str(),
            1 => "../../../etc/passwd",
            _ => HOSTILE,
        };
        name.clone_into(&mut simulated.name);
        simulated.tool = format!("fslab {HOSTILE}");
        simulated.kernel = format!("6.1{} {HOSTILE}", number / 8);
        simulated.tags.insert(HOSTILE.into(), HOSTILE.into());
        simulated.tags.insert("long".into(), long.clone());
        simulated
            .tags
            .insert("commit".into(), format!("../{HOSTILE}{}", number / 8));
        let mut entries = simulated.entries();
        for entry in &mut entries {
            match &mut entry.event {
                record::Event::RunStarted { plan, target, .. } => {
                    for text in [
                        &mut plan.study,
                        &mut plan.title,
                        &mut plan.question,
                        &mut plan.profile,
                        target,
                    ] {
                        HOSTILE.clone_into(text);
                    }
                    plan.cells[0].levels.insert("mount".into(), HOSTILE.into());
                    plan.cells[0].workload_name = HOSTILE.into();
                }
                record::Event::Context { when, context } => {
                    *when = "start".into();
                    context["items"][HOSTILE] = serde_json::json!({
                        "number": 7, "value": HOSTILE, "source": HOSTILE
                    });
                }
                record::Event::TrialFinished {
                    warnings, evidence, ..
                } => {
                    warnings.push(HOSTILE.into());
                    evidence[0].detail = HOSTILE.into();
                }
                _ => {}
            }
        }
        let folder = temp.path().join(format!("{number} <b>'\"&\u{1b}[2J"));
        crate::common::write_log(&folder, &entries, None);
    }
    temp
}

/// Asserts that none of the hostile texts is markup on any page, in any file name, or a control character.
fn assert_inert(pages: &BTreeMap<String, String>) {
    for (path, page) in pages {
        assert!(
            path.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"/.".contains(&byte)),
            "{path}"
        );
        for live in [
            "<script>window",
            "<img",
            "<b>'",
            "49",
            "href=\"../../../etc",
        ] {
            // 49 is what the template in the name would come to.
            let found = page.contains(live) && (live != "49" || page.contains("[2J49"));
            assert!(!found, "{path}: {live}");
        }
        assert!(
            !page.contains(|c: char| c.is_control() && c != '\n'),
            "{path}"
        );
    }
}

#[test]
fn hostile_names_are_text_on_every_page() {
    let (runs, site) = (hostile(), tempfile::tempdir().unwrap());
    let built = make(runs.path(), site.path()).unwrap();
    assert_eq!((built.runs, built.comparisons), (14, 1));
    let pages = pages(site.path());
    assert_inert(&pages);
    assert_linked(site.path());
    let shown = pages["index.html"].contains("&lt;/script&gt;&lt;script&gt;window.hacked=1");
    assert!(shown, "the name is shown as it is");
    for (path, page) in &pages {
        let most = if path.starts_with("run/") {
            500_000
        } else {
            200_000
        };
        assert!(page.len() < most, "{path}: {} bytes", page.len());
    }
}

#[test]
fn no_page_has_an_inline_script_or_style_and_each_has_the_policy() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    for (path, page) in pages(site.path()) {
        let page = crate::common::plain(&page.replace("&lt;", "").replace("&quot;", ""));
        assert!(
            page.contains("default-src 'none'; script-src 'self'"),
            "{path}"
        );
        for wrong in [
            "<style",
            " style=\"",
            "javascript:",
            " onclick",
            "=\"http:",
            "=\"https:",
            "=\"//",
        ] {
            assert!(!page.contains(wrong), "{path}: {wrong}");
        }
        for script in page.split("<script").skip(1) {
            let is_data = script.starts_with(" type=\"application/json\"");
            assert!(
                is_data || script.starts_with(" src=\""),
                "{path}: {}",
                &script[..60.min(script.len())]
            );
        }
    }
}

#[test]
fn lists_are_filtered_without_a_script() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let pages = pages(site.path());
    let index = &pages["index.html"];
    let to = |name: &str| {
        let at = index
            .find(&format!(">{name}</a> ("))
            .unwrap_or_else(|| panic!("{name}"));
        let link = index[..at].rsplit("href=\"").next().unwrap();
        &pages[link.split('"').next().unwrap()]
    };
    let rows = |page: &str| page.matches("<tr><td class=\"name\">").count();
    assert_eq!(rows(index), 27);
    assert_eq!(rows(to("6.13.0")), 12);
    assert_eq!(rows(to("mailserver")), 25);
    assert_eq!(rows(to("journal")), 1);
    assert_eq!(rows(to("main")), 24);
    assert!(to("6.13.0").contains("aria-current=\"page\""));
}

#[test]
fn a_step_is_on_the_page_of_its_series_with_the_study_that_confirms_it() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let pages = pages(site.path());
    assert!(pages["series/index.html"].contains("(worse) between"));
    let series: Vec<&String> = pages
        .iter()
        .filter(|(path, page)| path.starts_with("series/") && page.contains("class=\"step worse\""))
        .map(|(_, page)| page)
        .collect();
    assert_eq!(series.len(), 2, "one of each cell");
    for page in series {
        assert!(page.contains("fslab run"), "the study that confirms it");
        assert_eq!(page.matches("<circle class=\"sample\"").count(), 24);
        assert!(page.matches("class=\"whisker\"").count() >= 20);
        assert!(page.contains("Nominated, not judged"));
    }
}

#[test]
fn a_comparison_begins_with_its_answer() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let pages = pages(site.path());
    let of_comparison =
        |path: &&String| path.starts_with("compare/") && !path.ends_with("index.html");
    let path = pages.keys().find(of_comparison).unwrap();
    let page = &pages[path];
    let main = page.split("<main").nth(1).unwrap();
    let answer = main.find("B is worse than A in").expect("the answer");
    assert!(answer < 200, "{answer}");
    assert!(
        page.contains("system.kernel.release"),
        "in what the contexts differ"
    );
    assert!(page.contains("kernel 6.13.0, commit fedcba987654"));
    assert_eq!(page.matches("<svg class=\"interval\"").count(), 2);
    assert!(pages["compare/index.html"].contains("B is worse than A in"));
}

#[test]
fn asked_comparisons_are_made_besides() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    let asked = [["run-1,run-2".to_owned(), "run-3,run-4".to_owned()]];
    let make = |comparisons: &[[String; 2]]| {
        build(&Build {
            dir: site.path(),
            origin: &Origin::Folder(runs.path().to_owned()),
            comparisons,
            tool: TOOL,
            progress: &progress::Silent,
        })
    };
    assert_eq!(make(&asked).unwrap().comparisons, 2);
    assert!(pages(site.path())["compare/index.html"].contains("run-1,run-2"));
    assert_linked(site.path());
    let missing = [["run-1".to_owned(), "no-such-run".to_owned()]];
    assert!(
        make(&missing)
            .unwrap_err()
            .to_string()
            .contains("no-such-run")
    );
    assert_linked(site.path());
}

#[test]
fn a_run_without_a_report_still_has_a_page() {
    let (runs, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut entries = run(1, 1000.0).entries();
    if let record::Event::RunStarted { plan, .. } = &mut entries[0].event {
        plan.tables.clear();
        plan.cells.clear();
        plan.slots.clear();
    }
    entries.truncate(2);
    crate::common::write_log(&runs.path().join("bare"), &entries, None);
    assert_eq!(make(runs.path(), site.path()).unwrap().runs, 1);
    assert_linked(site.path());
}

#[test]
fn the_page_of_a_comparison_alone_loads_nothing() {
    let side = |name: &str, numbers: std::ops::RangeInclusive<u32>, level| compare::Side {
        name: name.to_owned(),
        runs: numbers
            .map(|number| compare::SideRun {
                from: format!("run-{number}"),
                run: run(number, level).run(),
            })
            .collect(),
    };
    let sides = [side(HOSTILE, 1..=5, 1000.0), side("new", 6..=10, 900.0)];
    let gate = compare::Options {
        fail_on: Some(compare::FailOn::Worse),
        ..compare::Options::default()
    };
    for (options, headline) in [
        (
            compare::Options::default(),
            "B is worse than A in 2 of 2 figures",
        ),
        (gate, "FAILED: B is worse than A by more than"),
    ] {
        let compared = compare::compare(&sides, &options).unwrap();
        let page = comparison_page(&compared, TOOL).unwrap();
        assert!(page.contains(headline), "{headline}");
        for wrong in [
            " src=\"",
            "<link rel=\"stylesheet\"",
            "url(",
            "fetch(",
            "=\"http:",
            "=\"https:",
            "<script>window",
            " href=\"../",
        ] {
            assert!(!page.contains(wrong), "{wrong}");
        }
        assert!(page.contains("default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"));
        assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    }
}

/// A store of some runs.
struct Few;

impl compare::Source for Few {
    fn select(
        &self,
        _selectors: &[compare::Selector],
    ) -> Result<Vec<compare::SideRun>, compare::Error> {
        let runs = (1..=13).map(|number| {
            let level = if number > 6 { 700.0 } else { 1000.0 };
            compare::SideRun {
                from: format!("run-{number} in a store"),
                run: run(number, level).run(),
            }
        });
        Ok(runs.collect())
    }

    fn describe(&self) -> String {
        "the runs in a store".to_owned()
    }
}

#[test]
fn the_runs_of_a_store_have_the_same_pages() {
    let (runs, folder, stored) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    for number in 1..=13 {
        let level = if number > 6 { 700.0 } else { 1000.0 };
        run(number, level)
            .write(&runs.path().join(format!("run-{number}")))
            .unwrap();
    }
    make(runs.path(), folder.path()).unwrap();
    let origin = Origin::Store(Box::new(|| Ok(Box::new(Few))));
    let make = || {
        build(&Build {
            dir: stored.path(),
            origin: &origin,
            comparisons: &[],
            tool: TOOL,
            progress: &progress::Silent,
        })
    };
    assert_eq!(make().unwrap().runs, 13);
    assert_linked(stored.path());
    let (of_folder, of_store) = (pages(folder.path()), pages(stored.path()));
    let paths = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&of_folder), paths(&of_store));
    for (path, page) in &of_folder {
        // A report says that there is no folder to read telemetry from, a list where the runs are from.
        if !path.starts_with("run/") && !path.starts_with("list/") && path != "index.html" {
            assert_eq!(page, &of_store[path], "{path}");
        }
    }
    assert_eq!(make().unwrap().written, 0);
}
