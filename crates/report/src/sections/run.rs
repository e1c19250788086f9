//! What was run, on what and in which order, as sections of the page.

use record::TrialRecord;

use crate::Report;
use crate::doc::{Block, Cell, Column, Details, Item, Row, Section, Sheet, Tone};
use crate::facts::{Item as ContextItem, items};
use crate::sentences::{order as order_text, trials};
use crate::usage::{ELAPSED, gnu_time, switches};
use crate::variants::Variant;

/// The filesystems as they were made and mounted.
pub(super) fn filesystems(report: &Report<'_>) -> Section<'static> {
    let mut section =
        Section::new("filesystems", "Filesystems as made and mounted").nav("Filesystems");
    let columns = [
        Column::words("driver"),
        Column::words("effective options"),
        Column::words("made by"),
        Column::words("features"),
        Column::figures("trials"),
    ];
    let rows = report.variants.iter().flat_map(variant);
    let sheet = Sheet::new("Filesystems", "variant", columns)
        .rows(rows)
        .class("text");
    section.blocks.push(Block::Table(sheet));
    section
}

fn code(text: impl Into<Cell>) -> Cell {
    text.into().tone(Tone::Code)
}

fn variant(variant: &Variant) -> Vec<Row> {
    let name = variant.name.as_str();
    if variant.seen.is_empty() {
        let why = "not recorded: no trial of it was mounted";
        return vec![Row::new([name, why, "", "", "", "0"].map(Cell::from))];
    }
    let rows = variant.seen.iter().map(|(served, trials)| {
        let mkfs = match served.mkfs.as_str() {
            "" => "was there before the run".to_owned(),
            mkfs => format!("{mkfs} ({})", served.mkfs_version),
        };
        let mut options = code(served.options.as_str());
        if !served.asked.is_empty() {
            options
                .lines
                .push(format!("asked for: -o {}", served.asked));
        }
        Row::new([
            name.into(),
            served.driver.as_str().into(),
            options,
            code(mkfs),
            code(served.features.as_str()),
            trials.to_string().into(),
        ])
    });
    rows.collect()
}

/// Every trial in running order.
pub(super) fn order(report: &Report<'_>) -> Section<'static> {
    let mut section = Section::new("order", "Run order");
    let text = format!("{}. {}.", order_text(report), trials(report));
    let columns = [
        Column::figures("block"),
        Column::words("cell"),
        Column::words("status"),
        Column::words("begun (UTC)"),
        Column::figures("workload").unit("s"),
        Column::figures("total").unit("s"),
        Column::words("evidence"),
    ];
    let rows = report.slots().map(|(slot, trial)| {
        let (status, message) = crate::status(&trial.status);
        let fails = trial.evidence.iter().any(|e| e.holds == Some(false));
        let status_text = match message {
            Some(message) => format!("{status}: {message}"),
            None => status.to_owned(),
        };
        let begun = trial.started_at.map(|t| t.strftime("%H:%M:%S").to_string());
        let seconds = |s: f64| {
            if s > 0.0 {
                format!("{s:.2}")
            } else {
                String::new()
            }
        };
        Row {
            bad: status != "finished" || fails,
            ..Row::new([
                (slot.trial + 1).to_string().into(),
                (slot.block + 1).to_string().into(),
                report.cell_label(slot.cell).into(),
                status_text.into(),
                begun.unwrap_or_default().into(),
                seconds(trial.ledger.workload).into(),
                seconds(trial.ledger.total).into(),
                evidence(trial),
            ])
        }
    });
    let sheet = Sheet::new("Order of the trials", "trial", columns)
        .rows(rows)
        .class("text");
    section.blocks = vec![Block::Para(text), Block::Table(sheet)];
    section
}

/// The evidence of a trial, and GNU time's lines of its phases.
fn evidence(trial: &TrialRecord) -> Cell {
    let items = trial.evidence.iter().map(|evidence| {
        let holds = match evidence.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "not checked",
        };
        let phase = evidence.phase.as_ref();
        let phase = phase.map_or(String::new(), |phase| format!(" ({phase})"));
        let sign = if evidence.holds == Some(false) {
            "!"
        } else {
            ""
        };
        let name = format!("{}{phase}", evidence.name);
        Item::about(name, format!("{holds}. {}", evidence.detail)).sign(sign)
    });
    let mut cell = Cell::default();
    if trial.evidence.is_empty() {
        cell = "none".into();
    } else {
        let count = |holds| trial.evidence.iter().filter(|e| e.holds == holds).count();
        let mut summary = format!("{} items", trial.evidence.len());
        for (n, text) in [
            (count(Some(false)), "do not hold"),
            (count(None), "not checked"),
        ] {
            if n > 0 {
                summary.push_str(&format!(", {n} {text}"));
            }
        }
        cell.fold
            .push((summary, vec![Block::List(items.collect())]));
    }
    let times = trial.phases.iter().filter_map(|phase| {
        let usage = phase.usage.as_ref()?;
        let text = format!("{}, of {}; {}", phase.name, usage.of, switches(usage));
        Some([Block::Para(text), Block::Listing(gnu_time(usage).into())])
    });
    let times: Vec<Block<'static>> = times.flatten().collect();
    if !times.is_empty() {
        let about = Block::Para(ELAPSED.to_owned());
        let blocks = std::iter::once(about).chain(times).collect();
        cell.fold.push(("GNU time".to_owned(), blocks));
    }
    cell
}

/// Items recorded at the start, with the value of the end where it differs.
pub(super) fn context(report: &Report<'_>) -> Section<'static> {
    let mut section = Section::new("context", "Context");
    let read = |when: &str| report.run.contexts.get(when).map(items).unwrap_or_default();
    let (start, end) = (read("start"), read("end"));
    section.blocks.push(Block::Para(
        "Recorded at the start of the run; where the value had changed at its end, both are shown."
            .to_owned(),
    ));
    if start.is_empty() {
        let text = "This run has no context record.";
        section.blocks.push(Block::Para(text.to_owned()));
        return section;
    }
    let summary = format!("{} items", start.len());
    let rows = start.into_iter().map(|item| context_row(item, &end));
    let columns = ["value", "source"].map(Column::words);
    let sheet = Sheet::new("Context record", "item", columns)
        .rows(rows)
        .class("text");
    section.blocks.push(Block::Details(Details {
        summary,
        open: true,
        blocks: vec![Block::Table(sheet)],
        ..Details::default()
    }));
    section
}

fn context_row(item: ContextItem, end: &[ContextItem]) -> Row {
    let later = end.iter().find(|other| other.name == item.name);
    let later = later.and_then(|other| other.value.clone());
    let later = later.filter(|value| Some(value) != item.value.as_ref());
    let reason = item.reason;
    let mut value = code(item.value.unwrap_or_else(|| {
        let reason = reason.unwrap_or_else(|| "no reason was recorded".to_owned());
        format!("not read: {reason}")
    }));
    value
        .lines
        .extend(later.map(|later| format!("at the end: {later}")));
    Row::new([item.name.into(), value, code(item.source)])
}
