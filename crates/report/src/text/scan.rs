//! How a checker read, in a mail.
//!
//! The table of each disk comes first: it is the answer. Then what was read and how that differs from what was published, and what
//! was concluded in 2011, each with the run's own figures. fsck.ocfs2's layout, which the message consists of, follows for those
//! who compare line by line.

use super::sheet::{Sheet, Title};
use super::wrap;
use crate::numbers::{short, size};
use crate::scan::{
    Group, Law, MIB, Pass, Row, Scan, count, gb, listing, listing_title, mb, their_words, times,
    told,
};

/// What the table's columns are, for every format.
const ABOUT: &str = "Medians. MB are 2^20 bytes, GB 2^30. Seeks: requests that did not begin where the one before ended, and the \
     way between. x: time divided by that of the first set";

/// [`ABOUT`], and what the signs mean where there are any.
pub(crate) fn about(scan: &Scan) -> String {
    match scan.family {
        0 => format!("{ABOUT}."),
        family => format!(
            "{ABOUT}, as geometric mean over blocks; +, - and ~: it counts as faster, as slower, as neither ({family} \
             comparisons, corrected together)."
        ),
    }
}

/// The section.
pub(super) fn print(scan: &Scan, width: usize) -> String {
    let mut out = wrap("", 2, "How a checker reads", width);
    for (name, how) in scan.ways() {
        out.push_str(&wrap(&format!("  {name}: "), 4, how, width));
    }
    for group in &scan.groups {
        out.push('\n');
        out.push_str(&wrap("", 2, &format!("{}:", heading(group)), width));
        out.push_str(&costs(group).print(width));
        if let Some(note) = group.note {
            out.push_str(&wrap("", 0, note, width));
        }
        if let Some(document) = &scan.beside {
            out.push('\n');
            let text = format!(
                "Beside {document}: 1.5 million files (16 September), 15 million (21 September)"
            );
            out.push_str(&wrap("", 2, &text, width));
            out.push_str(&beside(group).print(width));
        }
    }
    if !scan.groups.is_empty() {
        out.push('\n');
        out.push_str(&wrap("", 0, &about(scan), width));
    }
    for paragraph in &scan.legend {
        out.push('\n');
        out.push_str(&wrap("", 0, paragraph, width));
    }
    out.push_str("\n\n");
    out.push_str(&laws(scan, width));
    for group in &scan.groups {
        out.push_str("\n\n");
        out.push_str(&wrap("", 2, &listing_title(group), width));
        out.push('\n');
        out.push_str(&listing(group, width));
    }
    out
}

/// `ext4 on the disk as it is, 5 of each; the cache is 10 MiB for 39 MiB of metadata`.
pub(crate) fn heading(group: &Group) -> String {
    let counts = || group.sets.iter().map(|set| set.n);
    let n = match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (least, most) if least == most => format!("{most}"),
        (least, most) => format!("{least} to {most}"),
    };
    let first = group.sets.first();
    let cache = match first.and_then(|set| Some((set.cache_size?, set.metadata?))) {
        Some((cache, metadata)) => format!(
            "; the cache is {} for {} of metadata",
            size(cache),
            size(metadata)
        ),
        None => String::new(),
    };
    format!("{}, {n} of each{cache}", group.of)
}

/// What each pass of each set cost.
fn costs(group: &Group) -> Sheet {
    let columns = [
        ("Disk", "MB"),
        ("Cache", "MB"),
        ("Requests", ""),
        ("Seeks", ""),
        ("over", "GB"),
        ("Real", "s"),
        ("Disk rate", "MB/s"),
    ];
    let cells = |pass: &Pass| {
        let cost = &pass.median;
        let moved = pass.moved_signs();
        [
            format!("{}{moved}", mb(cost.disk)),
            mb(cost.cache),
            format!("{}{moved}", count(cost.requests)),
            count(cost.seeks),
            gb(cost.seek_bytes),
            format!("{}{}", told(cost.real, short), pass.time_signs()),
            told(cost.rate, |rate| short(rate / MIB)),
        ]
        .map(|text| vec![text])
        .into()
    };
    sheet(group, &columns, cells, |_| true)
}

/// Ours and theirs, of the passes that they have as well.
fn beside(group: &Group) -> Sheet {
    let columns = [
        ("Real", "s"),
        ("", "x"),
        ("16 Sep", "MB"),
        ("16 Sep", "s"),
        ("", "x"),
        ("21 Sep", "MB"),
        ("21 Sep", "s"),
        ("", "x"),
    ];
    let cells = |pass: &Pass| {
        let mut all = vec![told(pass.median.real, short), times(group, pass)];
        for at in [0, 1] {
            all.extend(their_words(group, pass, at));
        }
        all.into_iter().map(|text| vec![text]).collect()
    };
    let published = |row: &Row<'_>| {
        let mut passes = row.iter().flat_map(|(_, pass)| pass.theirs);
        passes.any(|theirs| theirs.is_some())
    };
    sheet(group, &columns, cells, published)
}

/// A row for each pass and set.
fn sheet(
    group: &Group,
    columns: &[(&str, &str)],
    cells: impl Fn(&Pass) -> Vec<Vec<String>>,
    shown: impl Fn(&Row<'_>) -> bool,
) -> Sheet {
    let mut rows = Vec::new();
    for row in group.rows().into_iter().filter(shown) {
        for (number, (set, pass)) in row.into_iter().enumerate() {
            let name = if number == 0 { pass.name } else { "" };
            rows.push((vec![name.to_owned(), set.name.clone()], cells(pass)));
        }
    }
    Sheet {
        labels: vec!["Pass".to_owned(), "Set".to_owned()],
        columns: columns
            .iter()
            .map(|(label, below)| Title {
                label: (*label).to_owned(),
                below: (*below).to_owned(),
            })
            .collect(),
        rows,
    }
}

fn laws(scan: &Scan, width: usize) -> String {
    let title = format!("The laws of 2011 on these numbers: {}", scan.laws_title());
    let mut out = wrap("", 2, &title, width);
    for law in &scan.laws {
        out.push('\n');
        let says = format!("{}: {}.", law.says, law.verdict());
        out.push_str(&wrap("", 2, &says, width));
        if let Some(published) = &law.published {
            out.push_str(&wrap("  2011: ", 4, published, width));
        }
        out.push_str(&cases(law, width));
    }
    out
}

fn cases(law: &Law, width: usize) -> String {
    let mut out = String::new();
    for case in &law.cases {
        let first = format!("  {:5}  ", case.word());
        let text = format!("{}: {}", case.of, case.figures);
        out.push_str(&wrap(&first, 9, &text, width));
    }
    out
}
