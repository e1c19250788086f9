//! Directories: how many, how deep, how full, and their names.

use std::collections::HashSet;

use super::curve::{Stretch, knots, pinned, shrink, thin};
use super::shapes::Shape;
use crate::tree::random::Random;

/// Files in each directory, ascending, with the published percentiles: `count` directories that
/// hold `files` files together, none of them empty.
pub(super) fn widths(shape: &Shape, count: usize, files: usize) -> Vec<usize> {
    let knots = knots(&shape.files_per_directory, shape.directories);
    let widest = shape
        .files_per_directory
        .iter()
        .map(|q| q.1)
        .max()
        .unwrap_or(1);
    let pinned = pinned(&shape.files_per_directory, shape.directories);
    let whole = Stretch {
        knots: &knots,
        range: 0..shape.directories,
        bounds: (1, widest),
        known: &|at| pinned.get(&at).copied(),
        total: shape.files as u64,
    };
    let thinned = thin(&whole.solve(), count);
    let mut widths: Vec<usize> = thinned.iter().map(|w| (*w as usize).max(1)).collect();
    even_out(&mut widths, files);
    widths
}

/// Adds to or takes from the fullest directories until they hold `files` together.
fn even_out(widths: &mut [usize], files: usize) {
    loop {
        let held: usize = widths.iter().sum();
        let half = widths.len() / 2;
        if held == files || (held > files && widths.iter().all(|w| *w == 1)) {
            return;
        }
        let mut missing = held.abs_diff(files);
        for width in widths[half..].iter_mut().rev() {
            if missing == 0 {
                break;
            }
            if held < files {
                *width += 1;
                missing -= 1;
            } else if *width > 1 {
                *width -= 1;
                missing -= 1;
            }
        }
        widths.sort_unstable();
        if held > files && widths[half..].iter().all(|w| *w == 1) {
            // The upper half is down to one file each: go on with the lower half.
            widths.reverse();
        }
    }
}

/// How many directories a set of `files` files gets at `scale`: in proportion, at least one for
/// every depth that has files, never more than there are files.
pub(super) fn directories(shape: &Shape, scale: f64, files: usize) -> usize {
    let depths = shrink(&shape.depth, files);
    let least = depths.iter().filter(|d| **d > 0).count();
    let wanted = (shape.directories as f64 * scale).round() as usize;
    wanted.max(least).min(files)
}

/// Distributes directories with the given numbers of files over depths, so that every depth holds
/// exactly its files: by depth, the files of each directory, descending. There is one directory at
/// depth 0, the top. Numbers change by a few files where they do not fit together.
pub(super) fn by_depth(
    mut widths: Vec<usize>,
    depths: &[usize],
    random: &mut Random,
) -> Vec<Vec<usize>> {
    let mut left = depths.to_vec();
    let mut out = vec![Vec::new(); depths.len()];
    widths.sort_unstable_by(|a, b| b.cmp(a));
    let mut spare = place_firsts(&mut widths, &mut left, &mut out);
    for width in widths {
        // Files that an earlier directory could not hold, or had to borrow.
        let want = width as i64 + spare.min(0);
        spare -= spare.min(0);
        let want = if want < 1 {
            spare += want - 1;
            1
        } else {
            want as usize
        };
        let depth = draw_depth(&left, want, random);
        let width = want.min(left[depth]);
        spare += (want - width) as i64;
        left[depth] -= width;
        if width > 0 {
            out[depth].push(width);
        }
    }
    for (depth, rest) in left.iter().enumerate() {
        for k in 0..*rest {
            match out[depth].len() {
                0 => out[depth].push(1),
                n => out[depth][k % n] += 1,
            }
        }
        out[depth].sort_unstable_by(|a, b| b.cmp(a));
    }
    out
}

/// Gives every depth that has files one directory of about the right number, the top its own.
/// Returns how many files of the directories taken are placed nowhere yet (negative: borrowed).
fn place_firsts(widths: &mut Vec<usize>, left: &mut [usize], out: &mut [Vec<usize>]) -> i64 {
    let mut spare = 0;
    let mut depths: Vec<usize> = (0..left.len()).filter(|&d| left[d] > 0).collect();
    depths.sort_by_key(|&d| (d != 0, left[d]));
    for depth in depths {
        let fits =
            |w: &usize| w.abs_diff(left[depth]) + usize::from(*w > left[depth]) * left[depth];
        let Some(at) = (0..widths.len()).min_by_key(|&i| fits(&widths[i])) else {
            return spare;
        };
        let width = widths.remove(at);
        let placed = if depth == 0 {
            left[0]
        } else {
            width.min(left[depth])
        };
        spare += width as i64 - placed as i64;
        left[depth] -= placed;
        out[depth].push(placed);
    }
    spare
}

/// A depth that still has room for `width` files, by its share of the room; the roomiest when
/// none has enough.
fn draw_depth(left: &[usize], width: usize, random: &mut Random) -> usize {
    let room: usize = left.iter().filter(|l| **l >= width).sum();
    if room == 0 {
        return (0..left.len()).max_by_key(|&d| left[d]).unwrap_or(0);
    }
    let mut at = random.index(room);
    for (depth, &l) in left.iter().enumerate().filter(|(_, l)| **l >= width) {
        if at < l {
            return depth;
        }
        at -= l;
    }
    0
}

/// The directories of all sets, and every name that is taken.
pub(super) struct Tree {
    /// Paths with a slash at the end; the top, empty, is the first.
    pub(super) paths: Vec<String>,
    by_depth: Vec<Vec<u32>>,
    taken: HashSet<String>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Tree {
            paths: vec![String::new()],
            by_depth: vec![vec![0]],
            taken: HashSet::new(),
        }
    }

    /// A new directory at `depth`, in a directory above that is drawn with a preference for early
    /// ones (as `drivers` and `include` hold most of a kernel's), or in `parent`.
    pub(super) fn add(&mut self, depth: usize, parent: Option<u32>, random: &mut Random) -> u32 {
        if depth == 0 {
            return 0;
        }
        if self.by_depth.len() <= depth {
            self.by_depth.resize(depth + 1, Vec::new());
        }
        if self.by_depth[depth - 1].is_empty() {
            self.add(depth - 1, None, random);
        }
        let above = &self.by_depth[depth - 1];
        let drawn = above[(random.random().powi(2) * above.len() as f64) as usize];
        let length = random.randint(3, 9) as usize;
        let path = self.name(parent.unwrap_or(drawn), "(none)", length, random) + "/";
        let dir = self.paths.len() as u32;
        self.paths.push(path);
        self.by_depth[depth].push(dir);
        dir
    }

    /// A free path in `dir` whose last part has about `length` bytes and the extension, which is
    /// written as in the shapes: `(none)`, `.c`, `.hidden` (a leading dot), `.hidden.cmd`.
    pub(super) fn name(
        &mut self,
        dir: u32,
        extension: &str,
        length: usize,
        random: &mut Random,
    ) -> String {
        let (before, after) = match extension.strip_prefix(".hidden") {
            Some(rest) => (".", rest),
            None if extension == "(none)" => ("", ""),
            None => ("", extension),
        };
        let mut stem = length.saturating_sub(before.len() + after.len()).max(1);
        for attempt in 1.. {
            let mut path = self.paths[dir as usize].clone();
            path.push_str(before);
            path.extend((0..stem).map(|k| letter(k, random)));
            path.push_str(after);
            if self.taken.insert(path.clone()) {
                return path;
            }
            stem += usize::from(attempt % 4 == 0);
        }
        unreachable!("a longer name is always free")
    }
}

fn letter(at: usize, random: &mut Random) -> char {
    const LETTERS: &[u8; 38] = b"etaoinsrhdlucmfywgpbvkxqjz0123456789_-";
    let range = if at == 0 { 26 } else { LETTERS.len() };
    char::from(LETTERS[random.index(range)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::dataset::curve::percentile;
    use crate::tree::dataset::shapes::published;

    #[test]
    fn widths_have_the_published_percentiles() {
        let sets = published().sets;
        for shape in [
            sets.unpatched,
            sets.patch,
            sets.compile,
            sets.compile_patched,
        ] {
            let widths = widths(&shape, shape.directories, shape.files);
            assert_eq!(widths.len(), shape.directories);
            assert_eq!(widths.iter().sum::<usize>(), shape.files);
            let sorted: Vec<u64> = widths.iter().map(|w| *w as u64).collect();
            for &(percent, published) in &shape.files_per_directory {
                let (ours, published) = (percentile(&sorted, percent), published as f64);
                assert!(
                    (ours - published).abs() <= 1.0_f64.max(published * 0.05),
                    "percentile {percent}: {ours} for {published}"
                );
            }
        }
    }

    #[test]
    fn depths_hold_exactly_their_files_at_any_scale() {
        let sets = published().sets;
        for shape in [
            sets.unpatched,
            sets.patch,
            sets.compile,
            sets.compile_patched,
        ] {
            for scale in [1.0, 0.5, 0.03, 0.005, 0.0005] {
                let files = ((shape.files as f64 * scale) as usize).max(4);
                let depths = shrink(&shape.depth, files);
                let count = directories(&shape, scale, files);
                let widths = widths(&shape, count, files);
                let out = by_depth(widths, &depths, &mut Random::new(1));
                let held: Vec<usize> = out.iter().map(|d| d.iter().sum()).collect();
                assert_eq!(held, depths, "scale {scale}");
                assert!(out.iter().flatten().all(|w| *w > 0));
                let made: usize = out.iter().map(Vec::len).sum();
                assert!(
                    made.abs_diff(count) * 100 <= count,
                    "{made} directories for {count}"
                );
                assert!(out[0].len() <= 1);
            }
        }
    }

    #[test]
    fn names_are_free_and_have_their_extension() {
        let (mut tree, mut random) = (Tree::new(), Random::new(7));
        let dir = tree.add(2, None, &mut random);
        assert_eq!(tree.paths[dir as usize].matches('/').count(), 2);
        let mut seen = HashSet::new();
        for _ in 0..300 {
            let name = tree.name(dir, ".c", 3, &mut random);
            assert!(name.strip_suffix(".c").is_some() && seen.insert(name));
        }
        let hidden = tree.name(dir, ".hidden.cmd", 12, &mut random);
        let file = hidden.rsplit('/').next().unwrap();
        assert_eq!((&file[..1], &file[8..], file.len()), (".", ".cmd", 12));
        assert!(!tree.name(0, "(none)", 8, &mut random).contains('.'));
    }
}
