//! Directories, forks and attributes are in every form that the format has.

use super::clean::{NAMES, PIECES, RICH};
use super::common::{featured, forge, tools, xfs_db};
use forge::population::Population;

/// The lines of xfs_db for a field of every inode in use of these numbers.
fn formats(image: &std::path::Path, inodes: &[u64], field: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for ino in inodes {
        commands.push(format!("inode {ino}"));
        commands.push(format!("print {field}"));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    xfs_db(image, &commands)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Inodes in use, as xfs_db lists the names of the whole tree.
fn inodes(image: &std::path::Path) -> Vec<u64> {
    let text = xfs_db(image, &["blockget -n", "ncheck"]);
    let mut all: Vec<u64> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn every_form_is_made() {
    if !tools() {
        return;
    }
    for features in ["rmapbt", "nocrc"] {
        let image = forge(&featured("400M", features), RICH).unwrap();
        let all = inodes(&image.image);
        let directories: u64 = image.population.directories().into();
        assert_eq!(all.len() as u64, image.written.inodes, "{directories}");
        let data = formats(&image.image, &all, "core.format");
        for form in ["0 (dev)", "1 (local)", "2 (extents)", "3 (btree)"] {
            assert!(data.iter().any(|line| line.contains(form)), "{form}");
        }
        let attributes = formats(&image.image, &all, "core.aformat");
        for form in ["1 (local)", "2 (extents)"] {
            assert!(attributes.iter().any(|line| line.contains(form)), "{form}");
        }
    }
    let mut small = featured("400M", "nocrc");
    small.inode_size = Some(256);
    let image = forge(&small, PIECES).unwrap();
    let roots = formats(&image.image, &inodes(&image.image), "u.bmbt.level");
    for level in ["= 1", "= 2"] {
        assert!(roots.iter().any(|line| line.ends_with(level)), "{level}");
    }
    let image = forge(&featured("400M", ""), NAMES).unwrap();
    assert_eq!(
        count_names(&image.population),
        image.written.inodes as usize
    );
}

fn count_names(population: &Population) -> usize {
    (0..population.directories())
        .map(|directory| {
            let names = population.list(directory);
            let others = names
                .iter()
                .filter(|named| named.what != forge::population::Listed::LostAndFound);
            others.count()
        })
        .sum()
}
