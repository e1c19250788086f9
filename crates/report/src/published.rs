//! The numbers that the repeated studies published, embedded as data.
//!
//! They are shown beside a run's own to compare shapes, not speeds: the hardware differs, so the
//! figure that matters is the ratio of ratios to a common column.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A message or article with its numbers.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// Where the numbers were published.
    pub document: Document,
    /// The tables among them whose rows are kernels or sizes, to be printed as they were.
    #[serde(default)]
    pub grids: Vec<PublishedGrid>,
    /// One entry per printed number.
    pub records: Vec<Record>,
}

/// A table of a document with the order of its columns, which single numbers do not have.
#[derive(Debug, Deserialize)]
pub struct PublishedGrid {
    /// [`Record::table`].
    pub table: String,
    /// Heads of the label columns; the panel's heading replaces an empty one.
    pub labels: Vec<String>,
    /// Parts of the grid, each with its own heading.
    pub panels: Vec<PublishedPanel>,
    /// Tables of the same document that are lists and follow below it.
    #[serde(default)]
    pub also: Vec<String>,
}

/// A part of a published grid.
#[derive(Debug, Deserialize)]
pub struct PublishedPanel {
    /// [`Record::heading`] of its numbers.
    pub heading: Option<String>,
    /// Columns in order.
    pub columns: Vec<PublishedColumn>,
}

/// A column of a published grid.
#[derive(Debug, Deserialize)]
pub struct PublishedColumn {
    /// [`Record::column`].
    pub name: String,
    /// Its head as printed.
    pub label: String,
}

/// A citation.
#[derive(Debug, Deserialize)]
pub struct Document {
    /// Name used by [`study::Plan::repeats`].
    pub doc: String,
    /// Title of the message.
    pub title: String,
    /// Author.
    pub author: String,
    /// Day, ISO 8601.
    pub date: String,
    /// Mailing list it was sent to.
    pub list: String,
    /// Hardware, as far as it was published.
    pub hardware: String,
    /// Kernel it was measured on.
    pub kernel: String,
    /// How often they ran.
    pub runs: String,
    /// Barriers, as the thread settled them.
    pub barriers: String,
    /// What the stddev is of.
    pub stddev: String,
    /// What is certain of the table's layout, and what is not.
    #[serde(default)]
    pub layout: String,
    /// Which of its numbers the host decides, so that no model of the disks can.
    #[serde(default)]
    pub host_decides: String,
    /// Its footnotes by mark.
    #[serde(default)]
    pub footnotes: BTreeMap<String, String>,
}

/// One printed number.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Heading of its table (`Iozone ext2 : 1 thread`).
    pub table: String,
    /// Row (`initial_writers`).
    pub row: String,
    /// Which of the figures of its place, where there are several.
    #[serde(default)]
    pub metric: String,
    /// Column (`ext4-stock`).
    pub column: String,
    /// As printed; none where the number is lost, which [`Record::kind`] then says.
    pub value: Option<f64>,
    /// Standard deviation as printed, in `unit`; none: not published.
    pub stddev: Option<f64>,
    /// Runs that the number was computed from.
    pub n_runs: Option<u32>,
    /// As printed, with an explanation in parentheses where the label misleads.
    pub unit: String,
    /// `published`, or why there is no value.
    #[serde(default)]
    pub kind: String,
    /// Its filesystem, where the source says.
    #[serde(default)]
    pub fs: Option<String>,
    /// Heading of its part of a grid.
    #[serde(default)]
    pub heading: Option<String>,
    /// Labels of its row of a grid.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Mark of its footnote.
    #[serde(default)]
    pub mark: Option<String>,
    /// What the source says of the number elsewhere.
    #[serde(default)]
    pub footnote: Option<String>,
}

impl Document {
    /// `Wohlgemuth 2009`: short enough for a heading.
    pub fn short(&self) -> String {
        let surname = self.author.split_whitespace().last().unwrap_or_default();
        let year = self.date.split('-').next().unwrap_or_default();
        format!("{surname} {year}")
    }

    /// `Curt Wohlgemuth, "Ext4 ...", linux-ext4@vger.kernel.org, 2009-01-07`.
    pub fn citation(&self) -> String {
        format!(
            "{}, \"{}\", {}, {}",
            self.author, self.title, self.list, self.date
        )
    }
}

impl Published {
    /// The record at a place, if it was published.
    pub fn find(&self, table: &str, row: &str, column: &str) -> Option<&Record> {
        self.records
            .iter()
            .find(|r| r.table == table && r.row == row && r.column == column)
    }

    /// The rows of a panel, in the document's order: labels, and for each column its records.
    pub fn lines<'a>(&'a self, grid: &PublishedGrid, panel: &PublishedPanel) -> Vec<GridLine<'a>> {
        let mut lines: Vec<GridLine<'a>> = Vec::new();
        let of_panel = |r: &&Record| r.table == grid.table && r.heading == panel.heading;
        for record in self.records.iter().filter(of_panel) {
            let Some(column) = panel.columns.iter().position(|c| c.name == record.column) else {
                continue;
            };
            let known = lines
                .iter()
                .position(|(labels, _)| *labels == record.labels);
            let at = known.unwrap_or(lines.len());
            if known.is_none() {
                lines.push((&record.labels, vec![Vec::new(); panel.columns.len()]));
            }
            lines[at].1[column].push(record);
        }
        lines
    }

    /// The records of the lists below a grid.
    pub fn also<'a>(&'a self, grid: &'a PublishedGrid) -> impl Iterator<Item = &'a Record> {
        let records = self.records.iter();
        records.filter(|r| grid.also.contains(&r.table))
    }
}

/// A row of a published grid: its labels, and the records of each column's place. Several records in
/// one place are several runs, none is a place that was not run.
pub type GridLine<'a> = (&'a [String], Vec<Vec<&'a Record>>);

static DOCUMENTS: LazyLock<Vec<Published>> = LazyLock::new(|| {
    [
        include_str!("../../../published/dokos2008.json"),
        include_str!("../../../published/wohlgemuth2009.json"),
        include_str!("../../../published/piszcz2010.json"),
        include_str!("../../../published/mushran2011.json"),
        include_str!("../../../published/layton2012.json"),
    ]
    .iter()
    // A text that does not parse is left out here and caught by the tests below.
    .filter_map(|text| serde_json::from_str(text).ok())
    .collect()
});

/// The document of that name ([`study::Plan::repeats`]).
pub fn document(name: &str) -> Option<&'static Published> {
    DOCUMENTS.iter().find(|p| p.document.doc == name)
}

/// The grid that a study names: a document (`dokos2008`), whose first grid is meant, or a document
/// and the title of its table (`layton2012: FSCK Results (matrix)`).
pub fn grid(name: &str) -> Option<(&'static Published, &'static PublishedGrid)> {
    let (doc, table) = match name.split_once(':') {
        Some((doc, table)) => (doc, Some(table.trim())),
        None => (name, None),
    };
    let document = document(doc.trim())?;
    let asked = |grid: &&PublishedGrid| table.is_none_or(|table| grid.table == table);
    Some((document, document.grids.iter().find(asked)?))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn wohlgemuth_has_its_88_numbers() {
        let published = document("wohlgemuth2009").expect("embedded and well formed");
        assert_eq!(published.records.len(), 88);
        let mut by_table: BTreeMap<&str, usize> = BTreeMap::new();
        for record in &published.records {
            *by_table.entry(record.table.as_str()).or_default() += 1;
        }
        let counts: Vec<usize> = by_table.values().copied().collect();
        assert_eq!(counts, [10, 10, 10, 10, 6, 6, 6, 6, 6, 6, 6, 6]);
        for column in ["ext2", "ext3", "ext4-nojournal", "ext4-stock"] {
            let n = published
                .records
                .iter()
                .filter(|r| r.column == column)
                .count();
            assert_eq!(n, 22, "{column}");
        }
        assert_eq!(published.document.short(), "Wohlgemuth 2009");
    }

    #[test]
    fn a_place_is_found_or_not() {
        let published = document("wohlgemuth2009").expect("embedded");
        let clean = published
            .find("Compilebench ext4-nojournal", "clean", "ext4-nojournal")
            .expect("printed");
        assert_eq!((clean.value, clean.stddev), (Some(592.4), Some(39.4)));
        assert!(published.find("Compilebench xfs", "clean", "xfs").is_none());
        assert!(document("nobody1999").is_none());
    }

    #[test]
    fn dokos_has_his_nine_numbers_in_their_places() {
        let (published, grid) = grid("dokos2008").expect("embedded");
        let of_panel = |at: usize| {
            let lines = published.lines(grid, &grid.panels[at]);
            let written = lines.iter().map(|(labels, places)| {
                let places = places.iter().map(|records| {
                    let values = records.iter().filter_map(|r| r.value);
                    values.map(|v| v.to_string()).collect::<Vec<_>>().join("/")
                });
                format!("{} {}", labels[0], places.collect::<Vec<_>>().join("|"))
            });
            written.collect::<Vec<_>>()
        };
        assert_eq!(
            of_panel(0),
            ["2.6.26-rc3 122|||144|", "2.6.26-rc5 117|509|570||295/281"]
        );
        assert_eq!(of_panel(1), ["2.6.26-rc3 131|155"]);
    }

    #[test]
    fn the_lost_cells_of_layton_are_said_to_be_missing() {
        let (published, grid) = super::grid("layton2012: FSCK Results (matrix)").expect("embedded");
        let lines = published.lines(grid, &grid.panels[0]);
        let places: Vec<&&Record> = lines.iter().flat_map(|(_, p)| p).flatten().collect();
        assert_eq!((lines.len(), places.len()), (6, 12));
        let known: Vec<Option<f64>> = places.iter().map(|r| r.value).collect();
        assert_eq!(known.iter().flatten().collect::<Vec<_>>(), [&1629.0]);
        for place in places.iter().filter(|p| p.value.is_none()) {
            assert_eq!(place.kind, "missing in the stored copy");
        }
        let also: Vec<&str> = published.also(grid).map(|r| r.row.as_str()).collect();
        assert!(also.contains(&"415,000,000 file case"), "{also:?}");
        assert!(super::grid("layton2012: no such table").is_none());
    }
}
