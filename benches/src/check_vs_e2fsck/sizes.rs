//! Time per file, which must not grow with the filesystem.

use crate::table::{Row, Table};

use crate::check_vs_e2fsck::Part;

/// Results of one size.
pub(crate) struct Sized {
    pub(crate) files: u64,
    /// Seconds of our median run, by part.
    pub(crate) seconds: Vec<(Part, f64)>,
    /// Seconds that forging took, where the image was not there yet.
    pub(crate) forge: Option<f64>,
}

impl Sized {
    pub(crate) fn new(files: u64) -> Sized {
        Sized {
            files,
            seconds: Vec::new(),
            forge: None,
        }
    }

    /// Nanoseconds for a file, of our median run or of the forge.
    fn nanoseconds(&self, part: Part) -> Option<f64> {
        let found = self.seconds.iter().find(|(which, _)| *which == part);
        let seconds = match part {
            Part::Forge => self.forge,
            _ => found.map(|(_, seconds)| *seconds),
        };
        seconds.map(|seconds| seconds * 1e9 / self.files as f64)
    }
}

/// Time per file over all sizes, by part; nothing where there is only one size.
pub(crate) fn flatness(sizes: &[Sized]) -> Option<Table> {
    const MOST: f64 = 1.2;
    let mut table = Table::new(
        "Nanoseconds for a file, over all sizes",
        &["least", "most", "ratio"],
    );
    for (part, name) in [
        (Part::Hot, "check, hot"),
        (Part::Cold, "check, cold"),
        (Part::Limited, "check, limited"),
        (Part::Forge, "forge"),
    ] {
        let values = sizes.iter().filter_map(|sized| sized.nanoseconds(part));
        let values: Vec<f64> = values.collect();
        if values.len() < 2 {
            continue;
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let cells = [
            format!("{least:.0}"),
            format!("{most:.0}"),
            format!("{:.2}", most / least),
        ];
        let target = format!("<= {MOST:.2}");
        table
            .rows
            .push(Row::new(name, cells, target, most / least <= MOST));
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_for_a_file_is_compared_over_sizes() {
        let sized = |files, hot, forge| Sized {
            files,
            seconds: vec![(Part::Hot, hot)],
            forge,
        };
        assert!(flatness(&[sized(1000, 1.0, None)]).is_none());
        let table = flatness(&[sized(1000, 1.0, Some(1.0)), sized(2000, 2.2, None)]).unwrap();
        assert_eq!(table.rows.len(), 1);
        assert!(table.all_met());
        assert_eq!(table.rows[0].cells, ["1000000", "1100000", "1.10"]);
        assert!(
            !flatness(&[sized(1000, 1.0, None), sized(1000, 1.3, None)])
                .unwrap()
                .all_met()
        );
    }
}
