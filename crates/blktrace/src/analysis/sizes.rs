//! Sizes in powers of two, by direction.

use serde::{Deserialize, Serialize};

use super::Direction;

/// How many had a size above half of `up_to` bytes and not above `up_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCount {
    /// Where they went.
    pub direction: Direction,
    /// The largest size of the class, bytes, a power of two.
    pub up_to: u64,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

pub(super) struct Sizes {
    classes: [[(u64, u64); 33]; 3],
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            classes: [[(0, 0); 33]; 3],
        }
    }
}

impl Sizes {
    #[inline]
    pub(super) fn add(&mut self, direction: Direction, bytes: u32) {
        let class = (u32::BITS - bytes.saturating_sub(1).leading_zeros()) as usize;
        let (count, sum) = &mut self.classes[direction as usize][class];
        *count += 1;
        *sum += u64::from(bytes);
    }

    pub(super) fn counts(&self) -> Vec<SizeCount> {
        let of = |direction: Direction| {
            let classes = self.classes[direction as usize].iter().enumerate();
            classes
                .filter(|(_, (count, _))| *count > 0)
                .map(move |(class, &(count, bytes))| SizeCount {
                    direction,
                    up_to: 1 << class,
                    count,
                    bytes,
                })
        };
        Direction::ALL.into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_the_class_that_ends_with_it() {
        let mut sizes = Sizes::default();
        for bytes in [4096, 4097, 8192, 1, u32::MAX] {
            sizes.add(Direction::Write, bytes);
        }
        let found: Vec<_> = sizes
            .counts()
            .iter()
            .map(|size| (size.up_to, size.count, size.bytes))
            .collect();
        let largest = u64::from(u32::MAX);
        assert_eq!(
            found,
            [
                (1, 1, 1),
                (4096, 1, 4096),
                (8192, 2, 12289),
                (1 << 32, 1, largest)
            ]
        );
    }
}
