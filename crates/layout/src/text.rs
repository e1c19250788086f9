//! Layouts in words: one file, or a sum. For people and mails: at most 78 columns.

use std::fmt::Write;

use crate::cause::Cause;
use crate::file::FileLayout;
use crate::gaps::Gap;
use crate::summary::{LayoutSummary, Quantiles, StripeCounts};

/// Gaps of a file that are listed one by one.
const LISTED: usize = 40;

/// A file's layout: its numbers, and each gap with its cause.
pub fn describe(layout: &FileLayout) -> String {
    let name = plain(&layout.path.to_string_lossy());
    let block = u64::from(layout.block_size);
    let sum = &layout.summary;
    let mut text = format!(
        "{name}: {} in {}, blocks of {}\n",
        bytes(layout.size),
        layout.filesystem,
        bytes(block)
    );
    let mut line = |head: &str, words: String| push(&mut text, head, &words);
    line(
        "extents",
        format!(
            "{} ({} runs, {} rows of {})",
            sum.extents, sum.runs, sum.rows, layout.source
        ),
    );
    if let Some(delayed) = layout.delayed_before {
        line(
            "before sync",
            format!("{} had no place yet", bytes(delayed)),
        );
    }
    body(sum, &mut line);
    if sum.discontiguities > 0 {
        line("gaps", gaps_in_words(sum));
    }
    if let (Some(first), Some(last)) = (sum.first_physical, sum.last_physical) {
        let mut words = format!("blocks {} to {}", first / block, last / block);
        if let Some(geometry) = &layout.geometry {
            let (from, to) = (geometry.group_of(first), geometry.group_of(last));
            let name = geometry.group_name();
            let _ = write!(
                words,
                "; {name} {from} to {to}, {} touched",
                sum.groups_touched
            );
        }
        line("place", words);
    }
    if !layout.gaps.is_empty() {
        text.push_str(&gaps(layout, block));
    }
    text
}

/// A line of at most 78 columns, and more lines under its words where they are longer.
fn push(text: &mut String, head: &str, words: &str) {
    let mut head = head;
    let mut line = String::new();
    for word in words.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 60 {
            let _ = writeln!(text, "  {head:<16}{line}");
            (head, line) = ("", String::new());
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "  {head:<16}{line}");
}

/// The table of gaps.
fn gaps(layout: &FileLayout, block: u64) -> String {
    let head = ["file block", "from block", "to block", "skipped"];
    let rows: Vec<[String; 4]> = layout
        .gaps
        .iter()
        .take(LISTED)
        .map(|gap| {
            [
                (gap.logical / block).to_string(),
                (gap.expected / block).to_string(),
                (gap.found / block).to_string(),
                (gap.distance() / i128::from(block)).to_string(),
            ]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.fold(head[column].len(), usize::max)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: [&str; 4], cause: &str| {
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        let _ = writeln!(text, "  {cause}");
    };
    line(head, "cause");
    for (row, gap) in rows.iter().zip(&layout.gaps) {
        line(
            [&row[0], &row[1], &row[2], &row[3]],
            &first_cause(layout, gap),
        );
        for further in gap.causes.iter().skip(1) {
            line([""; 4], &format!("and {}", further.name()));
        }
    }
    if layout.gaps.len() > LISTED {
        let _ = writeln!(text, "  ... and {} more", layout.gaps.len() - LISTED);
    }
    text
}

/// `backup superblock (group 3)`.
fn first_cause(layout: &FileLayout, gap: &Gap) -> String {
    let cause = gap.cause();
    match &layout.geometry {
        Some(geometry) if cause != Cause::Unknown => {
            let at = geometry.group_of(gap.expected);
            format!("{} ({} {at})", cause.name(), geometry.group_name())
        }
        _ => cause.name().to_owned(),
    }
}

/// A sum of files: the contents of a tree and their layout.
pub fn summarize(name: &str, sum: &LayoutSummary) -> String {
    let mut text = format!(
        "{}: {} files of {} in {} directories\n",
        plain(name),
        sum.files,
        bytes(sum.size),
        sum.directories
    );
    let mut line = |head: &str, words: String| push(&mut text, head, &words);
    if sum.unreadable > 0 {
        line(
            "left out",
            format!("{} that could not be read", sum.unreadable),
        );
    }
    line(
        "extents",
        format!(
            "{} in {} files, {:.3} a file; {} files have more than one",
            sum.extents,
            sum.files.saturating_sub(sum.unmapped_files),
            sum.extents_per_file(),
            sum.fragmented_files,
        ),
    );
    line("runs", format!("{} ({} rows)", sum.runs, sum.rows));
    body(sum, &mut line);
    if sum.discontiguities > 0 {
        line("gaps", gaps_in_words(sum));
        line(
            "not metadata",
            format!("{:.2} a GiB", sum.avoidable_per_gib()),
        );
    }
    if sum.inode_to_data.pairs > 0 {
        let same = percent(sum.inode_to_data.same_group, sum.inode_to_data.pairs);
        let mean = sum.inode_to_data.mean();
        line(
            "inode to data",
            format!("{same} in the same group; {mean:.2} groups on average"),
        );
        let same = percent(
            sum.directory_to_inode.same_group,
            sum.directory_to_inode.pairs,
        );
        let mean = sum.directory_to_inode.mean();
        line(
            "dir. to inode",
            format!("{same} in the same group; {mean:.2} groups on average"),
        );
    }
    if sum.listed_blocks.pairs > 0 {
        line(
            "order",
            format!(
                "as listed, {} of inodes and {} of blocks ascend; by inode, {} of blocks",
                percent(sum.listed_inodes.ascending, sum.listed_inodes.pairs),
                percent(sum.listed_blocks.ascending, sum.listed_blocks.pairs),
                percent(sum.inode_blocks.ascending, sum.inode_blocks.pairs),
            ),
        );
    }
    line("scores", scores(sum));
    text
}

/// The lines that one file and a sum have in common.
fn body(sum: &LayoutSummary, line: &mut impl FnMut(&str, String)) {
    let mut mapped = format!(
        "{} of {} allocated",
        bytes(sum.mapped),
        bytes(sum.allocated)
    );
    for (what, value) in [
        ("unwritten", sum.unwritten),
        ("delayed", sum.delalloc),
        ("shared", sum.shared),
        ("encoded", sum.encoded),
        ("inline", sum.inline),
    ] {
        if value > 0 {
            let _ = write!(mapped, "; {what} {}", bytes(value));
        }
    }
    line("mapped", mapped);
    if sum.holes > 0 {
        line(
            "holes",
            format!("{} of {}", sum.holes, bytes(sum.hole_bytes)),
        );
    }
    if sum.runs > 0 {
        let Quantiles {
            min, p50, p90, max, ..
        } = sum.run_lengths;
        let [min, p50, p90, max] = [min, p50, p90, max].map(bytes);
        line(
            "run lengths",
            format!("min {min}, p50 {p50}, p90 {p90}, max {max}"),
        );
        let weighted = bytes(sum.weighted_run_length as u64);
        line("a byte's run", format!("{weighted} on average"));
    }
    if let Some(stripe) = sum.stripe {
        line("stripe", stripes(stripe, sum.runs));
    }
}

fn stripes(stripe: StripeCounts, runs: u64) -> String {
    format!(
        "{} of runs begin and {} end on a unit; {} and {} on a width",
        percent(stripe.begins_on_unit, runs),
        percent(stripe.ends_on_unit, runs),
        percent(stripe.begins_on_width, runs),
        percent(stripe.ends_on_width, runs),
    )
}

/// `12: 6 backup superblock, 5 flex_bg metadata, 1 group boundary`.
fn gaps_in_words(sum: &LayoutSummary) -> String {
    let mut causes: Vec<_> = sum.causes.iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(**count), **cause));
    let causes = causes
        .iter()
        .map(|(cause, count)| format!("{count} {}", cause.name()));
    let causes: Vec<String> = causes.collect();
    format!("{}: {}", sum.discontiguities, causes.join(", "))
}

/// The scores of e4defrag (ext4 only) and xfs_db.
fn scores(sum: &LayoutSummary) -> String {
    let factor = format!(
        "xfs_db's factor {:.2}% ({} of ideally {})",
        sum.frag.factor(),
        sum.frag.actual,
        sum.frag.ideal
    );
    if sum.defrag.files == 0 {
        return factor;
    }
    format!("e4defrag's {} of 100; {factor}", sum.defrag.score())
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

pub(crate) use words::bytes;

/// A name without characters that break a line or steer a terminal.
fn plain(name: &str) -> String {
    words::printable(name).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::count::tests::row;

    #[test]
    fn the_file_of_2010_in_words() {
        let mut logical = 0;
        let rows = crate::filefrag::tests::PISZCZ_ORDERED.map(|(physical, length)| {
            let row = row(logical << 12, physical << 12, length << 12, 0);
            logical += length;
            row
        });
        let mut layout =
            FileLayout::from_rows(Path::new("/r1/bigfile"), 10 << 30, 4096, rows.to_vec());
        layout.geometry = Some(std::sync::Arc::new(crate::geometry::piszcz()));
        layout.explain(|_| None);
        let text = describe(&layout);
        assert!(
            text.lines().all(|line| line.chars().count() <= 78),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_tree_in_words() {
        let mut tally = crate::Tally::default();
        let mut ext = crate::geometry::piszcz();
        (ext.stride, ext.stripe_width) = (16, 64);
        let geometry = ext;
        for file in 0..200 {
            let at = (file * 37 % 200 + 40000) << 16;
            let facts = crate::FileFacts {
                inode: file + 8193,
                size: 60000,
                allocated: 65536,
                indirect: false,
            };
            let flags = if file % 5 == 0 { 0x800 } else { 0 };
            let rows = [
                row(0, at, 32768, 0),
                row(32768, at + 32768 + ((file % 2) << 30), 32768, flags | 1),
            ];
            tally.add(facts, &rows, Some(&geometry));
        }
        tally.add(crate::FileFacts::default(), &[], Some(&geometry));
        tally.directory(4096);
        tally.child(1, 1);
        tally.child(1, 3);
        tally.unreadable();
        let mut order = crate::summary::Order::default();
        order.add(1, 2);
        order.add(2, 1);
        tally.orders([order; 3]);
        let text = summarize("a\\nb", &tally.summary());
        assert!(
            text.lines().all(|line| line.chars().count() <= 78),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }
}
