//! Published populations.

use crate::Error;
use crate::population::Profile;

/// The volume on which the readahead of fsck.ocfs2 was measured in September 2011 (Mushran, ocfs2-tools-devel): 1,556,247 files of which
/// 712,550 are in their inodes, 96,706 directories of which 96,056 are, 50 symbolic links, one slot; the larger volume of the same measurements has
/// ten times as many of each. The four directories and ten files of the system are among these numbers. Sizes of the other
/// files were not published.
const PAPER_2011: &str = r#"
files = 1556287
per_directory = [["1-27", 99328], ["200-451", 672]]
file_size = [["1-3896", 457861], ["3897-60k", 542139]]
[directories]
fan_out = 16
[names]
length = 16
[kinds]
symlinks = 0.0000321
"#;

/// The population of 2011.
///
/// # Errors
///
/// None; the signature is that of [`Profile::parse`].
pub fn paper_2011() -> Result<Profile, Error> {
    Profile::parse("paper-2011", PAPER_2011)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::{FileKind, ObjectId, Population};

    #[test]
    fn its_counts_are_near_the_published_ones() {
        let population = Population::new(paper_2011().unwrap()).unwrap();
        let directories = population.directories();
        let (mut files, mut inline, mut links, mut large) = (0, 0, 0, 0);
        for directory in 1..directories {
            let count = population.files(directory);
            large += u64::from(count > 190);
            for slot in 1..=count {
                match population.file_kind(ObjectId { directory, slot }) {
                    FileKind::Regular(size) => {
                        files += 1;
                        inline += u64::from((1..=3896).contains(&size));
                    }
                    _ => links += 1,
                }
            }
        }
        let near = |found: u64, published: u64, per_mille: u64| {
            assert!(
                found.abs_diff(published) * 1000 <= published * per_mille,
                "{found} {published}"
            );
        };
        near(u64::from(directories) + 3, 96_706, 5);
        near(files + 10, 1_556_247, 1);
        near(inline, 712_550, 2);
        near(large, 650, 120);
        assert!((30..75).contains(&links), "{links}");
    }
}
