//! How long a run's checks would take on modelled devices, as a section.

use words::bytes_f64 as size;

use record::Stream;

use crate::Report;
use crate::doc::{self, Block, Cell, Column, Details, Item, Section, Sheet};
use crate::estimate::{Beside, Device, Estimates, Pass, Row};
use crate::numbers::{brief_ratio, short, whole};

const TITLE: &str = "Modelled: how long the checks would take on other devices";

/// What the numbers are.
const ABOUT: &str = "Modelled, not measured. The checks ran here as they are; when each was over, its own requests were replayed on a model of \
     each device, with its processor time between them. 5-95 %: the interval, from replays with drawn figures and from what the models \
     are known to be wrong by. x: modelled by this run's seconds. busy: the busiest part of the device";

/// The section.
pub(super) fn section<'a>(report: &Report<'_>, found: &Estimates) -> Section<'a> {
    let mut section = Section::new("estimates", TITLE).nav("Modelled checks");
    let blocks = &mut section.blocks;
    if !found.rows.is_empty() {
        blocks.push(Block::Para(about(report, found)));
        for device in &found.devices {
            blocks.extend(on_device(found, device));
        }
        if let Some(beside) = &found.beside {
            blocks.push(Block::Published(published(beside)));
        }
        blocks.push(Block::Heading("What the numbers rest on".to_owned()));
        blocks.push(Block::List(basis(found)));
    }
    if !found.missing.is_empty() {
        blocks.push(Block::Heading("Not estimated".to_owned()));
        blocks.push(Block::List(missing(found)));
    }
    section
}

fn about(report: &Report<'_>, found: &Estimates) -> String {
    let mut text = format!("{ABOUT}; {} each.", words::plural(found.runs.into(), "run"));
    let most = found.rows.iter().map(|row| row.n).max().unwrap_or(0);
    if most > 1 {
        text.push_str(&format!(" Medians of up to {most} trials."));
    }
    if (found.cpu - 1.0).abs() > f64::EPSILON {
        text.push_str(&format!(
            " Processor times are multiplied by {}.",
            found.cpu
        ));
    }
    if report.timing.is_some() {
        text.push_str(" The seconds of this run are no hardware's either, as the heading says.");
    }
    text
}

/// What was estimated on one device: the checks, their passes, who decides.
fn on_device<'a>(found: &Estimates, device: &Device) -> Vec<Block<'a>> {
    let rows = found.rows.iter().filter(|row| row.device == device.name);
    let rows: Vec<&Row> = rows.collect();
    let theirs = found.beside.as_ref().map(|beside| &beside.columns);
    let has = |at: usize| {
        let mut passes = rows.iter().flat_map(|row| &row.passes);
        passes.any(|pass| pass.published_s.get(at).is_some_and(Option::is_some))
    };
    let theirs = theirs.into_iter().flatten().copied().enumerate();
    let theirs: Vec<(usize, &str)> = theirs.filter(|(at, _)| has(*at)).collect();
    let mut blocks = vec![
        Block::Heading(format!(
            "On {} ({}), modelled",
            device.name, device.stands_for
        )),
        Block::Table(checks(device, &rows, &theirs)),
        Block::List(limits(&rows)),
    ];
    if rows.iter().any(|row| row.passes.len() > 1) {
        let summary = format!("Passes on {}", device.name);
        let passes = |rest: &str, sheet: Sheet| {
            Block::Details(Details {
                summary: summary.clone(),
                rest: rest.to_owned(),
                blocks: vec![Block::Table(sheet)],
                ..Details::default()
            })
        };
        blocks.push(Block::Either {
            full: vec![passes("(modelled)", whole_passes(device, &rows, &theirs))],
            mail: vec![passes(
                "(modelled, those that read)",
                brief_passes(device, &rows, &theirs),
            )],
        });
    }
    blocks
}

/// `fslab-check (trace)`: how a check is called here.
fn label(row: &Row) -> String {
    match row.stream {
        Stream::BlockTrace => format!("{} (trace)", row.label),
        Stream::OwnRecord | Stream::None => row.label.clone(),
    }
}

/// A row for each check.
fn checks(device: &Device, rows: &[&Row], theirs: &[(usize, &str)]) -> Sheet {
    let about = format!("Checks on {}, modelled", device.name);
    let rows = rows.iter().filter_map(|row| {
        let whole = row.passes.first()?;
        Some(doc::Row::new(
            std::iter::once(label(row).into()).chain(cells(whole, theirs)),
        ))
    });
    Sheet::new(about, "check", columns(theirs)).rows(rows)
}

/// A row for each pass of each check.
fn whole_passes(device: &Device, rows: &[&Row], theirs: &[(usize, &str)]) -> Sheet {
    let columns = std::iter::once(Column::words("pass"))
        .chain(columns(theirs))
        .chain([Column::words("what decides")]);
    let rows = rows.iter().flat_map(|row| {
        let group = label(row);
        row.passes.iter().skip(1).map(move |pass| {
            let labels = [group.clone(), pass.name.clone()].map(Cell::from);
            let limit = pass.limit.clone().unwrap_or_default();
            let cells = labels
                .into_iter()
                .chain(cells(pass, theirs))
                .chain([limit.into()]);
            doc::Row {
                group: Some(group.clone()),
                ..doc::Row::new(cells)
            }
        })
    });
    let about = format!("Passes on {}, modelled", device.name);
    let mut sheet = Sheet::new(about, "check", columns).rows(rows);
    sheet.labels = 2;
    sheet
}

/// Seconds of the passes as columns: modelled, and below it those of this run and those that were published.
fn brief_passes(device: &Device, rows: &[&Row], theirs: &[(usize, &str)]) -> Sheet {
    let mut names: Vec<&str> = Vec::new();
    for pass in rows.iter().flat_map(|row| row.passes.iter().skip(1)) {
        if pass.requests > 0.0 && !names.contains(&pass.name.as_str()) {
            names.push(&pass.name);
        }
    }
    names.sort_by_key(place);
    let columns: Vec<Column> = names
        .iter()
        .map(|name| Column::figures(*name).unit("s"))
        .collect();
    let line = |row: &Row, label: String, of: &dyn Fn(&Pass) -> Option<f64>| {
        let cell = |name: &&str| {
            let pass = row.passes.iter().find(|pass| pass.name == **name);
            Cell::from(time(pass.and_then(of)))
        };
        doc::Row::new(std::iter::once(label.into()).chain(names.iter().map(cell)))
    };
    let mut lines = Vec::new();
    for row in rows {
        lines.push(line(row, label(row), &|pass| pass.modelled_s));
        lines.push(line(row, "  this run".to_owned(), &|pass| pass.this_run_s));
        for (at, head) in theirs {
            let published = |pass: &Pass| pass.published_s.get(*at).copied().flatten();
            if row.passes.iter().any(|pass| published(pass).is_some()) {
                lines.push(line(row, format!("  {}", published_head(head)), &published));
            }
        }
    }
    let about = format!("Seconds of the passes on {}", device.name);
    Sheet::new(about, "check", columns).rows(lines)
}

/// The order of passes of several readers: what comes before pass 0, the numbered ones, the others as they come.
fn place<'n>(pass: &&'n str) -> (u8, &'n str) {
    match pass.chars().next() {
        _ if *pass == "start" => (0, ""),
        Some('0'..='9') => (1, pass),
        _ => (2, ""),
    }
}

fn columns(theirs: &[(usize, &str)]) -> Vec<Column> {
    let mut columns = vec![
        Column::figures("requests").rank(3),
        Column::figures("bytes").rank(4),
        Column::figures("this run").unit("s"),
        Column::figures("modelled").unit("s"),
        Column::figures("5-95 %").unit("s"),
        Column::figures("").unit("x").rank(2),
        Column::figures("busy").unit("%").rank(1),
    ];
    let theirs = theirs
        .iter()
        .map(|(_, head)| Column::figures(published_head(head)).unit("s").published());
    columns.extend(theirs);
    columns
}

/// `published, 16 Sep`; `published` where a study has one number.
fn published_head(head: &str) -> String {
    match head {
        "" => "published".to_owned(),
        day => format!("published, {day}"),
    }
}

fn time(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), short)
}

fn cells(pass: &Pass, theirs: &[(usize, &str)]) -> Vec<Cell> {
    let interval = pass.modelled_low_s.zip(pass.modelled_high_s);
    let interval = interval.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{}..{}", short(low), short(high)),
    );
    let busy = pass.modelled_busy_percent;
    let mut busy = Cell::from(busy.map_or_else(|| "-".to_owned(), |busy| format!("{busy:.0}")));
    busy.hover = pass.limit.clone().unwrap_or_default();
    let ratio = pass.modelled_ratio;
    let mut cells: Vec<Cell> = vec![
        whole(pass.requests.round()).into(),
        size(pass.bytes).into(),
        time(pass.this_run_s).into(),
        time(pass.modelled_s).into(),
        interval.into(),
        ratio.map_or_else(|| "-".to_owned(), brief_ratio).into(),
        busy,
    ];
    let published = theirs
        .iter()
        .map(|(at, _)| time(pass.published_s.get(*at).copied().flatten()).into());
    cells.extend(published);
    cells
}

fn published(beside: &Beside) -> String {
    let note = match beside.note {
        "" => String::new(),
        note => format!(" {note}"),
    };
    format!(
        "{}: seconds as published, beside devices that stand for its hardware.{note}",
        beside.document
    )
}

/// Checks that are named; of more only their number is said.
const NAMED: usize = 6;

/// Who decides, and for which checks.
fn limits(rows: &[&Row]) -> Vec<Item> {
    let mut all: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        let limit = row.passes.first().and_then(|whole| whole.limit.as_deref());
        let Some((who, _)) = limit.and_then(|limit| limit.split_once(": ")) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == who) {
            Some((_, rows)) => rows.push(row),
            None => all.push((who, vec![row])),
        }
    }
    let item = |(who, own): (&str, Vec<&Row>)| {
        let busy = own
            .iter()
            .filter_map(|row| row.passes.first()?.modelled_busy_percent);
        let (least, most) = busy.fold((f64::INFINITY, 0.0_f64), |(least, most), busy| {
            (least.min(busy), most.max(busy))
        });
        let busy = match (format!("{least:.0}"), format!("{most:.0}")) {
            (least, most) if least == most => most,
            (least, most) => format!("{least} to {most}"),
        };
        let which = if own.len() == rows.len() {
            "all of them".to_owned()
        } else if own.len() > NAMED {
            format!("{} of {}", own.len(), rows.len())
        } else {
            let names: Vec<String> = own.iter().map(|row| label(row)).collect();
            names.join(", ")
        };
        Item::about(
            format!("{who} decides"),
            format!("{which}; the busiest part of the device works {busy} % of the time"),
        )
    };
    all.into_iter().map(item).collect()
}

/// Sources of the figures, and what cannot be told.
fn basis(found: &Estimates) -> Vec<Item> {
    let devices = found.devices.iter().map(|device| {
        let Device {
            name,
            stands_for,
            assumed,
            fitted,
            ..
        } = device;
        let list = |what: &str, all: &[String]| match all {
            [] => String::new(),
            all => format!("; {what}: {}", all.join(", ")),
        };
        Item::about(
            name.clone(),
            format!(
                "{stands_for}{}{}",
                list("assumed", assumed),
                list("fitted", fitted)
            ),
        )
    });
    let traced = found
        .rows
        .iter()
        .any(|row| row.stream == Stream::BlockTrace);
    let traced = traced.then(|| {
        Item::about(
            "(trace)",
            "the program records nothing of its own; its requests are those of the trial's block trace, from the first to the last. What \
             waited for what is inferred, and passes are replayed one by one",
        )
    });
    let cannot = found
        .cannot_tell
        .iter()
        .map(|text| Item::about("cannot tell", text.clone()));
    let doubts = found
        .doubts
        .iter()
        .map(|doubt| Item::about("not whole", doubt.clone()));
    devices.chain(traced).chain(cannot).chain(doubts).collect()
}

/// The same reason once.
fn missing(found: &Estimates) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for missing in &found.missing {
        let words = format!("{} ({})", missing.label, missing.reader);
        match items.iter_mut().find(|item| item.text == missing.why) {
            Some(item) => item.lead.push(words),
            None => items.push(Item::about(words, missing.why.clone())),
        }
    }
    items
}
