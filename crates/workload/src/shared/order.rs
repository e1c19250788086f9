//! Whose data a rank reads.

use params::SharedSpec;
use params::shared::Reorder;

use crate::Error;
use crate::group::Place;

/// The rank whose data `rank` reads, of all ranks by their places.
///
/// With `node`, rank r reads what rank r + shift x p wrote, where p is the number of ranks on a node if they are laid node by node, and 1
/// if they go round (IOR's -C and -Q).
///
/// # Errors
/// `node`, where all ranks are on one node.
pub fn source(spec: &SharedSpec, places: &[Place]) -> Result<Vec<u32>, Error> {
    let ranks = places.len() as u32;
    let own: Vec<u32> = (0..ranks).collect();
    match spec.reorder {
        Reorder::None => Ok(own),
        Reorder::Shuffle => Ok(shuffled(own, spec.seed)),
        Reorder::Node => {
            let first = places.first().map(|place| &place.node);
            if places.iter().all(|place| Some(&place.node) == first) {
                let reason = "all ranks are on one node, where each would read its own data; use none, or more nodes";
                return Err(crate::error::bad("reorder", "node", reason));
            }
            let next = places.get(1).map(|place| &place.node);
            let on_first = places.iter().filter(|place| Some(&place.node) == first);
            let step = if next == first { on_first.count() } else { 1 };
            let away = u64::from(spec.shift) * step as u64;
            let of = |rank: u32| ((u64::from(rank) + away) % u64::from(ranks)) as u32;
            Ok(own.into_iter().map(of).collect())
        }
    }
}

/// A permutation (Fisher and Yates) from a seed, by the generator splitmix64.
fn shuffled(mut order: Vec<u32>, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    for last in (1..order.len()).rev() {
        // The high half of a product: no remainder that favours small numbers.
        let at = (u128::from(next()) * (last as u128 + 1)) >> 64;
        order.swap(last, at as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(nodes: &[&str]) -> Vec<Place> {
        let place = |node: &&str| Place {
            node: (*node).into(),
            ..Place::default()
        };
        nodes.iter().map(place).collect()
    }

    fn spec(reorder: Reorder, seed: u64) -> SharedSpec {
        SharedSpec {
            reorder,
            seed,
            ..SharedSpec::default()
        }
    }

    /// As IOR 4.1 answered with -C.
    #[test]
    fn the_next_node_is_that_of_ior() {
        let spec = spec(Reorder::Node, 1);
        let by_node = places(&["a", "a", "b", "b"]);
        assert_eq!(source(&spec, &by_node).unwrap(), [2, 3, 0, 1]);
        let round = places(&["a", "b", "a", "b"]);
        assert_eq!(source(&spec, &round).unwrap(), [1, 2, 3, 0]);
        let one = source(&spec, &places(&["a", "a", "a", "a"])).unwrap_err();
        assert!(
            one.to_string().contains("all ranks are on one node"),
            "{one}"
        );
    }

    proptest::proptest! {
        #[test]
        fn a_shuffle_is_a_permutation_of_its_seed(ranks in 1_usize..200, seed in 0_u64..) {
            let all = places(&vec!["a"; ranks]);
            let mut order = source(&spec(Reorder::Shuffle, seed), &all).unwrap();
            proptest::prop_assert_eq!(&order, &source(&spec(Reorder::Shuffle, seed), &all).unwrap());
            order.sort_unstable();
            proptest::prop_assert_eq!(order, (0..ranks as u32).collect::<Vec<_>>());
        }
    }
}
