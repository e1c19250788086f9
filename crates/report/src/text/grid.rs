//! The grids in text: Dokos's table of 2008, the matrix of 2012, and what belongs below them.

use super::legend::ADVISED;
use super::matrix::Matrix;
use super::sheet::{Sheet, Title};
use super::wrap;
use crate::grid::{Beside, Footnote, Grid, Head, Panel, Place};
use crate::model::Mark;
use crate::numbers::{brief_range, three, whole, writer};
use crate::published::{Published, PublishedGrid, Record};

/// What stands in a published place whose number is lost.
const LOST: &str = "missing";

/// A grid with everything below it.
pub(super) fn print(grid: &Grid, width: usize) -> String {
    let mut out = wrap("", 0, &grid.title, width);
    out.push_str(&wrap("", 2, &census(grid), width));
    for panel in &grid.panels {
        out.push('\n');
        out.push_str(&of_panel(panel, width));
    }
    if let Some(beside) = &grid.beside {
        out.push('\n');
        out.push_str(&print_beside(beside, width));
    }
    if let Some((document, published)) = grid.published {
        out.push('\n');
        out.push_str(&print_published(document, published, width));
    }
    out
}

/// The footnotes of all grids: behind the results, or the second grid would begin three hundred lines
/// below the first.
pub(super) fn footnotes(grids: &[Grid], width: usize) -> String {
    let mut out = String::new();
    for grid in grids.iter().filter(|grid| !grid.footnotes.is_empty()) {
        let title = grid.title.trim_end_matches(':');
        out.push_str(&wrap("", 2, &format!("Footnotes of {title:?}:"), width));
        for (at, footnote) in grid.footnotes.iter().enumerate() {
            out.push_str(&print_footnote(at + 1, footnote, width));
        }
        out.push_str("\n\n");
    }
    out
}

/// What a place holds: `Median of n=5, below it its interval (94 % at least).`
pub(crate) fn census(grid: &Grid) -> String {
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

fn of_panel(panel: &Panel, width: usize) -> String {
    // The filesystem heads the first column, as in 2008, when that column has no head to lose.
    let mut heads: Vec<String> = panel.labels.iter().map(|l| l.head.clone()).collect();
    let name = panel.name();
    let in_corner = panel.open.is_empty()
        && panel
            .labels
            .first()
            .is_some_and(|l| l.factor == "kernel" || l.head.is_empty());
    let mut out = String::new();
    if in_corner {
        if !name.is_empty() {
            heads[0].clone_from(&name);
        }
    } else if !name.is_empty() {
        out.push_str(&wrap("", 2, &name, width));
    }
    let columns = panel.columns.iter().map(|c| Title {
        label: c.label.clone(),
        below: c.below(),
    });
    let rows = panel.lines.iter().map(|line| {
        let places = line.places.iter().zip(&panel.columns);
        let places = places.map(|(place, head)| cell(place, head)).collect();
        (line.labels.clone(), places)
    });
    let sheet = Sheet {
        labels: heads,
        columns: columns.collect(),
        rows: rows.collect(),
    };
    out + &sheet.print(width)
}

/// The lines of a place.
fn cell(place: &Place, head: &Head) -> Vec<String> {
    let short = writer(&head.unit);
    let figure = &place.figure;
    if figure.cell.is_none() {
        return Vec::new();
    }
    let mark = figure.worst().map(Mark::sign);
    let mut behind: String = mark.into_iter().collect();
    if let Some(number) = place.footnote {
        behind.push_str(&format!(" [{number}]"));
    }
    let Some(summary) = &figure.summary else {
        return vec![format!("-{behind}")];
    };
    if summary.n <= 2 {
        let values = figure.points.iter().enumerate();
        return values
            .map(|(at, point)| match at {
                0 => format!("{}{behind}", short(point.value)),
                _ => short(point.value),
            })
            .collect();
    }
    let interval = summary.median_interval.as_ref();
    let ends = if head.unit == "count" { whole } else { three };
    let mut lines = vec![format!("{}{behind}", short(summary.median))];
    // Runs that were all alike have no interval to show.
    let interval = interval.filter(|i| i.low < i.high);
    lines.extend(interval.map(|i| brief_range(i.low, i.high, ends)));
    lines
}

fn print_beside(beside: &Beside, width: usize) -> String {
    let row = |(label, n, values): &(String, usize, Vec<Option<f64>>)| {
        let values = values.iter().zip(&beside.extras);
        let values = values.map(|(v, e)| v.map_or_else(|| "-".to_owned(), writer(e.unit)));
        let cells = std::iter::once(n.to_string()).chain(values);
        (label.clone(), cells.map(|text| vec![text]).collect())
    };
    let heads = beside.extras.iter().map(|e| e.head.to_owned());
    let matrix = Matrix {
        corner: String::new(),
        columns: std::iter::once("n".to_owned()).chain(heads).collect(),
        rows: beside.rows.iter().map(row).collect(),
    };
    let heading = "Beside each check, medians (rows by the labels above):";
    wrap("", 2, heading, width) + &matrix.print(width)
}

fn print_published(document: &Published, grid: &PublishedGrid, width: usize) -> String {
    let title = format!(
        "{}, other hardware: {}",
        document.document.short(),
        grid.table
    );
    let mut out = wrap("", 2, &title, width);
    for panel in &grid.panels {
        out.push('\n');
        let mut labels = grid.labels.clone();
        if let (Some(heading), Some(first)) = (&panel.heading, labels.first_mut()) {
            first.clone_from(heading);
        }
        let columns = panel.columns.iter().map(|c| Title {
            label: c.label.clone(),
            below: String::new(),
        });
        let lines = document.lines(grid, panel);
        let rows = lines.iter().map(|(labels, places)| {
            let places = places.iter().map(|records| {
                let written = records.iter().map(|record| published_value(record));
                written.collect()
            });
            (labels.to_vec(), places.collect())
        });
        let sheet = Sheet {
            labels,
            columns: columns.collect(),
            rows: rows.collect(),
        };
        out.push_str(&sheet.print(width));
    }
    let below = published_notes(document, grid);
    if !below.is_empty() {
        out.push('\n');
    }
    for (name, text) in below {
        out.push_str(&wrap(&format!("{name} "), 2, &text, width));
    }
    out
}

/// As printed, with its mark.
pub(crate) fn published_value(record: &Record) -> String {
    let value = record
        .value
        .map_or_else(|| LOST.to_owned(), |v| v.to_string());
    match &record.mark {
        Some(mark) => format!("{value} {mark}"),
        None => value,
    }
}

/// What stands below a published grid: its footnotes, what is missing and why, its lists.
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
/// several, and what is said of all of them once.
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

/// The sentence and the rows in the layout of 2008; the rows are not wrapped.
fn print_footnote(number: usize, footnote: &Footnote, width: usize) -> String {
    let middle = &footnote.middle;
    let mut out = String::from("-----\n");
    out.push_str(&wrap(
        &format!("[{number}] "),
        4,
        &footnote.sentence(),
        width,
    ));
    out.push_str(&rows("Typical iostat output:", &middle.iostat_classic));
    out.push_str(&rows(
        "and top output (only %CPU > 0 shown):",
        &middle.top_classic,
    ));
    out.push_str("....\n");
    out
}

/// Rows of iostat or top as they are, but for spaces at the ends.
pub(super) fn rows(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("{heading} none recorded\n");
    }
    let mut out = format!("{heading}\n");
    for line in lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
