//! "Was it memory?" as a section: the answers, what less memory cost, then the counters of each cell.

use crate::doc::{self, Block, Cell, Column, Details, Item, Section, Sheet, Tone, compared};
use crate::pressure::{Memory, Row, mib, percent, spread_text, whole};

/// The section.
pub(crate) fn section(memory: &Memory) -> Section<'static> {
    let mut section = Section::new("memory", "Was it memory?");
    let answers = memory.answers.iter();
    let answers = answers.map(|answer| Item::about(&answer.filesystem, answer.sentence()));
    section.blocks.push(Block::List(answers.collect()));
    let (quiet, counted): (Vec<_>, Vec<_>) = memory
        .by_phase()
        .into_iter()
        .partition(|(phase, rows)| *phase != "check" && !rows.iter().any(|row| row.pressed()));
    for (phase, rows) in &counted {
        section.blocks.push(Block::Para(about(phase, rows)));
        section.blocks.push(Block::Table(counters(phase, rows)));
    }
    if !quiet.is_empty() {
        section.blocks.push(Block::Para(of_quiet(&quiet)));
        let tables = quiet.iter().flat_map(|(phase, rows)| {
            [
                Block::Para(about(phase, rows)),
                Block::Table(counters(phase, rows)),
            ]
        });
        let details = Details {
            summary: format!("Counters of {} phases without pressure", quiet.len()),
            blocks: tables.collect(),
            ..Details::default()
        };
        section.blocks.push(Block::Either {
            full: vec![Block::Details(details)],
            mail: Vec::new(),
        });
    }
    section.blocks.extend(pairs(memory));
    section
}

/// What the table of a phase shows.
fn about(phase: &str, rows: &[&Row]) -> String {
    let mut text = format!(
        "{phase}, each trial: median, and (largest) where it differs; pages of 4 KiB, of the whole \
         machine"
    );
    if rows.iter().any(|row| row.limit.is_some()) {
        text.push_str(
            "; peak of the group since the trial began and its limit in MiB, how often this phase \
             reached it (the kernel does not count what is reclaimed inside a group: -)",
        );
    }
    if rows.iter().any(|row| row.inode_share.is_some()) {
        text.push_str("; inodes over memory");
    }
    text + "."
}

/// `fill: no page swapped, none reclaimed, no limit reached, 12 of 12 phases`.
fn of_quiet(quiet: &[(&str, Vec<&Row>)]) -> String {
    let names: Vec<&str> = quiet.iter().map(|(phase, _)| *phase).collect();
    let rows = quiet.iter().flat_map(|(_, rows)| rows);
    let trials: usize = rows.map(|row| row.n()).sum();
    format!(
        "{}: no page swapped, none reclaimed, no limit reached, {trials} of {trials} phases.",
        names.join(", ")
    )
}

fn counters(phase: &str, rows: &[&Row]) -> Sheet {
    let limited = rows.iter().any(|row| row.limit.is_some());
    let shares = rows.iter().any(|row| row.inode_share.is_some());
    let mut columns = vec![
        Column::figures("n").rank(2),
        Column::figures("swapped"),
        Column::figures("reclaimed"),
        Column::figures("stalls").rank(1),
        Column::figures("peak")
            .unit("MiB")
            .rank(if limited { 0 } else { 3 }),
    ];
    if limited {
        columns.push(Column::figures("limit").unit("MiB"));
        columns.push(Column::figures("limit met"));
    }
    if shares {
        columns.push(Column::figures("inodes"));
    }
    let rows = rows.iter().map(|row| {
        let mut label = Cell::from(row.label.as_str());
        if row.pressed() {
            label.tone = Tone::Bad;
        }
        let mut texts = vec![
            row.n().to_string(),
            spread_text(&row.swapped, whole),
            row.reclaimed_text(),
            row.stalls_text(),
            spread_text(&row.peak, mib),
        ];
        if limited {
            texts.push(row.limit.map_or_else(|| "none".to_owned(), mib));
            texts.push(spread_text(&row.met, whole));
        }
        if shares {
            texts.push(row.inode_share.map_or_else(|| "-".to_owned(), percent));
        }
        doc::Row::new(std::iter::once(label).chain(texts.into_iter().map(Cell::from)))
    });
    Sheet::new(format!("Counters of memory, {phase}"), "cell", columns).rows(rows)
}

/// Checks with less memory over the same with more; nothing where none were compared.
fn pairs(memory: &Memory) -> Vec<Block<'static>> {
    let pairs = memory.pairs.iter().filter(|pair| pair.seconds.is_some());
    let rows = pairs.map(|pair| {
        let label = if pair.label == pair.filesystem {
            pair.label.clone()
        } else {
            format!("{} {}", pair.filesystem, pair.label)
        };
        let levels = format!("{} / {}", pair.memory[1], pair.memory[0]);
        let versus = [&pair.seconds, &pair.read].map(|versus| compared(versus.as_ref()));
        let cells = [label, levels].map(Cell::from).into_iter();
        doc::Row::new(cells.chain(versus.into_iter().flatten()))
    });
    let rows: Vec<doc::Row> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::words("memory"),
        Column::figures("time"),
        Column::words("interval"),
        Column::figures("bytes read"),
        Column::words("interval").rank(1),
    ];
    vec![
        Block::Para(format!(
            "check with less memory over the same with more: time, and bytes read; {} comparisons \
             corrected together.",
            memory.family
        )),
        Block::Table(Sheet::new("Less memory over more", "cell", columns).rows(rows)),
    ]
}
