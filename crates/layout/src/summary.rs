//! What a report says of one file or of a whole tree: a plain value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::score::{Defrag, Frag};

/// Five points of a distribution, weighted by count, by the nearest-rank rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The least.
    pub min: u64,
    /// A tenth is at most this.
    pub p10: u64,
    /// The median.
    pub p50: u64,
    /// Nine tenths are at most this.
    pub p90: u64,
    /// The largest.
    pub max: u64,
}

impl Quantiles {
    /// Of values and how often each occurs; zeros of nothing.
    pub fn of(counts: &BTreeMap<u64, u64>) -> Quantiles {
        let total: u64 = counts.values().sum();
        let at = |percent: u64| {
            let rank = (total * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let found = counts.iter().find(|(_, count)| {
                seen += *count;
                seen >= rank
            });
            found.map_or(0, |(value, _)| *value)
        };
        Quantiles {
            min: at(0),
            p10: at(10),
            p50: at(50),
            p90: at(90),
            max: at(100),
        }
    }
}

/// Runs that begin or end at a multiple of the RAID stripe, of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeCounts {
    /// Begin on a stripe unit.
    pub begins_on_unit: u64,
    /// End on a stripe unit.
    pub ends_on_unit: u64,
    /// Begin on a stripe width.
    pub begins_on_width: u64,
    /// End on a stripe width.
    pub ends_on_width: u64,
}

/// Distances between related things, in groups (ext) or AGs (XFS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Pairs that were looked at.
    pub pairs: u64,
    /// Pairs within one group.
    pub same_group: u64,
    /// Sum of the distances, groups.
    pub groups: u64,
    /// The largest distance, groups.
    pub furthest: u64,
}

impl Distance {
    /// Adds a pair.
    pub fn add(&mut self, a: u64, b: u64) {
        let apart = a.abs_diff(b);
        self.pairs += 1;
        self.same_group += u64::from(apart == 0);
        self.groups += apart;
        self.furthest = self.furthest.max(apart);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Distance) {
        self.pairs += other.pairs;
        self.same_group += other.same_group;
        self.groups += other.groups;
        self.furthest = self.furthest.max(other.furthest);
    }

    /// Mean distance, groups; 0 of nothing.
    pub fn mean(&self) -> f64 {
        ratio(self.groups, self.pairs)
    }
}

/// How often two neighbours of one order are neighbours in the right direction in another. Half is
/// chance; 1 means that reading in the first order goes forward through the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Neighbours that were looked at.
    pub pairs: u64,
    /// Of these, ascending.
    pub ascending: u64,
}

impl Order {
    /// Adds a pair.
    pub fn add(&mut self, a: u64, b: u64) {
        self.pairs += 1;
        self.ascending += u64::from(b > a);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Order) {
        self.pairs += other.pairs;
        self.ascending += other.ascending;
    }

    /// The share that ascends; 0 of nothing.
    pub fn share(&self) -> f64 {
        ratio(self.ascending, self.pairs)
    }
}

/// The layout of one file or of all files of a tree. Lengths are bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayoutSummary {
    /// Regular files.
    pub files: u64,
    /// Directories. Their own blocks are not among the other numbers.
    pub directories: u64,
    /// Other entries (symbolic links, devices), which have no layout.
    pub others: u64,
    /// Files and directories that vanished or could not be read.
    pub unreadable: u64,
    /// Files without a row: empty, or nothing but a hole.
    pub unmapped_files: u64,
    /// Files of more than one extent.
    pub fragmented_files: u64,
    /// Sum of `st_size`.
    pub size: u64,
    /// Sum of `st_blocks`, in bytes. Larger than `mapped` by what the maps themselves take.
    pub allocated: u64,
    /// Directories' `st_blocks`, in bytes.
    pub directory_bytes: u64,
    /// Rows, as the kernel gives them.
    pub rows: u64,
    /// Extents, as filefrag counts them.
    pub extents: u64,
    /// Rows merged where file and disk continue and the flags agree.
    pub runs: u64,
    /// Places where a file is interrupted, between rows that have a location.
    pub discontiguities: u64,
    /// Of these, those that metadata explains.
    pub metadata_discontiguities: u64,
    /// Discontiguities by cause (the first of each).
    pub causes: BTreeMap<Cause, u64>,
    /// Discontiguities after which the file continues further back.
    pub backward: u64,
    /// Sum of the distances of those that go forward.
    pub forward_distance: u64,
    /// Sum of the distances of those that go back.
    pub backward_distance: u64,
    /// Holes.
    pub holes: u64,
    /// Bytes of holes, up to the end of the file.
    pub hole_bytes: u64,
    /// Bytes with blocks of their own on the disk: not delayed, not inline.
    pub mapped: u64,
    /// Of these, reserved and never written.
    pub unwritten: u64,
    /// Of these, shared with other files.
    pub shared: u64,
    /// Of these, compressed or otherwise not the file's bytes.
    pub encoded: u64,
    /// Written, no blocks chosen yet.
    pub delalloc: u64,
    /// Within inodes.
    pub inline: u64,
    /// The lowest byte of the filesystem in use by these files.
    pub first_physical: Option<u64>,
    /// The highest.
    pub last_physical: Option<u64>,
    /// Groups or AGs with blocks of these files.
    pub groups_touched: u64,
    /// Lengths of runs, each run counted once.
    pub run_lengths: Quantiles,
    /// Mean length of the run of a byte taken at random: sum of squares of the
    /// runs' lengths by their sum.
    pub weighted_run_length: f64,
    /// Where runs begin and end on stripes; `None` where no stripe is set.
    pub stripe: Option<StripeCounts>,
    /// An inode and its file's first block.
    pub inode_to_data: Distance,
    /// A directory's inode and those of the files in it.
    pub directory_to_inode: Distance,
    /// Inode numbers in the order in which the directory lists them. Neighbours within portions of
    /// a directory; see [`crate::tree`].
    pub listed_inodes: Order,
    /// First blocks in the order in which the directory lists the files.
    pub listed_blocks: Order,
    /// First blocks in the order of the inodes of one directory.
    pub inode_blocks: Order,
    /// e4defrag's sums; of ext4 only.
    pub defrag: Defrag,
    /// xfs_db's sums.
    pub frag: Frag,
}

impl LayoutSummary {
    /// Extents for each file that has any.
    pub fn extents_per_file(&self) -> f64 {
        ratio(self.extents, self.files.saturating_sub(self.unmapped_files))
    }

    /// Discontiguities that metadata does not explain.
    pub fn avoidable(&self) -> u64 {
        self.discontiguities - self.metadata_discontiguities.min(self.discontiguities)
    }

    /// Discontiguities that metadata does not explain, for each GiB of mapped bytes.
    pub fn avoidable_per_gib(&self) -> f64 {
        ratio(self.avoidable(), self.mapped) * (1_u64 << 30) as f64
    }

    /// The numbers that a record keeps beside a trial's other figures, by name. Lengths are bytes,
    /// shares between 0 and 1; a share of nothing is left out.
    pub fn figures(&self) -> BTreeMap<&'static str, f64> {
        let share = |part: u64, whole: u64| (whole > 0).then(|| ratio(part, whole));
        let stripe = self.stripe.unwrap_or_default();
        let striped = self.stripe.map_or(0, |_| self.runs);
        let all = [
            ("layout_files", Some(self.files as f64)),
            ("layout_rows", Some(self.rows as f64)),
            ("layout_extents", Some(self.extents as f64)),
            ("layout_runs", Some(self.runs as f64)),
            ("layout_discontiguities", Some(self.discontiguities as f64)),
            ("layout_avoidable", Some(self.avoidable() as f64)),
            ("layout_mapped", Some(self.mapped as f64)),
            ("layout_unwritten", Some(self.unwritten as f64)),
            ("layout_delalloc", Some(self.delalloc as f64)),
            ("layout_shared", Some(self.shared as f64)),
            ("layout_holes", Some(self.hole_bytes as f64)),
            ("layout_groups", Some(self.groups_touched as f64)),
            (
                "layout_run_p50",
                (self.runs > 0).then_some(self.run_lengths.p50 as f64),
            ),
            (
                "layout_weighted_run",
                (self.runs > 0).then_some(self.weighted_run_length),
            ),
            (
                "layout_begins_on_unit",
                share(stripe.begins_on_unit, striped),
            ),
            ("layout_ends_on_unit", share(stripe.ends_on_unit, striped)),
            (
                "layout_begins_on_width",
                share(stripe.begins_on_width, striped),
            ),
            ("layout_ends_on_width", share(stripe.ends_on_width, striped)),
            (
                "layout_inode_data_same_group",
                share(self.inode_to_data.same_group, self.inode_to_data.pairs),
            ),
            (
                "layout_listed_blocks_ascending",
                share(self.listed_blocks.ascending, self.listed_blocks.pairs),
            ),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_nearest_rank() {
        let counts = BTreeMap::from([(1, 1), (5, 8), (100, 1)]);
        let five = Quantiles::of(&counts);
        assert_eq!(
            (five.min, five.p10, five.p50, five.p90, five.max),
            (1, 1, 5, 5, 100)
        );
        assert_eq!(Quantiles::of(&BTreeMap::new()), Quantiles::default());
    }

    #[test]
    fn a_summary_survives_json_and_omits_shares_of_nothing() {
        let mut summary = LayoutSummary {
            discontiguities: 12,
            metadata_discontiguities: 11,
            mapped: 10 << 30,
            ..LayoutSummary::default()
        };
        summary.causes.insert(Cause::FlexMetadata, 5);
        let json = serde_json::to_string(&summary).unwrap();
        assert!(json.contains("\"flex_metadata\":5"));
        let back: LayoutSummary = serde_json::from_str(&json).unwrap();
        assert_eq!(back, summary);
        assert_eq!((summary.avoidable(), summary.avoidable_per_gib()), (1, 0.1));
        assert!(!summary.figures().contains_key("layout_begins_on_unit"));
        assert_eq!(summary.figures()["layout_avoidable"], 1.0);
    }
}
