//! The generated sets against the published figures.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::curve::percentile;
use super::shapes::{Shape, published};
use super::{Dataset, FileSet};

/// Seeds under which the shapes must hold: the default one and others.
const SEEDS: [u64; 3] = [2009, 1, 7];

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// As the published figures count them: `.hidden` for a leading dot and what follows the next.
fn extension(path: &str) -> String {
    let name = name(path);
    let (before, rest) = match name.strip_prefix('.') {
        Some(rest) => (".hidden", rest),
        None => ("", name),
    };
    match rest.rsplit_once('.') {
        Some((_, last)) => format!("{before}.{last}"),
        None if before.is_empty() => "(none)".into(),
        None => before.into(),
    }
}

fn text(set: &FileSet) -> Vec<(&str, u64)> {
    set.iter()
        .map(|(path, size)| (std::str::from_utf8(path).unwrap(), size))
        .collect()
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |p| p.0)
}

fn near(what: &str, ours: f64, published: f64, relative: f64, absolute: f64) {
    assert!(
        (ours - published).abs() <= absolute.max(published * relative),
        "{what}: {ours}, published {published}"
    );
}

/// Everything the published figures say of one set.
fn check(set: &FileSet, shape: &Shape) {
    let files = text(set);
    assert_eq!((files.len(), set.bytes()), (shape.files, shape.bytes));
    let unique: HashSet<&str> = files.iter().map(|f| f.0).collect();
    assert_eq!(unique.len(), shape.files, "names are unique");
    let mut sizes: Vec<u64> = files.iter().map(|f| f.1).collect();
    sizes.sort_unstable();
    assert_eq!(sizes.iter().filter(|s| **s == 0).count(), shape.empty);
    for (q, &size) in shape.quantiles.iter().enumerate() {
        near("size", percentile(&sizes, q as f64), size as f64, 0.05, 2.0);
    }
    let mut depths = vec![0; shape.depth.len()];
    let mut widths: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for (path, size) in &files {
        depths[path.matches('/').count()] += 1;
        *widths.entry(directory(path)).or_default() += 1;
        let kind = kinds.entry(extension(path)).or_default();
        *kind = (kind.0 + 1, kind.1 + size);
    }
    assert_eq!(depths, shape.depth);
    near(
        "directories",
        widths.len() as f64,
        shape.directories as f64,
        0.01,
        0.0,
    );
    let mut widths: Vec<u64> = widths.into_values().collect();
    widths.sort_unstable();
    for &(q, width) in &shape.files_per_directory {
        near(
            "files in a directory",
            percentile(&widths, q),
            width as f64,
            0.1,
            1.0,
        );
    }
    let mut lengths: Vec<u64> = files.iter().map(|f| name(f.0).len() as u64).collect();
    lengths.sort_unstable();
    for &(q, length) in shape
        .name_length
        .iter()
        .filter(|p| p.0 > 0.0 && p.0 < 100.0)
    {
        near(
            "name length",
            percentile(&lengths, q),
            length as f64,
            0.25,
            2.0,
        );
    }
    for (kind, files, bytes) in &shape.extensions {
        let ours = kinds.get(kind).copied().unwrap_or_default();
        near(
            &format!("{kind} files"),
            ours.0 as f64,
            *files as f64,
            0.03,
            15.0,
        );
        near(
            &format!("{kind} bytes"),
            ours.1 as f64,
            *bytes as f64,
            0.05,
            shape.bytes as f64 / 100.0,
        );
    }
}

#[test]
fn generated_sets_have_the_published_shapes() {
    let sets = published().sets;
    for seed in SEEDS {
        let data = Dataset::generated(1.0, seed);
        check(&data.unpatched, &sets.unpatched);
        check(&data.patch, &sets.patch);
        check(&data.compile, &sets.compile);
        check(&data.compile_patched, &sets.compile_patched);
        let parents = data.unpatched.directories() as f64 + 1.0;
        near(
            "with parents",
            parents,
            sets.unpatched.directories_and_parents as f64,
            0.01,
            0.0,
        );
    }
}

#[test]
fn generated_sets_overlap_as_published() {
    let data = Dataset::generated(1.0, 2009);
    let relations = published().relations;
    let compare = |base: &FileSet, delta: &FileSet| {
        let base: HashMap<&str, u64> = text(base).into_iter().collect();
        let (mut changed, mut new, mut read) = (0, 0, 0);
        for (path, size) in text(delta) {
            match base.get(path) {
                Some(before) => {
                    assert_ne!(*before, size, "{path} changes its size");
                    changed += 1;
                    read += before;
                }
                None => new += 1,
            }
        }
        (changed, new, read)
    };
    let (changed, new, read) = compare(&data.unpatched, &data.patch);
    assert_eq!(
        (changed, new),
        (relations.patch_changed, relations.patch_new)
    );
    // From the sums of the raw sets: changed and removed files of unpatched hold 110,901,014 bytes.
    near(
        "bytes that a patch reads",
        read as f64,
        110_901_014.0,
        0.1,
        0.0,
    );
    let (changed, new, _) = compare(&data.compile, &data.compile_patched);
    assert_eq!(changed, relations.compile_patched_changed);
    assert_eq!(new, relations.compile_patched_new);
    let sources: HashSet<&str> = text(&data.unpatched)
        .into_iter()
        .chain(text(&data.patch))
        .map(|f| f.0)
        .collect();
    for (path, _) in text(&data.compile)
        .into_iter()
        .chain(text(&data.compile_patched))
    {
        assert!(!sources.contains(path), "{path} is a source");
    }
    // No path is a file in one set and a directory in another.
    let all: HashSet<&str> = sources
        .into_iter()
        .chain(text(&data.compile).iter().map(|f| f.0))
        .collect();
    for path in &all {
        let mut above = directory(path);
        while !above.is_empty() {
            assert!(!all.contains(above), "{above} is a file and a directory");
            above = directory(above);
        }
    }
}

#[test]
fn scaled_sets_overlap_too() {
    for scale in [0.1, 0.02, 0.005, 0.001] {
        let data = Dataset::generated(scale, 2009);
        let pairs = [
            (&data.unpatched, &data.patch, 0.10),
            (&data.compile, &data.compile_patched, 0.04),
        ];
        for (base, delta, published) in pairs {
            let sizes: HashMap<&str, u64> = text(base).into_iter().collect();
            let both = text(delta).into_iter().filter(|f| sizes.contains_key(f.0));
            let (mut shared, mut equal) = (0, 0);
            for (path, size) in both {
                shared += 1;
                equal += usize::from(sizes[path] == size);
            }
            assert_eq!(equal, 0, "scale {scale}");
            let new = (delta.len() - shared) as f64;
            near(
                "new files",
                new,
                published * delta.len() as f64,
                0.0,
                0.01 * delta.len() as f64 + 1.0,
            );
        }
    }
}

#[test]
fn a_scale_shrinks_files_and_bytes_alike() {
    let sets = published().sets;
    for scale in [0.3, 0.02, 0.005, 0.001, 1e-9] {
        let data = Dataset::generated(scale, 2009);
        let pairs = [
            (&data.unpatched, &sets.unpatched),
            (&data.patch, &sets.patch),
            (&data.compile, &sets.compile),
            (&data.compile_patched, &sets.compile_patched),
        ];
        for (set, shape) in pairs {
            let files = (shape.files as f64 * scale).round().max(4.0);
            assert_eq!(set.len() as f64, files, "scale {scale}");
            let mean = set.bytes() as f64 / files;
            near(
                "mean size",
                mean,
                shape.bytes as f64 / shape.files as f64,
                0.001,
                1.0,
            );
            let paths: HashSet<&[u8]> = set.iter().map(|f| f.0).collect();
            assert_eq!(paths.len(), set.len());
        }
        assert_eq!(data.shuffle, 3262);
    }
}

#[test]
fn a_seed_gives_the_same_sets_again_and_another_other_ones() {
    let list = |seed| {
        let data = Dataset::generated(0.02, seed);
        data.compile
            .iter()
            .map(|(p, s)| (p.to_vec(), s))
            .collect::<Vec<_>>()
    };
    assert_eq!(list(7), list(7));
    assert_ne!(list(7), list(8));
}

#[test]
fn the_compile_set_is_shuffled() {
    let data = Dataset::generated(0.1, 2009);
    let paths: Vec<&[u8]> = data.compile.iter().map(|f| f.0).collect();
    assert!(!paths.is_sorted());
    let sorted = paths.windows(2).filter(|w| w[0] < w[1]).count() as f64 / paths.len() as f64;
    near("ascending neighbours", sorted, 0.5, 0.15, 0.0);
}

/// Written in the originals' form and read back, the sets are the same: the reduction of four trees
/// is the inverse of putting them together.
#[test]
fn the_reduction_gives_the_generated_sets_back() {
    let data = Dataset::generated(0.05, 2009);
    let list = |set: &FileSet| -> BTreeMap<String, u64> {
        text(set)
            .into_iter()
            .map(|(path, size)| (path.to_owned(), size))
            .collect()
    };
    let unpatched = list(&data.unpatched);
    let over = |base: &BTreeMap<String, u64>, set: &FileSet| {
        let mut both = base.clone();
        both.extend(list(set));
        both
    };
    let patched = over(&unpatched, &data.patch);
    let compiled = over(&unpatched, &data.compile);
    let patched_compiled = over(&over(&patched, &data.compile), &data.compile_patched);
    let folder = tempfile::tempdir().unwrap();
    let trees = [&unpatched, &patched, &compiled, &patched_compiled];
    for (name, tree) in super::sources::FILES.iter().zip(trees) {
        let lines: Vec<String> = tree
            .iter()
            .map(|(path, size)| format!("{path} {size}\n"))
            .collect();
        std::fs::write(folder.path().join(name), lines.concat()).unwrap();
    }
    let read = Dataset::read(folder.path(), 1.0).unwrap();
    assert_eq!(list(&read.unpatched), unpatched);
    assert_eq!(list(&read.patch), list(&data.patch));
    assert_eq!(list(&read.compile), list(&data.compile));
    assert_eq!(list(&read.compile_patched), list(&data.compile_patched));
    assert_eq!(read.shuffle, data.compile.len() - 1);
}
