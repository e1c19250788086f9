//! Which file takes which size.
//!
//! First the sizes of a base and a delta are sorted into pairs (changed files), sizes that stay and
//! sizes that are new; then each of these lists is dealt to files, so that every extension holds
//! about the bytes that are published for it.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::random::Random;

/// The sizes of a base and its delta, sorted out.
pub(super) struct Matched {
    /// (before, after), never equal.
    pub(super) changed: Vec<(u64, u64)>,
    /// Sizes of the base's other files.
    pub(super) unchanged: Vec<u64>,
    /// Sizes of the delta's new files.
    pub(super) new: Vec<u64>,
}

impl Matched {
    /// `new` of the delta's sizes go to new files: the empty ones, then any but the largest.
    /// The others, from the largest down, take the nearest size of the base that is left.
    pub(super) fn new(base: &[u64], delta: &[u64], new: usize, random: &mut Random) -> Matched {
        let largest = delta.len() - (delta.len() / 4).min(20);
        let mut order: Vec<usize> = (0..delta.len()).collect();
        random.shuffle(&mut order);
        order.sort_by_key(|&i| (delta[i] > 0, i >= largest));
        let mut chosen: Vec<usize> = order.split_off(new.min(order.len()));
        let fresh: Vec<u64> = order.iter().map(|&i| delta[i]).collect();
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        let mut left: BTreeSet<usize> = (0..base.len()).collect();
        let mut changed = Vec::with_capacity(chosen.len());
        for after in chosen.into_iter().map(|i| delta[i]) {
            let at = base.partition_point(|b| *b < after);
            let above = left.range(at..).find(|&&i| base[i] != after);
            let below = left.range(..at).next_back();
            let nearest = above
                .into_iter()
                .chain(below)
                .min_by_key(|&&i| base[i].abs_diff(after));
            if let Some(&i) = nearest.or(left.first()) {
                left.remove(&i);
                changed.push((base[i], after));
            }
        }
        Matched {
            changed,
            unchanged: left.into_iter().map(|i| base[i]).collect(),
            new: fresh,
        }
    }
}

/// Which size each file takes (by place in `sizes`), so that every extension holds about `wanted`
/// bytes: the largest sizes go where most bytes are missing for each file, the others at random,
/// and then pairs are swapped as long as that helps.
pub(super) fn assign<'a>(
    files: &[&'a str],
    sizes: &[u64],
    mut wanted: BTreeMap<&'a str, i64>,
    random: &mut Random,
) -> Vec<usize> {
    let ids: BTreeMap<&str, usize> = files.iter().copied().zip(0..).collect();
    let kinds: Vec<&str> = ids.keys().copied().collect();
    let ids: BTreeMap<&str, usize> = kinds.iter().copied().zip(0..).collect();
    let of: Vec<usize> = files.iter().map(|name| ids[name]).collect();
    let mut missing: Vec<i64> = kinds
        .iter()
        .map(|k| wanted.remove(k).unwrap_or(0))
        .collect();

    let mut open: Vec<Vec<usize>> = vec![Vec::new(); kinds.len()];
    let mut order: Vec<usize> = (0..files.len()).collect();
    random.shuffle(&mut order);
    for file in order {
        open[of[file]].push(file);
    }
    let mut items: Vec<usize> = (0..sizes.len()).collect();
    items.sort_unstable_by_key(|&i| std::cmp::Reverse(sizes[i]));
    let rest = items.split_off(items.len().min(40));
    let mut taken = vec![usize::MAX; files.len()];
    for item in items {
        let size = sizes[item] as i64;
        let mean = |k: usize| missing[k] / open[k].len() as i64;
        let fits = |k: &usize| !open[*k].is_empty();
        let best = (0..kinds.len())
            .filter(fits)
            .max_by_key(|&k| (missing[k] >= size, mean(k)));
        let Some((kind, file)) = best.and_then(|k| Some((k, open[k].pop()?))) else {
            break;
        };
        taken[file] = item;
        missing[kind] -= size;
    }
    let mut free: Vec<usize> = open.into_iter().flatten().collect();
    random.shuffle(&mut free);
    for (&file, item) in free.iter().zip(rest) {
        taken[file] = item;
        missing[of[file]] -= sizes[item] as i64;
    }
    swap_towards(&mut taken, &of, sizes, &mut missing, &free, random);
    taken
}

/// Swaps sizes between files of different extensions as long as it brings both nearer.
fn swap_towards(
    taken: &mut [usize],
    of: &[usize],
    sizes: &[u64],
    missing: &mut [i64],
    free: &[usize],
    random: &mut Random,
) {
    if free.len() < 2 {
        return;
    }
    for _ in 0..free.len() * 40 {
        let (a, b) = (
            free[random.index(free.len())],
            free[random.index(free.len())],
        );
        if of[a] == of[b] {
            continue;
        }
        let gain = sizes[taken[b]] as i64 - sizes[taken[a]] as i64; // what a's kind gets
        let (ka, kb) = (of[a], of[b]);
        let now = missing[ka].abs() + missing[kb].abs();
        if (missing[ka] - gain).abs() + (missing[kb] + gain).abs() < now {
            missing[ka] -= gain;
            missing[kb] += gain;
            taken.swap(a, b);
        }
    }
}
