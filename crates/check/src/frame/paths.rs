//! Paths of the inodes that findings name.
//!
//! An inode number means nothing to a user, and names are not kept while directories are checked: a hundred million
//! of them would not fit. So they are looked up afterwards, for the inodes of findings alone: the checker sweeps its directories once more
//! for entries that name one of them, and reads the names of the directories above from their parents.

use std::collections::{BTreeMap, BTreeSet};

use super::log::Findings;

/// Inodes that are looked up at most.
const WANTED: usize = 20_000;
/// Depth of a path at most; more is a loop, or as good as one.
const DEPTH: usize = 1024;

/// Where an inode is named: the directory, and the name in it.
pub(crate) type Names = BTreeMap<u64, (u64, Vec<u8>)>;

/// The inodes that findings name and that a name may lead to.
pub(crate) fn wanted(findings: &Findings, has_name: impl Fn(u64) -> bool) -> BTreeSet<u64> {
    let mut wanted = BTreeSet::new();
    for finding in &findings.list {
        let ino = finding.place.directory.or(finding.place.inode);
        wanted.extend(ino.filter(|ino| has_name(*ino)));
        if wanted.len() >= WANTED {
            break;
        }
    }
    wanted
}

/// The directories on the way from the wanted inodes to the root, and the directories that have the entries for them. `parent` is the
/// parent of a directory; none for the root, for what is no directory, and where it is not known.
pub(crate) fn above(
    wanted: &BTreeSet<u64>,
    names: &Names,
    parent: impl Fn(u64) -> Option<u64>,
) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let (mut children, mut parents) = (BTreeSet::new(), BTreeSet::new());
    for ino in wanted {
        let mut at = names.get(ino).map_or(*ino, |(directory, _)| *directory);
        for _ in 0..DEPTH {
            let Some(parent) = parent(at) else { break };
            if !children.insert(at) {
                break;
            }
            parents.insert(parent);
            at = parent;
        }
    }
    (children, parents)
}

/// The directories that these lead down to, themselves included. `parent` is the parent of a directory, as for [`above`].
pub(crate) fn below(
    roots: &BTreeSet<u64>,
    directories: impl Iterator<Item = u64>,
    parent: impl Fn(u64) -> Option<u64>,
) -> BTreeSet<u64> {
    let (mut below, mut other) = (roots.clone(), BTreeSet::new());
    let mut way = Vec::new();
    for ino in directories {
        let mut at = Some(ino);
        let is_below = loop {
            match at {
                Some(ino) if below.contains(&ino) => break true,
                Some(ino) if !other.contains(&ino) && way.len() < DEPTH => {
                    way.push(ino);
                    other.insert(ino);
                    at = parent(ino);
                }
                _ => break false,
            }
        };
        for ino in way.drain(..) {
            if is_below {
                other.remove(&ino);
                below.insert(ino);
            }
        }
    }
    below
}

/// Fills in the paths of the findings; how many inodes have one.
pub(crate) fn fill(findings: &mut Findings, names: &Names, root: u64) -> u64 {
    let mut found = BTreeSet::new();
    for finding in &mut findings.list {
        let place = &finding.place;
        let path = match (place.directory, &place.name, place.inode) {
            // The path of an entry is its own, whatever it leads to.
            (Some(directory), Some(name), _) => path(directory, names, root).map(|mut path| {
                if path != "/" {
                    path.push('/');
                }
                path + name
            }),
            (Some(ino), None, _) | (None, _, Some(ino)) => path(ino, names, root),
            (None, _, None) => None,
        };
        if path.is_some() {
            found.insert(place.inode.or(place.directory));
        }
        finding.path = path;
    }
    found.len() as u64
}

/// From the root down, or from the inode that no name leads to: `<12>/a`, as debugfs takes it.
pub(crate) fn path(ino: u64, names: &Names, root: u64) -> Option<String> {
    let (mut at, mut parts) = (ino, Vec::new());
    let mut path = String::new();
    while at != root {
        let Some((parent, name)) = names.get(&at) else {
            if parts.is_empty() {
                return None;
            }
            path = format!("<{at}>");
            break;
        };
        parts.push(String::from_utf8_lossy(name));
        if parts.len() > DEPTH {
            return None;
        }
        at = *parent;
    }
    for part in parts.iter().rev() {
        path.push('/');
        path.push_str(part);
    }
    Some(if path.is_empty() { "/".into() } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_from_the_root_or_is_none() {
        let name = |parent, name: &str| (parent, name.as_bytes().to_vec());
        let names = Names::from([
            (12, name(2, "home")),
            (13, name(12, "file")),
            (20, name(21, "a")),
            (21, name(20, "b")),
        ]);
        let path = |ino| path(ino, &names, 2);
        assert_eq!(path(2).as_deref(), Some("/"));
        assert_eq!(path(13).as_deref(), Some("/home/file"));
        assert_eq!((path(14), path(20)), (None, None));
        let lost = Names::from([(13, name(12, "file"))]);
        assert_eq!(super::path(13, &lost, 2).as_deref(), Some("<12>/file"));
    }
}
