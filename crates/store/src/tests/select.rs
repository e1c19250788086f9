//! What selectors name.

use record::Event;

use super::runs::{self, Like};
use super::{Place, both};
use crate::select::Selector;
use crate::store::Store;

both!(
    runs_are_selected_by_what_they_are,
    a_selector_of_a_kernel_gives_the_cells_that_ran_under_it,
    runs_are_read_as_from_their_folders,
);

fn names(store: &mut Store, selector: &str) -> String {
    let selector: Selector = selector.parse().unwrap();
    let found = store.select(&selector).unwrap();
    let names: Vec<&str> = found
        .iter()
        .map(|run| run.name.trim_start_matches("journal-"))
        .collect();
    names.join(" ")
}

fn runs_are_selected_by_what_they_are(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let mut store = place.open();
    let likes = [
        ("6.1.140", vec![("branch", "main")], "fslab 0.1.0 (abc123)"),
        (
            "6.12.48",
            vec![("branch", "next"), ("machine", "a1")],
            "fslab 0.1.0 (abd999-dirty)",
        ),
        ("6.1-rc3", vec![("machine", "a10")], "fslab 0.1.0"),
        ("6.12.48", Vec::new(), "fslab 0.1.0 (abc123)"),
    ];
    for (number, (kernel, tags, tool)) in (1..).zip(likes) {
        let like = Like {
            number,
            kernel,
            tags,
            tool,
        };
        let dir = runs::run(&temp.path().join(number.to_string()), &like);
        store.import(&dir).unwrap();
    }
    for (selector, expected) in [
        ("kernel=6.1", "1 3"),
        ("kernel=6.12", "2 4"),
        ("kernel=6.12.4", ""),
        ("kernel=6", "1 2 3 4"),
        ("commit=abc", "1 4"),
        ("commit=abd999-dirty", "2"),
        ("machine=a1", "2"),
        ("machine=Example CPU", "1 4"),
        ("tag.branch=main", "1"),
        ("tag.machine=a10", "3"),
        ("tag.none=main", ""),
        ("kernel=6.1,tag.branch=main", "1"),
        ("study=journal,kernel=6.12,commit=abc", "4"),
        ("run=journal-3", "3"),
    ] {
        assert_eq!(names(&mut store, selector), expected, "{selector}");
    }
    let folded = record::Run::load(&temp.path().join("1")).unwrap();
    assert_eq!(names(&mut store, &format!("id={}", &folded.id[..12])), "1");
    let of = "kernel=6.1,commit=abc"
        .parse::<Selector>()
        .unwrap()
        .of_study("journal");
    let found = store.select(&of).unwrap();
    let run = &found[0];
    assert_eq!((run.id.as_str(), run.whole), (folded.id.as_str(), true));
    assert_eq!(run.context["items"]["cpu.threads"]["value"], "8");
    assert_eq!(
        run.context["items"]["cpu.microcode"]["reason"],
        "not in this guest"
    );
    // Each cell has the values that the run itself has.
    assert_eq!(run.cells.len(), folded.plan.cells.len());
    for (selected, cell) in run.cells.iter().zip(&folded.plan.cells) {
        assert_eq!(&selected.cell, cell);
        let of_log = folded.finished(cell.id);
        let count: usize = of_log.iter().map(|(_, trial)| trial.samples.len()).sum();
        assert_eq!(selected.samples.len(), count);
        for (slot, trial) in of_log {
            for sample in &trial.samples {
                let same = selected.samples.iter().any(|found| {
                    (found.trial, found.block) == (slot.trial, slot.block)
                        && found.phase == sample.phase
                        && found.metric == sample.metric
                        && found.clock == sample.clock
                        && found.value.to_bits() == sample.value.to_bits()
                });
                assert!(same, "{sample:?}");
            }
        }
    }
    let doubtful = run
        .cells
        .iter()
        .flat_map(|cell| &cell.samples)
        .filter(|sample| !sample.holds);
    let doubtful: Vec<_> = doubtful.collect();
    assert!(!doubtful.is_empty());
    for sample in doubtful {
        assert_eq!(
            (sample.trial, sample.phase.as_str()),
            (fixtures::example::FAILED_EVIDENCE, "read")
        );
    }
}

/// The next event of a log: the context of a kernel.
fn of_kernel(entries: &[record::Entry], level: &str, release: &str) -> record::Entry {
    record::Entry {
        seq: entries.len() as u64,
        at: entries[0].at,
        event: Event::Context {
            when: record::Run::of_kernel(level),
            context: serde_json::json!({"items": {"system.kernel.release": {"value": release}}}),
        },
    }
}

fn a_selector_of_a_kernel_gives_the_cells_that_ran_under_it(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let mut entries = runs::entries(&Like::number(1));
    if let Event::RunStarted { plan, .. } = &mut entries[0].event {
        for cell in &mut plan.cells {
            cell.kernel = Some(if cell.id % 2 == 0 { "6.1" } else { "6.6" }.into());
        }
    }
    let dir = runs::put(temp.path(), &runs::lines(&entries).concat());
    entries.push(of_kernel(&entries, "6.1", "6.1.140"));
    runs::put(temp.path(), &runs::lines(&entries).concat());
    let mut store = place.open();
    store.import(&dir).unwrap();
    let found = store.select(&"kernel=6.1".parse().unwrap()).unwrap();
    let cells: Vec<u32> = found[0].cells.iter().map(|cell| cell.cell.id).collect();
    assert_eq!(cells, [0, 2]);
    assert!(
        found[0]
            .cells
            .iter()
            .all(|cell| cell.kernel.as_deref() == Some("6.1.140"))
    );
    let none = store.select(&"kernel=6.5".parse().unwrap()).unwrap();
    assert!(none.is_empty());
}

/// What a comparison reads of a run, as text. A store keeps neither the order of evidence nor NUL.
fn read(run: &record::Run) -> String {
    let mut run = run.clone();
    run.plan.measured = None;
    let trials = run.trials.iter_mut().zip(0..).map(|(trial, number)| {
        let mut phases: Vec<&str> = trial
            .samples
            .iter()
            .map(|sample| sample.phase.as_str())
            .collect();
        phases.dedup();
        let phases = format!("{phases:?}");
        let text = |sample: &record::Sample| serde_json::to_string(sample).unwrap();
        trial.samples.sort_by_key(text);
        trial.evidence.sort_by_key(|found| {
            (
                found.phase.clone(),
                found.name.clone(),
                found.detail.clone(),
            )
        });
        let kept = run.plan.slots.iter().any(|slot| slot.trial == number);
        kept.then(|| {
            format!(
                "{:?} {phases} {:?} {:?}",
                trial.status, trial.samples, trial.evidence
            )
        })
    });
    let trials: Vec<String> = trials.flatten().collect();
    let items = run.contexts.iter().map(|(when, record)| {
        let items = record["items"].to_string();
        format!("{when} {}", items.replace("\\u0000", "\u{fffd}"))
    });
    let items: Vec<String> = items.collect();
    let whole = (
        run.closing
            .map(|closing| (closing.finished, closing.failed)),
        run.remaining(),
    );
    format!(
        "{} {} {:?} {} {:?} {} {} {:?} {items:?} {trials:?} {whole:?}",
        run.name, run.id, run.tags, run.tool, run.command, run.target, run.started_at, run.plan
    )
}

fn runs_are_read_as_from_their_folders(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let mut store = place.open();
    let mut folders = Vec::new();
    for number in 1..=12 {
        let like = Like {
            kernel: ["6.1.140", "6.12.48", "6.18-rc3"][number as usize % 3],
            tags: match number % 4 {
                0 => vec![("branch", "main"), ("commit", "feed01")],
                1 => vec![("machine", "rack-7")],
                _ => Vec::new(),
            },
            ..Like::number(number)
        };
        let mut entries = runs::entries(&like);
        if let Event::RunStarted { plan, .. } = &mut entries[0].event {
            // Two kernels in one run.
            for cell in plan
                .cells
                .iter_mut()
                .filter(|cell| number == 5 && cell.id % 2 == 0)
            {
                cell.kernel = Some("5.10".into());
            }
        }
        if number == 5 {
            entries.push(of_kernel(&entries, "5.10", "5.10.200"));
        }
        let mut lines = runs::lines(&entries);
        // One that was stopped is no side of a comparison.
        lines.truncate(if number == 7 { 60 } else { lines.len() });
        let dir = runs::put(&temp.path().join(number.to_string()), &lines.concat());
        store.import(&dir).unwrap();
        folders.push(record::Run::load(&dir).unwrap());
    }
    let digits = folders[2].id[..8].to_owned();
    for text in [
        "kernel=6.1",
        "kernel=6.12",
        "kernel=5.10",
        "commit=feed",
        "commit=0123",
        "machine=rack-7",
        "machine=Example CPU",
        "tag.branch=main,kernel=6.1",
        "profile=quick",
        "run=journal-3",
        &format!("run={digits}"),
        &format!("run={}", digits.to_uppercase()),
        &format!("id={digits}"),
        "study=journal",
        "study=none",
    ] {
        let selector: Selector = text.parse().unwrap();
        let of_folders = folders.iter().filter(|run| run.closing.is_some());
        let expected: Vec<String> = of_folders
            .filter_map(|run| selector.narrow(run.clone()))
            .map(|run| read(&run))
            .collect();
        let found: Vec<String> = store.runs(&selector).unwrap().iter().map(read).collect();
        assert_eq!(found.len(), expected.len(), "{text}");
        assert_eq!(found.is_empty(), text == "study=none", "{text}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{text}");
        }
    }
}
