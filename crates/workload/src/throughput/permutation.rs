//! The order of iozone's random tests.

use rand_mt::Mt64;

/// iozone's seed of MT19937-64 (`init_by_array64`, since 3.324).
const KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

/// Record numbers `0..records` as iozone (3.324 and later) shuffles them.
///
/// `perm[i]` starts as `i`; then for every `i` from 0 on `perm[i]` and `perm[j]` change places,
/// where `j` is a full-range draw modulo `records`. This is the naive shuffle: slightly biased,
/// but a permutation, so each record is visited exactly once. Every child and both random tests
/// begin with the same seed and therefore walk in the same order. (iozone -T shares one generator
/// between its threads, which makes its order irreproducible; here each order is drawn alone, as
/// by iozone's processes.)
pub fn permutation(records: u32) -> Vec<u32> {
    let mut generator = Mt64::new_with_key(KEY);
    let mut order: Vec<u32> = (0..records).collect();
    for i in 0..records as usize {
        let j = generator.next_u64() % u64::from(records);
        order.swap(i, j as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_draws_the_known_numbers() {
        let mut generator = Mt64::new_with_key(KEY);
        let draws = [(); 3].map(|()| generator.next_u64());
        assert_eq!(
            draws,
            [
                7_266_447_313_870_364_031,
                4_946_485_549_665_804_864,
                16_945_909_448_695_747_420
            ]
        );
    }

    #[test]
    fn orders_are_iozones() {
        assert_eq!(
            permutation(16),
            [3, 15, 8, 1, 12, 9, 7, 2, 5, 0, 6, 10, 14, 13, 4, 11]
        );
        assert_eq!(
            permutation(8192)[..16],
            [
                2178, 576, 6856, 7120, 7408, 3979, 5692, 7740, 6758, 5202, 6267, 3048, 3102, 6017,
                922, 533
            ]
        );
        assert!(permutation(0).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn each_record_exactly_once(records in 1_u32..5000) {
            let mut order = permutation(records);
            order.sort_unstable();
            proptest::prop_assert!(order.into_iter().eq(0..records));
        }
    }
}
