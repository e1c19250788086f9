//! A table of the study as a section: means as the original printed them, then medians with intervals,
//! ratios and published neighbours. A mail has it in the layout of the original.

use crate::Report;
use crate::doc::{Block, Cell, Column, Drawing, Item, Plot, Row, Scope, Section, Sheet, Tone};
use crate::model::{self, Figure, Table};
use crate::numbers::{range, ratio, short};
use crate::sentences::{decimals, family, few_blocks, table_warnings};

/// The section, the `number`th of its kind.
pub(super) fn section<'a>(report: &Report<'_>, number: usize, table: &'a Table) -> Section<'a> {
    let nav = if table.subtitle.contains('=') {
        format!("{} ({})", table.title, table.subtitle)
    } else {
        table.title.clone()
    };
    let id = format!("table-{number}");
    let mut section = Section::new(id, &table.title)
        .nav(nav)
        .scope(Scope::HandSetInMail);
    if !table.subtitle.is_empty() {
        section.blocks.push(Block::Para(table.subtitle.clone()));
    }
    if table.figures().all(|figure| figure.summary.is_none()) {
        let text = "No finished trial has measured it.".to_owned();
        section.blocks.push(Block::Para(text));
        return section;
    }
    section.blocks.push(plots(table));
    let title = "Mean (stddev), in the original's layout";
    section.blocks.push(Block::Heading(title.to_owned()));
    section.blocks.push(Block::Table(means(report, table)));
    section.blocks.extend(compared(report, table));
    let warnings = table_warnings(table).into_iter();
    let warnings =
        warnings.map(|(row, column, text)| Item::about(format!("{row}, {column}"), text));
    let warnings: Vec<Item> = warnings.collect();
    if !warnings.is_empty() {
        let title = "What the statistics warn of";
        section.blocks.push(Block::Heading(title.to_owned()));
        section.blocks.push(Block::List(warnings));
    }
    section
}

/// A table by a factor that the study's tables do not compare: medians and ratios alone.
pub(super) fn crossed<'a>(report: &Report<'_>, number: usize, table: &'a Table) -> Section<'a> {
    let mut section =
        Section::new(format!("by-{number}"), &table.title).scope(Scope::HandSetInMail);
    section.blocks.extend(compared(report, table));
    section
}

/// Medians with their intervals, and ratios to the base.
fn compared<'a>(report: &Report<'_>, table: &Table) -> [Block<'a>; 2] {
    let coverage = table.coverage();
    let coverage = coverage.map_or(String::new(), |text| format!(" (coverage {text})"));
    let heading = format!(
        "Medians with intervals{coverage}, and ratios to {} with {:.0} % intervals ({})",
        table.base_name(),
        report.options.level * 100.0,
        family(table)
    );
    [
        Block::Heading(heading),
        Block::Table(medians(report, table)),
    ]
}

/// The document that the study repeats; none where it repeats nothing.
pub(super) fn published(report: &Report<'_>) -> Option<Section<'static>> {
    let document = &report.published?.document;
    let mut section =
        Section::new("published", "The published numbers").scope(Scope::HandSetInMail);
    section.blocks.push(Block::Para(format!(
        "{}. Hardware: {}. Kernel: {}. Runs: {}. Stddev: {}. Barriers: {}.",
        document.citation(),
        document.hardware,
        document.kernel,
        document.runs,
        document.stddev,
        document.barriers
    )));
    if !report.tables.is_empty() {
        section.blocks.push(Block::Para(
            "It is other hardware, so the last column of the tables compares shapes: (our mean / our \
             base) / (their mean / their base). 1 is the same shape."
                .to_owned(),
        ));
    }
    Some(section)
}

fn plots(table: &Table) -> Block<'_> {
    let plots = table.rows.iter().map(|row| Plot {
        label: row.label.clone(),
        unit: row.unit.clone(),
        clock: clock(row),
        few: few_blocks(table, row).unwrap_or_default(),
        reach: 0.0,
        drawing: Drawing::Row(table, row),
    });
    Block::Plots(plots.collect())
}

fn clock(row: &model::Row) -> &'static str {
    row.clock.map_or("", study::Clock::mark)
}

/// `initl_writers (a), MB/s`.
fn label(row: &model::Row) -> String {
    let clock = clock(row);
    let clock = if row.label.ends_with(clock) {
        ""
    } else {
        clock
    };
    let space = if clock.is_empty() { "" } else { " " };
    format!("{}{space}{clock}, {}", row.label, row.unit)
}

fn means(report: &Report<'_>, table: &Table) -> Sheet {
    let columns = table.columns.iter().map(|column| {
        let (above, name) = column.headings();
        Column::figures(name).below(above)
    });
    let rows = table.rows.iter().map(|row| {
        let digits = decimals(row);
        let label = label(row);
        let figures = row.figures.iter().map(|figure| {
            let text = figure.summary.as_ref().map_or("-".to_owned(), |s| {
                let stddev = s.stddev.map_or("-".to_owned(), |d| format!("{d:.digits$}"));
                format!("{:.digits$} ({stddev})", s.mean)
            });
            Cell::from(text)
                .signs(figure.signs())
                .hover(doubts(report, row, figure))
        });
        Row::new(std::iter::once(label.into()).chain(figures))
    });
    Sheet::new(format!("{}: means", table.title), "Type", columns).rows(rows)
}

/// One line for each figure, below the title of its row.
fn medians(report: &Report<'_>, table: &Table) -> Sheet {
    let factor = table.columns.first();
    let factor = factor.map(|c| c.fixed.keys().cloned().collect::<Vec<_>>().join(" "));
    let mut columns = vec![
        Column::words(factor.unwrap_or_default()),
        Column::figures("median"),
        Column::words("interval"),
        Column::figures("n"),
        Column::figures("ratio"),
        Column::words("its interval"),
        Column::words("verdict"),
        Column::figures("p, adjusted"),
    ];
    if table.has_published() {
        let heads = ["published", "its ratio", "shape: ours / theirs"];
        columns.extend(heads.map(Column::figures));
    }
    let mut rows = Vec::new();
    for row in &table.rows {
        let few = few_blocks(table, row);
        let few = few.map_or(String::new(), |few| format!("; {few}"));
        let label = label(row);
        for (at, (column, figure)) in table.columns.iter().zip(&row.figures).enumerate() {
            let mut cells = vec![label.as_str().into(), column.name.as_str().into()];
            cells.extend(median(figure, &doubts(report, row, figure)));
            cells.extend(versus(figure, at == table.base));
            if table.has_published() {
                cells.extend(published_cells(figure));
            }
            rows.push(Row {
                group: Some(format!("{label}{few}")),
                ..Row::new(cells)
            });
        }
    }
    let about = format!("{}: medians and ratios", table.title);
    let mut sheet = Sheet::new(about, "Type", columns).rows(rows).class("wide");
    sheet.labels = 2;
    sheet
}

fn median(figure: &Figure, doubts: &str) -> [Cell; 3] {
    let Some(summary) = &figure.summary else {
        let none = Cell::from("-").signs(figure.signs()).hover(doubts);
        return [none, "-".into(), "0".into()];
    };
    let interval = summary.median_interval.as_ref();
    let interval = interval.map_or("-".to_owned(), |i| range(i.low, i.high, short));
    let few = if summary.n < model::ADVISED {
        "n<5"
    } else {
        ""
    };
    let mut n = Cell::from(summary.n.to_string());
    few.clone_into(&mut n.small);
    [
        Cell::from(short(summary.median))
            .signs(figure.signs())
            .hover(doubts),
        interval.into(),
        n,
    ]
}

fn versus(figure: &Figure, is_base: bool) -> [Cell; 4] {
    let versus = figure.versus.as_ref().filter(|_| !is_base);
    let Some(versus) = versus else {
        let (one, word) = if is_base { ("1", "base") } else { ("-", "-") };
        return [one.into(), "".into(), word.into(), "".into()];
    };
    let interval = versus.interval;
    let interval = interval.map_or(String::new(), |(low, high)| range(low, high, ratio));
    let verdict = format!("{} {}", versus.sign(), versus.difference.name());
    let p = versus.p_adjusted.or(versus.p).map(p_value);
    [
        ratio(versus.ratio).into(),
        interval.into(),
        Cell::from(verdict).tone(Tone::of(Some(versus.difference))),
        p.unwrap_or_default().into(),
    ]
}

fn published_cells(figure: &Figure) -> [Cell; 3] {
    let Some(theirs) = figure.published else {
        return ["-".into(), "-".into(), "".into()];
    };
    let value = match theirs.stddev {
        Some(stddev) => format!("{:.1} ({stddev:.1})", theirs.value),
        None => format!("{:.1}", theirs.value),
    };
    let of_base = theirs.ratio.map_or_else(|| "base".to_owned(), ratio);
    let shape = theirs.ratio_of_ratios.map_or_else(String::new, ratio);
    [value.into(), of_base.into(), shape.into()]
}

fn p_value(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// The doubts about a figure in words.
fn doubts(report: &Report<'_>, row: &model::Row, figure: &Figure) -> String {
    let of_figure = report.validity.doubts.iter().filter(|doubt| {
        let phases = doubt.phase.as_ref().zip(row.phase.as_ref());
        Some(doubt.cell) == figure.cell && phases.is_none_or(|(of, phase)| of == phase)
    });
    let mut texts: Vec<String> = of_figure
        .map(|d| format!("{}: {} in block {}", d.name, d.detail, d.block + 1))
        .collect();
    texts.dedup();
    texts.join("; ")
}
