//! The scores of other tools: e4defrag's and xfs_db's. Both are computed so that they can be set
//! beside old listings; neither says much.
//!
//! e4defrag counts rows, which ext4 cuts at 128 MiB, so a perfect file of 10 GiB has 80 of 5. Its
//! score compares that surplus with the blocks of all files, so it stays 0 on any tree of large
//! files. xfs_db's factor saturates: 2 extents a file are 50 %, 10 are 90 %.

use serde::{Deserialize, Serialize};

use crate::count;
use crate::extent::Extent;
use crate::geometry::Geometry;

/// e4defrag -c's sums (e2fsprogs, misc/e4defrag.c). Files without a
/// block are left out, as there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defrag {
    /// Files that were counted.
    pub files: u64,
    /// Rows.
    pub now: u64,
    /// The least number of extents there could be.
    pub best: u64,
    /// Blocks.
    pub blocks: u64,
}

impl Defrag {
    /// Adds a file on ext4. `allocated` are its `st_blocks` in bytes.
    pub fn add(&mut self, rows: &[Extent], allocated: u64, geometry: &dyn Geometry) {
        let Some(unit) = geometry.defrag_unit() else {
            return;
        };
        let blocks = allocated.div_ceil(geometry.block_size());
        if blocks == 0 || rows.is_empty() {
            return;
        }
        self.files += 1;
        self.now += rows.len() as u64;
        self.best += blocks.div_ceil((unit / geometry.block_size()).max(1));
        self.blocks += blocks;
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Defrag) {
        self.files += other.files;
        self.now += other.now;
        self.best += other.best;
        self.blocks += other.blocks;
    }

    /// Surplus extents for each 100 blocks.
    pub fn ratio(&self) -> f64 {
        if self.blocks == 0 {
            return 0.0;
        }
        self.now.saturating_sub(self.best) as f64 * 100.0 / self.blocks as f64
    }

    /// 0 to 30: no problem; 31 to 55: a little bit fragmented; from 56 on: needs defragmentation.
    pub fn score(&self) -> u64 {
        let ratio = self.ratio();
        let score = if ratio <= 10.0 {
            8.0 * ratio
        } else {
            80.0 + 20.0 * ratio / 100.0
        };
        score as u64
    }
}

/// xfs_db's fragmentation factor over data forks (xfsprogs, db/frag.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frag {
    /// Rows.
    pub actual: u64,
    /// Pieces without a hole between them.
    pub ideal: u64,
}

impl Frag {
    /// Adds a file.
    pub fn add(&mut self, rows: &[Extent]) {
        self.actual += rows.len() as u64;
        self.ideal += count::pieces(rows);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Frag) {
        self.actual += other.actual;
        self.ideal += other.ideal;
    }

    /// Percent; 0 where there is nothing, of which xfs_db prints `-nan`.
    pub fn factor(&self) -> f64 {
        if self.actual == 0 {
            return 0.0;
        }
        self.actual.saturating_sub(self.ideal) as f64 * 100.0 / self.actual as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::tests::row;

    #[test]
    fn the_factor_saturates_as_xfs_db_says_of_itself() {
        let half = Frag {
            actual: 2,
            ideal: 1,
        };
        let nine = Frag {
            actual: 10,
            ideal: 1,
        };
        assert_eq!(
            (half.factor(), nine.factor(), Frag::default().factor()),
            (50.0, 90.0, 0.0)
        );
        let mut holes = Frag::default();
        holes.add(&[row(0, 100, 10, 0), row(30, 900, 10, 0), row(40, 2, 1, 1)]);
        assert_eq!(
            holes,
            Frag {
                actual: 3,
                ideal: 2
            }
        );
    }

    #[test]
    fn the_score_has_two_slopes() {
        let score = |now, blocks| {
            Defrag {
                files: 1,
                now,
                best: 1,
                blocks,
            }
            .score()
        };
        assert_eq!(score(1, 100), 0);
        assert_eq!(score(6, 100), 40);
        assert_eq!(score(11, 100), 80);
        assert_eq!(score(51, 100), 90);
    }
}
