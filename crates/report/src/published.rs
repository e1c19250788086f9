//! The numbers that the repeated studies published, embedded as data.
//!
//! They are shown beside a run's own to compare shapes, not speeds: the hardware differs, so the
//! figure that matters is the ratio of ratios to a common column.

use std::sync::LazyLock;

use serde::Deserialize;

/// A message or article with its numbers.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// Where the numbers stand.
    pub document: Document,
    /// One entry per printed number.
    pub records: Vec<Record>,
}

/// A citation.
#[derive(Debug, Deserialize)]
pub struct Document {
    /// Name used by [`study::Plan::repeats`].
    pub doc: String,
    /// Title of the message.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// Day, ISO 8601.
    pub date: String,
    /// Mailing list.
    pub list: String,
    /// What they ran on, as far as they said.
    pub hardware: String,
    /// Their kernel.
    pub kernel: String,
    /// How often they ran.
    pub runs: String,
    /// Barriers, as the thread settled them.
    pub barriers: String,
    /// What the stddev is of.
    pub stddev: String,
}

/// One printed number.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Heading of its table (`Iozone ext2 : 1 thread`).
    pub table: String,
    /// Row (`initial_writers`).
    pub row: String,
    /// Column (`ext4-stock`).
    pub column: String,
    /// As printed.
    pub value: f64,
    /// As printed.
    pub stddev: Option<f64>,
    /// Runs behind it.
    pub n_runs: Option<u32>,
    /// As printed, with an explanation in parentheses where the label misleads.
    pub unit: String,
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
}

static DOCUMENTS: LazyLock<Vec<Published>> = LazyLock::new(|| {
    [include_str!("../../../published/wohlgemuth2009.json")]
        .iter()
        // A text that does not parse is left out here and caught by the test below.
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect()
});

/// The document of that name ([`study::Plan::repeats`]).
pub fn document(name: &str) -> Option<&'static Published> {
    DOCUMENTS.iter().find(|p| p.document.doc == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        assert_eq!((clean.value, clean.stddev), (592.4, Some(39.4)));
        assert!(published.find("Compilebench xfs", "clean", "xfs").is_none());
        assert!(document("nobody1999").is_none());
    }
}
