//! How a checker read, as sections: the table of each disk, the laws of 2011, and fsck.ocfs2's lines.
//!
//! The table of each disk comes first: it is the answer. Then what was read and how that differs from
//! what was published, and what was concluded in 2011, each with the run's own figures. fsck.ocfs2's
//! layout, which the message consists of, follows for readers who compare line by line.

use words::bytes_f64 as size;

use crate::doc::{self, Block, Cell, Column, Details, Item, Section, Sheet, Tone};
use crate::numbers::{range, ratio, short};
use crate::scan::{
    Group, Law, MIB, Pass, Row, Scan, count, figure, gb, listing, mb, their_words, times,
};

/// What the table's columns are.
const ABOUT: &str = "Medians. MB are 2^20 bytes, GB 2^30. Seeks: requests that did not begin where \
     the one before ended, and the distance between. x: time divided by that of the first set";
/// What the lines of 2011 are.
const LISTING: &str = "The passes have the names that fsck.ocfs2 gave them. Of each set it is the \
     trial of the middle time; the rate is disk + cache by real time.";

/// [`ABOUT`], and what the signs mean where there are any.
fn about(scan: &Scan) -> String {
    match scan.family {
        0 => format!("{ABOUT}."),
        family => format!(
            "{ABOUT}, as geometric mean over blocks; +, - and ~: it counts as faster, as slower, as \
             neither ({family} comparisons, corrected together)."
        ),
    }
}

/// The sections.
pub(crate) fn sections(scan: &Scan) -> Vec<Section<'_>> {
    let mut sections = vec![costs(scan), laws(scan)];
    sections.extend((!scan.groups.is_empty()).then(|| lines(scan)));
    sections
}

fn costs(scan: &Scan) -> Section<'_> {
    let mut section = Section::new("scan", "How a checker reads");
    let ways = scan.ways().into_iter();
    let ways = ways.map(|(name, how)| Item::about(name, how));
    section.blocks.push(Block::List(ways.collect()));
    for group in &scan.groups {
        section.blocks.push(Block::Heading(heading(group)));
        section.blocks.push(Block::Table(costs_of(group)));
        let note = group.note.map(str::to_owned);
        section.blocks.extend(note.map(Block::Para));
        if let Some(document) = &scan.beside {
            let details = Details {
                summary: format!("Beside {document}: compare x, not seconds"),
                rest: "(1.5 million files on 16 September, 15 million on 21 September)".to_owned(),
                open: true,
                blocks: vec![Block::Table(beside(document, group))],
                ..Details::default()
            };
            section.blocks.push(Block::Details(details));
        }
    }
    if !scan.groups.is_empty() {
        section.blocks.push(Block::Para(about(scan)));
    }
    let legend = scan.legend.iter().cloned();
    section.blocks.extend(legend.map(Block::Para));
    section
}

/// `ext4 on the disk as it is, 5 of each; the cache is 10 MiB for 39 MiB of metadata`.
fn heading(group: &Group) -> String {
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
fn costs_of(group: &Group) -> Sheet {
    let columns = [
        Column::figures("disk").unit("MB"),
        Column::figures("cache").unit("MB"),
        Column::figures("requests"),
        Column::figures("mean").unit("KiB").rank(2),
        Column::figures("seeks"),
        Column::figures("over").unit("GB"),
        Column::figures("real").unit("s"),
        Column::figures("").unit("x").rank(1),
        Column::words("its interval").rank(4),
        Column::figures("disk rate").unit("MB/s"),
        Column::figures("peak").unit("MB").rank(3),
    ];
    sheet("Passes", group, columns, |pass, longest| {
        let cost = &pass.median;
        let moved = pass.moved_signs();
        let versus = pass.versus.as_ref();
        let interval = versus.and_then(|v| v.interval);
        let interval = interval.map_or(String::new(), |(low, high)| range(low, high, ratio));
        let rate = |rate: Option<f64>| figure(rate, |rate| short(rate / MIB));
        let mut real = Cell::from(figure(cost.real, short)).signs(pass.time_signs());
        real.bars = vec![cost.real.unwrap_or(0.0) / longest];
        real.hover = format!(
            "user {} s, sys {} s; with cache {} MB/s (2011), without user time {} MB/s (today)",
            figure(cost.user, short),
            figure(cost.system, short),
            rate(cost.with_cache),
            rate(cost.without_user)
        );
        let tone = Tone::of(versus.map(|v| v.difference));
        vec![
            Cell::from(mb(cost.disk)).signs(&moved),
            mb(cost.cache).into(),
            Cell::from(count(cost.requests)).signs(&moved),
            figure(cost.mean, |mean| short(mean / 1024.0)).into(),
            count(cost.seeks).into(),
            gb(cost.seek_bytes).into(),
            real,
            Cell::from(times(group, pass)).tone(tone),
            interval.into(),
            rate(cost.rate).into(),
            figure(cost.peak, |peak| format!("{:.0}", peak / MIB)).into(),
        ]
    })
}

/// Ours and theirs, of the passes that they have as well.
fn beside(document: &str, group: &Group) -> Sheet {
    let ours = [
        Column::figures("real").unit("s"),
        Column::figures("").unit("x"),
    ];
    let theirs = ["16 Sep", "21 Sep"]
        .into_iter()
        .flat_map(|day| ["MB", "s", "x"].map(|unit| Column::figures(day).unit(unit).published()));
    let mut sheet = sheet(
        &format!("Beside {document}"),
        group,
        ours.into_iter().chain(theirs),
        |pass, _| {
            let mut all = vec![figure(pass.median.real, short), times(group, pass)];
            for at in [0, 1] {
                all.extend(their_words(group, pass, at));
            }
            all.into_iter().map(Cell::from).collect()
        },
    );
    let published = |row: &Row<'_>| {
        let mut passes = row.iter().flat_map(|(_, pass)| pass.theirs);
        passes.any(|theirs| theirs.is_some())
    };
    let shown: Vec<Option<String>> = group
        .rows()
        .iter()
        .filter(|row| published(row))
        .map(title)
        .collect();
    sheet.rows.retain(|row| shown.contains(&row.group));
    drop_empty(&mut sheet);
    sheet
}

/// Leaves out published columns that have no number in any row.
fn drop_empty(sheet: &mut Sheet) {
    let none = |row: &doc::Row, at: usize| row.cells.get(at).is_none_or(|cell| cell.lines == ["-"]);
    for at in (0..sheet.columns.len()).rev() {
        if sheet.columns[at].published && sheet.rows.iter().all(|row| none(row, at)) {
            sheet.columns.remove(at);
            for row in &mut sheet.rows {
                row.cells.remove(at);
            }
        }
    }
}

/// What a pass of any set reads.
fn title(row: &Row<'_>) -> Option<String> {
    let (_, pass) = row.first()?;
    Some(format!("{}: {}", pass.name, pass.what))
}

/// A row for each pass and set; the cells get the longest time of the pass.
fn sheet(
    about: &str,
    group: &Group,
    columns: impl IntoIterator<Item = Column>,
    cells: impl Fn(&Pass, f64) -> Vec<Cell>,
) -> Sheet {
    let mut rows = Vec::new();
    for row in group.rows() {
        let seconds = row.iter().filter_map(|(_, pass)| pass.median.real);
        let longest = seconds.fold(f64::MIN_POSITIVE, f64::max);
        for (set, pass) in &row {
            let labels = [pass.name, set.name.as_str()].map(Cell::from);
            rows.push(doc::Row {
                group: title(&row),
                ..doc::Row::new(labels.into_iter().chain(cells(pass, longest)))
            });
        }
    }
    let mut sheet = Sheet::new(format!("{about}, {}", group.of), "pass", columns).rows(rows);
    sheet.columns.insert(1, Column::words("set"));
    sheet.labels = 2;
    sheet.class("passes")
}

fn laws(scan: &Scan) -> Section<'_> {
    let mut section = Section::new("laws", "The laws of 2011 on these numbers").nav("Laws of 2011");
    let about = format!("On {}.", scan.laws_title());
    section.blocks.push(Block::Para(about));
    for law in &scan.laws {
        section.blocks.extend(of_law(law));
    }
    section
}

fn of_law(law: &Law) -> Vec<Block<'_>> {
    let mut blocks = vec![Block::Heading(format!("{}: {}", law.says, law.verdict()))];
    let published = law.published.as_ref();
    blocks.extend(published.map(|words| Block::Published(format!("2011: {words}"))));
    let cases = law.cases.iter().map(|case| {
        let tone = match case.holds {
            Some(false) => Tone::Bad,
            _ => Tone::Plain,
        };
        let text = format!("{}: {}", case.of, case.figures);
        (Cell::from(case.word()).tone(tone), text.into())
    });
    let cases: Vec<(Cell, Cell)> = cases.collect();
    if !cases.is_empty() {
        blocks.push(Block::Facts(cases));
    }
    blocks
}

fn lines(scan: &Scan) -> Section<'_> {
    let title = "The passes in fsck.ocfs2's layout of 2011";
    let mut section = Section::new("scan-lines", title).nav("As fsck.ocfs2 printed it");
    section.blocks.push(Block::Para(LISTING.to_owned()));
    let groups = scan.groups.iter().map(|group| {
        Block::Details(Details {
            summary: group.of.clone(),
            blocks: vec![Block::Listing(listing(group))],
            ..Details::default()
        })
    });
    section.blocks.extend(groups);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_columns_without_a_number_are_left_out() {
        let columns = [
            Column::figures("real"),
            Column::figures("16 Sep").published(),
            Column::figures("21 Sep").unit("s").published(),
            Column::figures("21 Sep").unit("x").published(),
        ];
        let rows = [["-", "-", "1", "-"], ["-", "-", "-", "-"]];
        let rows = rows.map(|cells| {
            let label = std::iter::once(Cell::from("0a"));
            doc::Row::new(label.chain(cells.map(Cell::from)))
        });
        let mut sheet = Sheet::new("times".to_owned(), "pass", columns).rows(rows);
        drop_empty(&mut sheet);
        let heads: Vec<_> = sheet
            .columns
            .iter()
            .map(|column| column.unit.as_str())
            .collect();
        // Their own column stays, although it has no number either.
        assert_eq!(heads, ["", "", "s"]);
        let words = |row: &doc::Row| -> Vec<String> {
            row.cells.iter().map(|cell| cell.lines.concat()).collect()
        };
        let words: Vec<_> = sheet.rows.iter().map(words).collect();
        assert_eq!(words, [["0a", "-", "1"], ["0a", "-", "-"]]);
    }
}
