//! The order of the trials: randomised complete blocks, or the originals' sequence.
//!
//! Drift (a warming disk, a filling log, a neighbour on the host) must not be taken for a
//! difference between cells, so by default each block holds every cell once, in an order of its
//! own, and comparisons are made within blocks (Fisher 1935, The Design of Experiments, ch. IV).
//!
//! The random numbers are ChaCha20's, each block a stream of its own, and the shuffle is written
//! here: an order must stay what it was when a crate changes its algorithms, because a run is
//! resumed and repeated from its seed. More blocks leave the earlier ones as they were.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::model::{Order, Slot};

/// Every trial of `cells` cells in `blocks` blocks, in running order.
pub fn slots(cells: u32, blocks: u32, order: Order, seed: u64) -> Vec<Slot> {
    let drawn: Vec<Block> = (0..blocks)
        .map(|block| Block::draw(cells, block, seed))
        .collect();
    let pairs: Vec<(u32, u32)> = match order {
        Order::Blocked => drawn
            .iter()
            .zip(0..)
            .flat_map(|(drawn, block)| drawn.order.iter().map(move |cell| (block, *cell)))
            .collect(),
        Order::Sequential => (0..cells)
            .flat_map(|cell| (0..blocks).map(move |block| (block, cell)))
            .collect(),
    };
    let slot = |(trial, (block, cell)): (u32, (u32, u32))| Slot {
        trial,
        block,
        cell,
        seed: drawn[block as usize].seeds[cell as usize],
    };
    (0..).zip(pairs).map(slot).collect()
}

/// One block's draw.
struct Block {
    /// Cells in running order.
    order: Vec<u32>,
    /// Seed of each cell's trial, by cell: the same in either order.
    seeds: Vec<u64>,
}

impl Block {
    fn draw(cells: u32, block: u32, seed: u64) -> Block {
        let mut key = *b"fslab block order 1\0\0\0\0\0\0\0\0\0\0\0\0\0";
        key[24..].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha20Rng::from_seed(key);
        rng.set_stream(block.into());
        let mut order: Vec<u32> = (0..cells).collect();
        // Fisher and Yates, as Durstenfeld (1964) wrote it.
        for i in (1..order.len()).rev() {
            order.swap(i, below(&mut rng, i as u64 + 1) as usize);
        }
        let seeds = (0..cells).map(|_| rng.next_u64()).collect();
        Block { order, seeds }
    }
}

/// A number below `n`, without bias: draws above the last whole multiple of `n` are rejected.
fn below(rng: &mut ChaCha20Rng, n: u64) -> u64 {
    let last = u64::MAX - u64::MAX % n;
    loop {
        let draw = rng.next_u64();
        if draw < last {
            return draw % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn each_block_holds_every_cell_once(cells in 1_u32..60, blocks in 1_u32..12, seed: u64) {
            for order in [Order::Blocked, Order::Sequential] {
                let slots = slots(cells, blocks, order, seed);
                proptest::prop_assert_eq!(slots.len() as u32, cells * blocks);
                for block in 0..blocks {
                    let held: BTreeSet<u32> =
                        slots.iter().filter(|s| s.block == block).map(|s| s.cell).collect();
                    proptest::prop_assert_eq!(held.len() as u32, cells);
                }
                for (place, slot) in (0_u32..).zip(&slots) {
                    proptest::prop_assert_eq!(slot.trial, place);
                }
            }
        }

        #[test]
        fn blocks_follow_one_another(cells in 1_u32..40, blocks in 1_u32..8, seed: u64) {
            let slots = slots(cells, blocks, Order::Blocked, seed);
            for slot in slots {
                proptest::prop_assert_eq!(slot.block, slot.trial / cells);
            }
        }

        #[test]
        fn a_seed_gives_one_order_and_more_blocks_keep_it(
            cells in 1_u32..40, blocks in 1_u32..8, seed: u64
        ) {
            let few = slots(cells, blocks, Order::Blocked, seed);
            proptest::prop_assert_eq!(&few, &slots(cells, blocks, Order::Blocked, seed));
            let more = slots(cells, blocks + 2, Order::Blocked, seed);
            proptest::prop_assert_eq!(&few[..], &more[..few.len()]);
        }

        #[test]
        fn a_trial_has_one_seed_in_either_order(cells in 1_u32..20, blocks in 1_u32..6, seed: u64) {
            let key = |s: &Slot| (s.block, s.cell, s.seed);
            let blocked: BTreeSet<_> = slots(cells, blocks, Order::Blocked, seed).iter().map(key).collect();
            let sequential = slots(cells, blocks, Order::Sequential, seed);
            proptest::prop_assert_eq!(blocked, sequential.iter().map(key).collect());
        }
    }

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let cells = |block: u32| -> Vec<u32> {
            let slots = slots(8, 2, Order::Blocked, 2009);
            let block = slots.iter().filter(|slot| slot.block == block);
            block.map(|slot| slot.cell).collect()
        };
        assert_eq!([cells(0), cells(1)], FIXED, "published orders depend on it");
    }

    #[test]
    fn sequential_keeps_repetitions_together() {
        let slots = slots(3, 2, Order::Sequential, 1);
        let pairs: Vec<(u32, u32)> = slots.iter().map(|s| (s.cell, s.block)).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn every_place_is_as_likely_for_every_cell() {
        // Chi-square of 6 cells x 6 places over 6000 blocks, 25 degrees of freedom: the 99.9 %
        // point is 52.6. The seed is fixed, so this cannot flicker.
        let (cells, blocks) = (6_u32, 6000_u32);
        let mut counts = vec![0_f64; (cells * cells) as usize];
        for slot in slots(cells, blocks, Order::Blocked, 7) {
            counts[(slot.cell * cells + slot.trial % cells) as usize] += 1.0;
        }
        let expected = f64::from(blocks) / f64::from(cells);
        let chi2: f64 = counts
            .iter()
            .map(|n| (n - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 52.6, "{chi2}");
    }

    const FIXED: [[u32; 8]; 2] = [[5, 6, 3, 1, 0, 7, 4, 2], [7, 0, 2, 6, 3, 1, 5, 4]];
}
