//! A grid as sections: Dokos's table of 2008, the matrix of 2012, and what belongs below them.

use super::grid_plots::plots;
use crate::doc::{self, Block, Cell, Column, Details, Item, Row, Scope, Section, Sheet};
use crate::grid::{Beside, Footnote, Grid, Head, Panel, Place};
use crate::model::{ADVISED, Mark};
use crate::numbers::{brief_range, range, three, whole, writer};
use crate::published::{Published, PublishedGrid, Record};

/// Printed in a published place whose number is lost.
const LOST: &str = "missing";

/// The sections of a grid, the `number`th of the report.
pub(crate) fn sections(number: usize, grid: &Grid) -> Vec<Section<'_>> {
    let id = format!("grid-{number}");
    let short = grid.title.trim_end_matches(':');
    let mut section = Section::new(id.as_str(), &grid.title).nav(short);
    section.blocks.push(Block::Para(census(grid)));
    // Without any number there is nothing to print, and nothing to set beside what was published.
    if grid.figures().all(|figure| figure.summary.is_none()) {
        return vec![section];
    }
    for panel in &grid.panels {
        section.blocks.push(of_panel(&id, short, panel));
    }
    section
        .blocks
        .extend(grid.beside.as_ref().map(of_beside).into_iter().flatten());
    if let Some((document, published)) = grid.published {
        section.blocks.extend(of_published(document, published));
    }
    let notes = (!grid.footnotes.is_empty()).then(|| {
        let title = format!("Footnotes of {short:?}");
        let mut notes = Section::new(format!("{id}-notes"), title).scope(Scope::HandSetInMail);
        let footnotes = grid.footnotes.iter().enumerate();
        let footnotes = footnotes.map(|(at, note)| of_footnote(&id, at + 1, note));
        notes.blocks = footnotes.map(Block::Details).collect();
        notes
    });
    std::iter::once(section).chain(notes).collect()
}

/// What a place holds: `Median of n=5, below it its interval (94 % at least).`
fn census(grid: &Grid) -> String {
    let counts: Vec<usize> = grid
        .figures()
        .filter_map(|f| Some(f.summary.as_ref()?.n))
        .collect();
    let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else {
        return "No finished trial has measured it.".to_owned();
    };
    let n = counted(grid, &counts);
    let is_alike = |s: &stats::Summary| s.n > 2 && s.min >= s.max;
    let alike = if grid
        .figures()
        .filter_map(|f| f.summary.as_ref())
        .any(is_alike)
    {
        " where the runs differ"
    } else {
        ""
    };
    let mut text = match (least, most) {
        (1, 1) => format!("One run each ({n})"),
        (2, 2) => format!("Both runs of each, one below the other ({n})"),
        (1, 2) => format!("Both runs of each, one below the other; of one its value ({n})"),
        (3.., _) => format!("Medians ({n}), below them their intervals{alike}"),
        _ => format!(
            "Medians ({n}), below them their intervals{alike}; of two runs both, of one its value"
        ),
    };
    let achieved = grid
        .figures()
        .filter_map(|f| f.summary.as_ref())
        .filter(|s| s.n > 2)
        .filter_map(|s| s.median_interval?.achieved)
        .reduce(f64::min);
    if let Some(achieved) = achieved {
        text.push_str(&format!("; these cover {:.0} % at least", achieved * 100.0));
    }
    if *most < ADVISED {
        text.push_str(&format!(
            ": fewer than {ADVISED} blocks, take them as hints"
        ));
    } else if *least < ADVISED {
        text.push_str(&format!("; take fewer than {ADVISED} as a hint"));
    }
    text.push_str(". Below each head its unit and clock.");
    text
}

/// Rows with another n than most that are named; more are a range.
const NAMED: usize = 4;

/// A row, and the heads of its places with another n than most.
type Odd<'a> = (String, Vec<&'a str>);

/// `n=5`, `n=5; n=4: ext3 (Read, Write)` or `n=1 to 5`.
fn counted(grid: &Grid, counts: &[usize]) -> String {
    let times = |n: usize| counts.iter().filter(|c| **c == n).count();
    let Some(usual) = counts.iter().copied().max_by_key(|n| (times(*n), *n)) else {
        return "n=0".to_owned();
    };
    let mut others: Vec<(usize, Vec<Odd<'_>>)> = Vec::new();
    for panel in &grid.panels {
        for line in &panel.lines {
            let name = format!("{} {}", panel.name(), line.name);
            for (place, head) in line.places.iter().zip(&panel.columns) {
                let n = place.figure.summary.as_ref().map_or(usual, |s| s.n);
                if n == usual {
                    continue;
                }
                let at = others.iter().position(|(known, _)| *known == n);
                let at = at.unwrap_or_else(|| {
                    others.push((n, Vec::new()));
                    others.len() - 1
                });
                let lines = &mut others[at].1;
                match lines.iter_mut().find(|(known, _)| known == name.trim()) {
                    Some((_, heads)) => heads.push(&head.label),
                    None => lines.push((name.trim().to_owned(), vec![&head.label])),
                }
            }
        }
    }
    let named: usize = others.iter().map(|(_, lines)| lines.len()).sum();
    if named > NAMED {
        let (least, most) = (counts.iter().min(), counts.iter().max());
        return format!("n={} to {}", least.unwrap_or(&0), most.unwrap_or(&0));
    }
    let others = others.iter().map(|(n, lines)| {
        let lines = lines
            .iter()
            .map(|(line, heads)| format!("{line} ({})", heads.join(", ")));
        let lines: Vec<String> = lines.collect();
        format!("; n={n}: {}", words::list(&lines))
    });
    format!("n={usual}{}", others.collect::<String>())
}

fn of_panel<'a>(id: &str, grid: &str, panel: &'a Panel) -> Block<'a> {
    let name = panel.name();
    let labels = panel.labels.iter().map(|label| {
        let bare = label.factor == "kernel" && label.head.is_empty();
        Column::words(if bare { "kernel" } else { &label.head })
    });
    let figures = panel.columns.iter();
    let figures = figures.map(|head| Column::figures(&head.label).unit(head.below()));
    let rows = panel.lines.iter().map(|line| {
        let labels = line.labels.iter().map(|label| label.as_str().into());
        let places = line.places.iter().zip(&panel.columns);
        Row::new(labels.chain(places.map(|(place, head)| cell(id, place, head))))
    });
    let sheet = Sheet {
        about: [grid, &name].join(": "),
        columns: labels.chain(figures).collect(),
        labels: panel.labels.len(),
        rows: rows.collect(),
        ruled: true,
        class: "",
    };
    let heading = (!name.is_empty()).then(|| Block::Heading(name.clone()));
    let mut corner = sheet.clone();
    // In a mail the filesystem heads the first column, as in 2008, when that has no head to lose.
    let first = panel.labels.first().zip(corner.columns.first_mut());
    let bare = first.filter(|(label, _)| label.factor == "kernel" || label.head.is_empty());
    let above = match bare.filter(|_| panel.open.is_empty()) {
        Some((label, column)) => {
            column.head = [name, label.head.clone()]
                .into_iter()
                .find(|n| !n.is_empty())
                .unwrap_or_default();
            None
        }
        None => heading.clone(),
    };
    let plots = plots(panel);
    let plots = (!plots.is_empty()).then_some(Block::Plots(plots));
    Block::Either {
        full: heading
            .into_iter()
            .chain(plots)
            .chain([Block::Table(sheet)])
            .collect(),
        mail: above.into_iter().chain([Block::Table(corner)]).collect(),
    }
}

/// A place: up to two runs are printed themselves, more by their median.
fn cell(id: &str, place: &Place, head: &Head) -> Cell {
    let short = writer(&head.unit);
    let figure = &place.figure;
    if figure.cell.is_none() {
        return Cell::default();
    }
    let values: Vec<String> = figure.points.iter().map(|p| short(p.value)).collect();
    let hover = format!("{} {}: {}", head.label, head.below(), values.join(", "));
    let mut cell = Cell {
        signs: figure.signs(),
        note: place.footnote.map(|n| (n, format!("{id}-note-{n}"))),
        brief: Some(brief(place, head)),
        hover,
        ..Cell::default()
    };
    let Some(summary) = &figure.summary else {
        cell.lines = vec!["-".to_owned()];
        return cell;
    };
    cell.small = format!("n={}", summary.n);
    if summary.n <= 2 {
        cell.lines = values;
        return cell;
    }
    cell.lines = vec![short(summary.median)];
    // Runs that were all alike have no interval to show.
    let interval = summary.median_interval.filter(|i| i.low < i.high);
    if let Some(interval) = interval {
        let interval = range(interval.low, interval.high, short);
        cell.small = format!("{interval}, {}", cell.small);
    }
    cell
}

/// The lines of a place in a mail.
fn brief(place: &Place, head: &Head) -> Vec<String> {
    let short = writer(&head.unit);
    let figure = &place.figure;
    if figure.cell.is_none() {
        return Vec::new();
    }
    let mark = figure.worst().map(Mark::sign);
    let mut after: String = mark.into_iter().collect();
    if let Some(number) = place.footnote {
        after.push_str(&format!(" [{number}]"));
    }
    let Some(summary) = &figure.summary else {
        return vec![format!("-{after}")];
    };
    if summary.n <= 2 {
        let values = figure.points.iter().enumerate();
        return values
            .map(|(at, point)| match at {
                0 => format!("{}{after}", short(point.value)),
                _ => short(point.value),
            })
            .collect();
    }
    let interval = summary.median_interval.as_ref();
    let ends = if head.unit == "count" { whole } else { three };
    let mut lines = vec![format!("{}{after}", short(summary.median))];
    // Runs that were all alike have no interval to show.
    let interval = interval.filter(|i| i.low < i.high);
    lines.extend(interval.map(|i| brief_range(i.low, i.high, ends)));
    lines
}

fn of_beside(beside: &Beside) -> [Block<'static>; 2] {
    let rows = beside.rows.iter().map(|(label, n, values)| {
        let values = values.iter().zip(&beside.extras);
        let values = values.map(|(v, e)| v.map_or_else(|| "-".to_owned(), writer(e.unit)));
        Row::texts([label.clone(), n.to_string()].into_iter().chain(values))
    });
    let heads = beside.extras.iter().map(|extra| extra.head);
    let columns = std::iter::once("n").chain(heads).map(Column::figures);
    let about = "Beside each check";
    [
        Block::Heading(format!("{about}, medians (rows by the labels above)")),
        Block::Table(Sheet::new(about, "check", columns).rows(rows)),
    ]
}

fn of_published(document: &Published, grid: &PublishedGrid) -> Vec<Block<'static>> {
    let name = document.document.short();
    let title = format!("{name}, other hardware: {}", grid.table);
    let mut blocks = vec![Block::Heading(title)];
    for panel in &grid.panels {
        let mut labels = grid.labels.clone();
        if let (Some(heading), Some(first)) = (&panel.heading, labels.first_mut()) {
            first.clone_from(heading);
        }
        let labels = labels.into_iter().map(Column::words);
        let columns = panel.columns.iter().map(|c| Column::figures(&c.label));
        let lines = document.lines(grid, panel).into_iter();
        let rows = lines.map(|(labels, places)| {
            let places = places.iter().map(|records| Cell {
                lines: records.iter().map(|record| value(record)).collect(),
                ..Cell::default()
            });
            Row::new(
                labels
                    .iter()
                    .map(|label| label.as_str().into())
                    .chain(places),
            )
        });
        blocks.push(Block::Table(Sheet {
            about: name.clone(),
            columns: labels.chain(columns).collect(),
            labels: grid.labels.len(),
            rows: rows.collect(),
            ruled: true,
            class: "",
        }));
    }
    let notes = published_notes(document, grid).into_iter();
    let notes = notes.map(|(name, text)| Item::about(name.trim_end_matches(':'), text));
    let notes: Vec<Item> = notes.collect();
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    blocks
}

/// As printed, with its mark.
fn value(record: &Record) -> String {
    let value = record
        .value
        .map_or_else(|| LOST.to_owned(), |v| v.to_string());
    match &record.mark {
        Some(mark) => format!("{value} {mark}"),
        None => value,
    }
}

/// Notes below a published grid: its footnotes, what is missing and why, its lists.
pub(crate) fn published_notes(document: &Published, grid: &PublishedGrid) -> Vec<(String, String)> {
    let records = || document.records.iter().filter(|r| r.table == grid.table);
    let mut notes: Vec<(String, String)> = Vec::new();
    for (mark, text) in &document.document.footnotes {
        if records().any(|r| r.mark.as_ref() == Some(mark)) {
            notes.push((mark.clone(), text.clone()));
        }
    }
    let lost: Vec<&Record> = records().filter(|r| r.value.is_none()).collect();
    if let Some(first) = lost.first() {
        let all = records().count();
        let why = first.footnote.as_deref().unwrap_or("no reason is recorded");
        notes.push((
            format!("{LOST}:"),
            format!("{} of {all} numbers are {}: {why}", lost.len(), first.kind),
        ));
    }
    notes.extend(also(document, grid));
    notes
}

/// The lists below a published grid: one line for each row, its numbers by their columns where it has
/// several, and a remark on all of them once.
fn also(document: &Published, grid: &PublishedGrid) -> Vec<(String, String)> {
    let mut rows: Vec<(&str, Option<&String>, Vec<&Record>)> = Vec::new();
    for record in document.also(grid) {
        let footnote = record.footnote.as_ref();
        let same = |(row, of, _): &&mut (&str, Option<&String>, Vec<&Record>)| {
            *row == record.row && *of == footnote
        };
        match rows.iter_mut().find(same) {
            Some((.., records)) => records.push(record),
            None => rows.push((&record.row, footnote, vec![record])),
        }
    }
    let value = |record: &Record| {
        let value = record
            .value
            .map_or_else(|| LOST.to_owned(), |v| v.to_string());
        format!("{value} {}", record.unit)
    };
    let lines = rows.into_iter().map(|(row, footnote, records)| {
        let text = match records.as_slice() {
            [one] => value(one),
            several => {
                let named = several.iter().map(|r| format!("{} {}", r.column, value(r)));
                named.collect::<Vec<_>>().join(", ")
            }
        };
        let more = footnote.map_or(String::new(), |text| format!(" ({text})"));
        (format!("{row}:"), format!("{text}{more}"))
    });
    lines.collect()
}

/// The sentence, then the rows in the layout of 2008 and in today's.
fn of_footnote(id: &str, number: usize, footnote: &Footnote) -> Details<'static> {
    let middle = &footnote.middle;
    let rows = [
        ("Typical iostat output", &middle.iostat_classic),
        ("and top output (only %CPU > 0 shown)", &middle.top_classic),
        (
            "iostat -x, today's layout (sysstat 12)",
            &middle.iostat_modern,
        ),
        ("top, today's layout (procps 4)", &middle.top_modern),
    ];
    let blocks = rows.into_iter().flat_map(|(title, lines)| {
        let lines = match lines.as_slice() {
            [] => vec!["none recorded".to_owned()],
            lines => lines.to_vec(),
        };
        [Block::Minor(title.to_owned()), Block::Listing(lines)]
    });
    doc::Details {
        summary: format!("[{number}]"),
        rest: footnote.sentence(),
        id: format!("{id}-note-{number}"),
        open: false,
        blocks: blocks.collect(),
    }
}
