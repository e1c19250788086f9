//! The four working sets, generated from the published shapes.
//!
//! The sets come in pairs, a base and a delta (U and P, UC and C), and a delta is made of changed
//! files of its base and of new ones. Both sides of a pair have published sizes, so a changed file
//! is a pair of sizes: every size of the delta takes the nearest size of the base that is not
//! equal, as a kernel's patch changes most files by little. (Drawing both sizes independently was
//! tried first: the patch then reads 60 MB where the original's reads about 104.) Then
//! directories get their files, files their extensions, and sizes go to files so that each
//! extension holds about its published bytes.
//!
//! Only the shapes are known, not the names, so what the shapes do not say is made up: which
//! directory holds which extension, and where small directories of compiled files are.

use std::collections::BTreeMap;

use super::curve::{shrink, sizes, thin};
use super::deal::{Matched, assign};
use super::layout::{Tree, by_depth, directories, widths};
use super::shapes::{Shape, Shapes};
use super::{FileSet, Sets};
use crate::tree::random::Random;

/// A set never shrinks below this, so that every operation has something to do.
const FEWEST: usize = 4;

/// Extensions of the files that the shapes count under none by name.
const OTHERS: [&str; 6] = [".lds", ".c_shipped", ".h_shipped", ".seq", ".ppm", ".cpu"];

/// What a set has to look like at the scale in force.
struct Target<'a> {
    shape: &'a Shape,
    files: usize,
    sizes: Vec<u64>,
    scale: f64,
}

impl<'a> Target<'a> {
    fn new(shape: &'a Shape, scale: f64) -> Self {
        let files = ((shape.files as f64 * scale).round() as usize)
            .max(FEWEST)
            .min(shape.files);
        Target {
            shape,
            files,
            sizes: thin(&sizes(shape), files),
            scale,
        }
    }

    /// Directories' files by depth. The same generator state for a base and its delta puts the
    /// fullest directories of both at the same depths, so that the delta's fit into the base's.
    fn layout(&self, mut random: Random) -> Vec<Vec<usize>> {
        let count = directories(self.shape, self.scale, self.files);
        let depths = shrink(&self.shape.depth, self.files);
        by_depth(widths(self.shape, count, self.files), &depths, &mut random)
    }

    /// Files and bytes by extension.
    fn extensions(&self) -> BTreeMap<&'a str, (usize, i64)> {
        let named = &self.shape.extensions;
        let mut counts: Vec<usize> = named.iter().map(|e| e.1).collect();
        let mut bytes: Vec<u64> = named.iter().map(|e| e.2).collect();
        let (rest, rest_bytes) = (
            self.shape.files - counts.iter().sum::<usize>(),
            self.shape.bytes - bytes.iter().sum::<u64>(),
        );
        for k in 0..OTHERS.len() {
            counts.push((rest + k) / OTHERS.len());
            bytes.push(rest_bytes / OTHERS.len() as u64);
        }
        let names = named.iter().map(|e| e.0.as_str()).chain(OTHERS);
        let ratio = self.files as f64 / self.shape.files as f64;
        let bytes = bytes.iter().map(|b| (*b as f64 * ratio) as i64);
        names
            .zip(shrink(&counts, self.files).into_iter().zip(bytes))
            .collect()
    }

    /// Lengths of names, in random order, with the published percentiles.
    fn name_lengths(&self, n: usize, random: &mut Random) -> Vec<usize> {
        let points = &self.shape.name_length;
        let mut lengths: Vec<usize> = (0..n)
            .map(|k| {
                let percent = (k as f64 + 0.5) / n as f64 * 100.0;
                let right = points
                    .partition_point(|p| p.0 < percent)
                    .clamp(1, points.len() - 1);
                let (left, right) = (points[right - 1], points[right]);
                let part = (percent - left.0) / (right.0 - left.0);
                let (low, high) = (left.1 as f64, right.1 as f64);
                (low + (high - low) * part).round() as usize
            })
            .collect();
        random.shuffle(&mut lengths);
        lengths
    }
}

/// A file of a base, of its delta, or of both.
struct Entry<'a> {
    dir: u32,
    extension: &'a str,
    base: Option<u64>,
    delta: Option<u64>,
    name: String,
}

/// Generates the sets at `scale` (0 < scale <= 1) from `seed`.
pub(super) fn generate(shapes: &Shapes, scale: f64, seed: u64) -> Sets {
    let mut random = Random::new(seed);
    let mut tree = Tree::new();
    let relations = shapes.relations;
    let base = Target::new(&shapes.sets.unpatched, scale);
    let delta = Target::new(&shapes.sets.patch, scale);
    let alike = random.clone();
    let dirs = fresh_directories(&base, &mut tree, &mut random);
    let new = part(relations.patch_new, shapes.sets.patch.files, &delta, &base);
    let changes = touched(&dirs, &delta.layout(alike), new, &mut tree, &mut random);
    let sources = pair(&base, &delta, &dirs, &changes, &mut tree, &mut random);

    let base = Target::new(&shapes.sets.compile, scale);
    let delta = Target::new(&shapes.sets.compile_patched, scale);
    let alike = random.clone();
    let dirs = compiled_directories(&base, &dirs, &mut tree, &mut random);
    let of = shapes.sets.compile_patched.files;
    let new = part(relations.compile_patched_new, of, &delta, &base);
    let changes = touched(&dirs, &delta.layout(alike), new, &mut tree, &mut random);
    let objects = pair(&base, &delta, &dirs, &changes, &mut tree, &mut random);
    Sets {
        unpatched: collect(&sources, |e| e.base),
        patch: collect(&sources, |e| e.delta),
        compile: collect(&objects, |e| e.base),
        compile_patched: collect(&objects, |e| e.delta),
    }
}

/// How many files of `delta` are new: in proportion, and at least what does not fit in `base`.
fn part(new: usize, of: usize, delta: &Target, base: &Target) -> usize {
    let new = (new as f64 / of as f64 * delta.files as f64).round() as usize;
    new.max(delta.files.saturating_sub(base.files))
}

fn collect(entries: &[Entry], size: impl Fn(&Entry) -> Option<u64>) -> FileSet {
    let mut set = FileSet::new(
        entries
            .iter()
            .filter_map(|e| size(e).map(|size| (e.name.as_bytes(), size))),
    );
    set.reorder(&set.path_order());
    set
}

/// Directories with the files they get, by depth and descending.
type Filled = Vec<Vec<(u32, usize)>>;

/// Makes the directories of a fresh tree, and the few that only hold directories.
fn fresh_directories(base: &Target, tree: &mut Tree, random: &mut Random) -> Filled {
    let layout = base.layout(random.clone());
    let extra = base.shape.directories_and_parents - base.shape.directories;
    let extra = (extra as f64 * base.scale).round() as usize;
    let deep: Vec<usize> = layout.iter().map(Vec::len).skip(2).collect();
    let empty = shrink(
        &deep,
        if deep.iter().sum::<usize>() > 0 {
            extra
        } else {
            0
        },
    );
    let mut filled = Filled::new();
    for (depth, widths) in layout.into_iter().enumerate() {
        // A directory of this depth that leads to each empty one above, which so gets a child.
        let wanted = depth.checked_sub(2).map_or(0, |d| empty[d]);
        let mut parents = (0..wanted)
            .map(|_| tree.add(depth - 1, None, random))
            .collect::<Vec<_>>();
        let dirs = widths
            .into_iter()
            .map(|width| (tree.add(depth, parents.pop(), random), width));
        filled.push(dirs.collect());
    }
    filled
}

/// Where compiled files are: in the directories of the sources, fullest in fullest; directories of
/// one or two compiled files (a kernel's `include/config`) are new.
fn compiled_directories(
    base: &Target,
    sources: &Filled,
    tree: &mut Tree,
    random: &mut Random,
) -> Filled {
    let layout = base.layout(random.clone());
    let mut filled = Filled::new();
    for (depth, widths) in layout.into_iter().enumerate() {
        let mut old = sources.get(depth).into_iter().flatten().map(|d| d.0);
        let place = |width: usize| {
            let old = if width > 2 || depth == 0 {
                old.next()
            } else {
                None
            };
            (old.unwrap_or_else(|| tree.add(depth, None, random)), width)
        };
        filled.push(widths.into_iter().map(place).collect());
    }
    filled
}

/// A base and its delta.
fn pair<'a>(
    base: &Target<'a>,
    delta: &Target<'a>,
    dirs: &Filled,
    changes: &[Change],
    tree: &mut Tree,
    random: &mut Random,
) -> Vec<Entry<'a>> {
    let mut entries = slots(base, dirs, random);
    let fresh = choose(&mut entries, delta, changes, random);
    entries.extend(fresh);
    fill(&mut entries, base, delta, random);
    let mut lengths = base.name_lengths(entries.len(), random).into_iter();
    for entry in &mut entries {
        let length = lengths.next().unwrap_or(9);
        entry.name = tree.name(entry.dir, entry.extension, length, random);
    }
    entries
}

/// What a delta does to a directory.
struct Change {
    dir: u32,
    changed: usize,
    new: usize,
}

/// Lays a delta's directories over those of its base, fullest over fullest at the same depth, and
/// settles how many of their files are new: exactly `new` together.
fn touched(
    dirs: &Filled,
    layout: &[Vec<usize>],
    new: usize,
    tree: &mut Tree,
    random: &mut Random,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut room = Vec::new();
    for (depth, widths) in layout.iter().enumerate() {
        let mut below = dirs.get(depth).into_iter().flatten();
        for &width in widths {
            let (dir, capacity) = match below.next() {
                Some(&dir) => dir,
                None => (tree.add(depth, None, random), 0),
            };
            let changed = width.min(capacity);
            let new = width - changed;
            changes.push(Change { dir, changed, new });
            room.push((depth, capacity));
        }
    }
    let mut have: usize = changes.iter().map(|c| c.new).sum();
    while have < new {
        let change = &mut changes[random.index(room.len())];
        let one = usize::from(change.changed > 0);
        change.changed -= one;
        change.new += one;
        have += one;
    }
    while have > new && move_one(&mut changes, &room) {
        have -= 1;
    }
    changes
}

/// Moves one new file from where it does not fit to a directory whose base still has unchanged
/// files, of the same depth if there is one. The base has fewer files than asked when it fails.
fn move_one(changes: &mut [Change], room: &[(usize, usize)]) -> bool {
    let Some(from) = (0..changes.len()).find(|&i| changes[i].new > 0) else {
        return false;
    };
    let depth = room[from].0;
    let open = |i: &usize| changes[*i].changed < room[*i].1;
    let fewest = |&i: &usize| {
        (
            room[i].0.abs_diff(depth),
            changes[i].changed + changes[i].new,
        )
    };
    let to = (0..changes.len()).filter(open).min_by_key(fewest);
    if let Some(to) = to {
        changes[from].new -= 1;
        changes[to].changed += 1;
    }
    to.is_some()
}

/// The base's files, in directory order, with extensions dealt at random; small directories get
/// headers first where headers are what is empty (a compile's `include/config`).
fn slots<'a>(base: &Target<'a>, dirs: &Filled, random: &mut Random) -> Vec<Entry<'a>> {
    let mut extensions: Vec<&'a str> = Vec::with_capacity(base.files);
    for (name, (files, _)) in base.extensions() {
        extensions.extend(std::iter::repeat_n(name, files));
    }
    random.shuffle(&mut extensions);
    let mut flat: Vec<(u32, usize)> = dirs.iter().flatten().copied().collect();
    if base.shape.empty > 0 {
        extensions.sort_by_key(|e| *e == ".h");
        flat.sort_by_key(|d| std::cmp::Reverse(d.1));
    }
    let places = flat
        .iter()
        .flat_map(|&(dir, width)| std::iter::repeat_n(dir, width));
    places
        .zip(extensions)
        .map(|(dir, extension)| Entry {
            dir,
            extension,
            base: None,
            delta: None,
            name: String::new(),
        })
        .collect()
}

/// Marks which files of the base change (their `delta` becomes 0), with the extensions that the
/// delta has, and returns the new ones, whose extensions make up what is missing.
fn choose<'a>(
    entries: &mut [Entry<'a>],
    delta: &Target<'a>,
    changes: &[Change],
    random: &mut Random,
) -> Vec<Entry<'a>> {
    let mut need: BTreeMap<&str, i64> = delta
        .extensions()
        .iter()
        .map(|(name, e)| (*name, e.0 as i64))
        .collect();
    let mut have: BTreeMap<&str, i64> = BTreeMap::new();
    let mut by_dir: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, entry) in entries.iter().enumerate() {
        *have.entry(entry.extension).or_default() += 1;
        by_dir.entry(entry.dir).or_default().push(i);
    }
    for change in changes {
        let mut open = by_dir.get(&change.dir).cloned().unwrap_or_default();
        for _ in 0..change.changed {
            let weight = |i: &usize| {
                let extension = entries[*i].extension;
                let need = need.get(extension).copied().unwrap_or(0).max(0) as f64;
                need / have.get(extension).copied().unwrap_or(1).max(1) as f64 + 1e-6
            };
            let Some(at) = weighted(&open, weight, random) else {
                break;
            };
            let i = open.swap_remove(at);
            *need.entry(entries[i].extension).or_default() -= 1;
            *have.entry(entries[i].extension).or_default() -= 1;
            entries[i].delta = Some(0);
        }
    }
    exchange(entries, &mut need);
    let mut missing: Vec<&str> = need
        .iter()
        .flat_map(|(name, n)| std::iter::repeat_n(*name, (*n).max(0) as usize))
        .collect();
    random.shuffle(&mut missing);
    let places = changes
        .iter()
        .flat_map(|c| std::iter::repeat_n(c.dir, c.new));
    places
        .zip(missing.into_iter().chain(std::iter::repeat("(none)")))
        .map(|(dir, extension)| Entry {
            dir,
            extension,
            base: None,
            delta: Some(0),
            name: String::new(),
        })
        .collect()
}

/// Where too many files of an extension change, an unchanged file elsewhere whose extension still
/// needs changed ones takes its place: the two exchange extensions, for they have no names yet.
fn exchange<'a>(entries: &mut [Entry<'a>], need: &mut BTreeMap<&'a str, i64>) {
    let mut unchanged: BTreeMap<&'a str, Vec<usize>> = BTreeMap::new();
    for (i, entry) in entries
        .iter()
        .enumerate()
        .filter(|(_, e)| e.delta.is_none())
    {
        unchanged.entry(entry.extension).or_default().push(i);
    }
    for from in 0..entries.len() {
        let over = entries[from].extension;
        if entries[from].delta.is_none() || need.get(over).is_none_or(|n| *n >= 0) {
            continue;
        }
        let short = unchanged
            .iter_mut()
            .find(|(name, files)| need.get(**name).is_some_and(|n| *n > 0) && !files.is_empty());
        let Some((&under, files)) = short else {
            return;
        };
        if let Some(to) = files.pop() {
            entries[from].extension = under;
            entries[to].extension = over;
            *need.entry(over).or_default() += 1;
            *need.entry(under).or_default() -= 1;
        }
    }
}

/// The place of one of `items`, drawn by weight.
fn weighted(items: &[usize], weight: impl Fn(&usize) -> f64, random: &mut Random) -> Option<usize> {
    let mut at = random.random() * items.iter().map(&weight).sum::<f64>();
    for (place, item) in items.iter().enumerate() {
        at -= weight(item);
        if at <= 0.0 {
            return Some(place);
        }
    }
    items.len().checked_sub(1)
}

/// Gives every file its size, or sizes.
fn fill(entries: &mut [Entry], base: &Target, delta: &Target, random: &mut Random) {
    let of = base.files; // entries below are the base's, those above are new
    let changed: Vec<usize> = (0..of).filter(|&i| entries[i].delta.is_some()).collect();
    let unchanged: Vec<usize> = (0..of).filter(|&i| entries[i].delta.is_none()).collect();
    let new: Vec<usize> = (of..entries.len()).collect();
    let matched = Matched::new(&base.sizes, &delta.sizes, new.len(), random);

    let mut wanted: BTreeMap<&str, i64> = delta
        .extensions()
        .into_iter()
        .map(|(name, e)| (name, e.1))
        .collect();
    let share: BTreeMap<&str, i64> = wanted
        .iter()
        .map(|(name, bytes)| (*name, bytes * new.len() as i64 / delta.files.max(1) as i64))
        .collect();
    let order = assign(&names(entries, &new), &matched.new, share, random);
    for (&i, item) in new.iter().zip(order) {
        entries[i].delta = Some(matched.new[item]);
        *wanted.entry(entries[i].extension).or_default() -= matched.new[item] as i64;
    }
    let after: Vec<u64> = matched.changed.iter().map(|c| c.1).collect();
    let order = assign(&names(entries, &changed), &after, wanted, random);
    let mut wanted: BTreeMap<&str, i64> = base
        .extensions()
        .into_iter()
        .map(|(name, e)| (name, e.1))
        .collect();
    for (&i, item) in changed.iter().zip(order) {
        let (before, after) = matched.changed[item];
        (entries[i].base, entries[i].delta) = (Some(before), Some(after));
        *wanted.entry(entries[i].extension).or_default() -= before as i64;
    }
    let order = assign(
        &names(entries, &unchanged),
        &matched.unchanged,
        wanted,
        random,
    );
    for (&i, item) in unchanged.iter().zip(order) {
        entries[i].base = Some(matched.unchanged[item]);
    }
}

fn names<'a>(entries: &[Entry<'a>], of: &[usize]) -> Vec<&'a str> {
    of.iter().map(|&i| entries[i].extension).collect()
}
