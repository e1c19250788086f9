//! How a checker read, in a mail.
//!
//! The table of each disk comes first: it is the answer. Then what was concluded in 2011, each with the run's own
//! figures. fsck.ocfs2's own lines, which the message consists of, follow for those who compare line by line.

use super::sheet::{Sheet, Title};
use super::wrap;
use crate::model::Mark;
use crate::numbers::{brief_ratio, short, size};
use crate::scan::{Group, Law, Pass, Scan, Set, Theirs, lines};

/// What the table's columns are, for every format.
const ABOUT: &str = "Medians; MB are 2^20 bytes; x is the time by the first set's";

/// [`ABOUT`], and what the signs mean where there are any.
pub(crate) fn about(scan: &Scan) -> String {
    match scan.family {
        0 => format!("{ABOUT}."),
        family => format!(
            "{ABOUT}; +, - and ~: it counts as faster, as slower, as neither ({family} comparisons, \
             corrected together)."
        ),
    }
}

const MIB: f64 = 1_048_576.0;

/// The section.
pub(super) fn print(scan: &Scan, width: usize) -> String {
    let mut out = wrap("", 2, "How a checker reads", width);
    let first = scan.groups.first();
    for set in first.into_iter().flat_map(|group| &group.sets) {
        out.push_str(&wrap(&format!("  {}: ", set.name), 4, &set.how, width));
    }
    for group in &scan.groups {
        out.push('\n');
        out.push_str(&wrap("", 2, &format!("{}:", heading(group)), width));
        out.push_str(&costs(group).print(width));
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
    out.push_str("\n\n");
    out.push_str(&laws(&scan.laws, width));
    for group in &scan.groups {
        out.push_str("\n\n");
        out.push_str(&listing(group, width));
    }
    out
}

/// `ext4 on the disk as it is, 5 of each; the cache is 10 MiB of 39 MiB of metadata`.
pub(crate) fn heading(group: &Group) -> String {
    let counts = || group.sets.iter().map(|set| set.n);
    let n = match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (least, most) if least == most => format!("{most}"),
        (least, most) => format!("{least} to {most}"),
    };
    let cache = group.sets.first().map_or_else(String::new, |set| {
        format!(
            "; the cache is {} of {} of metadata",
            size(set.cache_size),
            size(set.metadata)
        )
    });
    format!("{}, {n} of each{cache}", group.of)
}

/// What each pass of each set cost.
fn costs(group: &Group) -> Sheet {
    let columns = [
        ("Disk", "MB"),
        ("Cache", "MB"),
        ("Requests", ""),
        ("Mean", "KiB"),
        ("Seeks", ""),
        ("Real", "s"),
        ("Disk rate", "MB/s"),
        ("Peak", "MB"),
    ];
    let cells = |pass: &Pass| {
        let cost = &pass.median;
        [
            short(cost.disk / MIB),
            short(cost.cache / MIB),
            format!("{:.0}", cost.requests),
            short(cost.mean / 1024.0),
            format!("{:.0}", cost.seeks),
            format!("{}{}", short(cost.real), mark(pass)),
            short(cost.rate / MIB),
            format!("{:.0}", cost.peak / MIB),
        ]
        .map(|text| vec![text])
        .into()
    };
    sheet(group, &columns, cells)
}

/// Ours and theirs.
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
        let mut all = vec![short(pass.median.real), times(group, pass)];
        for at in [0, 1] {
            all.extend(their_words(group, pass, at));
        }
        all.into_iter().map(|text| vec![text]).collect()
    };
    sheet(group, &columns, cells)
}

/// A doubt beside a number.
fn mark(pass: &Pass) -> String {
    let worst = pass.seconds.worst().map(Mark::sign);
    worst.into_iter().collect()
}

/// `0.13+`: seconds by the first set's, and whether that counts.
pub(crate) fn times(group: &Group, pass: &Pass) -> String {
    let sign = pass
        .versus
        .as_ref()
        .map_or_else(String::new, |v| v.difference.sign().to_string());
    let first = of_first(group, pass.name).map(|first| first.median.real);
    match first.filter(|real| *real > 0.0) {
        Some(real) => format!("{}{sign}", brief_ratio(pass.median.real / real)),
        None => "-".to_owned(),
    }
}

/// Disk, real and ratio of a message; `-` where nothing was printed.
pub(crate) fn their_words(group: &Group, pass: &Pass, at: usize) -> [String; 3] {
    let Some(Theirs { disk, real, .. }) = pass.theirs[at] else {
        return ["-", "-", "-"].map(str::to_owned);
    };
    let first = of_first(group, pass.name).and_then(|first| first.theirs[at]);
    let times = first.map_or_else(|| "-".to_owned(), |first| brief_ratio(real / first.real));
    [format!("{disk:.0}"), short(real), times]
}

fn of_first<'a>(group: &'a Group, pass: &str) -> Option<&'a Pass> {
    let first = group.sets.first()?;
    first.passes.iter().find(|found| found.name == pass)
}

/// A row for each pass and set.
fn sheet(
    group: &Group,
    columns: &[(&str, &str)],
    cells: impl Fn(&Pass) -> Vec<Vec<String>>,
) -> Sheet {
    let passes = group.sets.first().map_or(0, |set| set.passes.len());
    let mut rows = Vec::new();
    for at in 0..passes {
        for (number, set) in group.sets.iter().enumerate() {
            let pass = &set.passes[at];
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

fn laws(laws: &[Law], width: usize) -> String {
    let mut out = wrap(
        "",
        2,
        "The laws of 2011 on these numbers: pairs of cells that differ in one switch alone",
        width,
    );
    for law in laws {
        out.push('\n');
        out.push_str(&wrap(
            "",
            2,
            &format!("{}: {}.", law.says, law.verdict()),
            width,
        ));
        out.push_str(&wrap("  2011: ", 4, law.published, width));
        for case in &law.cases {
            let word = if case.holds { "holds" } else { "FAILS" };
            let first = format!("  {word}  ");
            out.push_str(&wrap(
                &first,
                9,
                &format!("{}: {}", case.of, case.figures),
                width,
            ));
        }
    }
    out
}

/// fsck.ocfs2's lines of the sets.
fn listing(group: &Group, width: usize) -> String {
    let title = format!(
        "fsck.ocfs2's lines, {} (of each set the trial of the middle time; rate as in 2011: disk + cache by \
         real time)",
        group.of
    );
    let mut out = wrap("", 2, &title, width);
    for set in &group.sets {
        out.push('\n');
        out.push_str(&beside_name(&set.cache_line(), set, width));
        let whole = set.whole();
        for line in whole.into_iter().flat_map(|pass| lines(&pass.middle)) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    let passes = group.sets.first().map_or(&[][..], |set| &set.passes);
    for (at, pass) in passes
        .iter()
        .enumerate()
        .filter(|(_, pass)| pass.name != "all")
    {
        out.push_str(&format!("\n{}\n", pass.title));
        for set in &group.sets {
            let [io, times] = lines(&set.passes[at].middle);
            out.push_str(&beside_name(&io, set, width));
            out.push_str(&format!("{times}\n"));
        }
    }
    out
}

/// A line with the name of its set at the right, where there is room for it.
fn beside_name(line: &str, set: &Set, width: usize) -> String {
    let name = format!("({})", set.name);
    let used = line.chars().count() + name.chars().count();
    let most = width.min(78);
    if used + 1 > most {
        return format!("{line}\n");
    }
    format!("{line}{}{name}\n", " ".repeat(most - used))
}
