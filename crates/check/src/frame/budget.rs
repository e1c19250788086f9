//! What damage may make of lists: amounts that are asked for before anything is listed.
//!
//! A filesystem has so many blocks, and sound structures name each of them once. Damaged ones may name all of them a thousand times, in a
//! few bytes. A pass that lists what they name asks a budget first.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// An amount that threads take from. What comes after it is used up depends on which thread comes first.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    left: AtomicU64,
    overdrawn: AtomicBool,
}

impl Budget {
    /// A budget of this amount.
    pub(crate) fn new(amount: u64) -> Budget {
        Budget {
            left: amount.into(),
            overdrawn: false.into(),
        }
    }

    /// Takes `wanted` of what is left; whether there was as much.
    pub(crate) fn take(&self, wanted: u64) -> bool {
        let less = |left: u64| left.checked_sub(wanted);
        let taken = self.left.fetch_update(Relaxed, Relaxed, less).is_ok();
        if !taken {
            self.overdrawn.store(true, Relaxed);
        }
        taken
    }

    /// Whether some of it was refused.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.overdrawn.load(Relaxed)
    }

    /// Forgets that some of it was refused; what is left stays.
    pub(crate) fn forgive(&self) {
        self.overdrawn.store(false, Relaxed);
    }

    /// Sets what is left, as if nothing had been taken.
    pub(crate) fn refill(&self, amount: u64) {
        self.left.store(amount, Relaxed);
        self.forgive();
    }
}

/// Classes of [`Shares`].
const CLASSES: usize = 16;

/// A limit on what many claimants have together, whose outcome does not depend on their order: where they have more, the largest are left
/// out. They are classed by size, in steps of four.
#[derive(Debug)]
pub(crate) struct Shares {
    limit: u64,
    /// What the claimants of each class have together, and how many they are.
    amounts: [(AtomicU64, AtomicU64); CLASSES],
    /// Claimants of this class and above are left out.
    refused: AtomicU8,
}

impl Shares {
    /// Shares of this much.
    pub(crate) fn new(limit: u64) -> Shares {
        Shares {
            limit,
            amounts: std::array::from_fn(|_| Default::default()),
            refused: (CLASSES as u8).into(),
        }
    }

    /// The class of a claimant, below 16.
    pub(crate) fn class(amount: u64) -> u8 {
        let bits = u64::BITS - amount.leading_zeros();
        (bits / 2).min(CLASSES as u32 - 1) as u8
    }

    /// Adds a claimant; whether one of its class has a share. What was given to classes that have none any more is to be dropped.
    pub(crate) fn admit(&self, amount: u64) -> bool {
        let class = Shares::class(amount);
        let (sum, count) = &self.amounts[usize::from(class)];
        sum.fetch_add(amount, Relaxed);
        count.fetch_add(1, Relaxed);
        let mut left = self.limit;
        for (class, (sum, _)) in (0..).zip(&self.amounts) {
            let Some(rest) = left.checked_sub(sum.load(Relaxed)) else {
                self.refused.fetch_min(class, Relaxed);
                break;
            };
            left = rest;
        }
        self.has(class)
    }

    /// Whether claimants of a class have a share.
    pub(crate) fn has(&self, class: u8) -> bool {
        class < self.refused.load(Relaxed)
    }

    /// How many claimants were left out.
    pub(crate) fn left_out(&self) -> u64 {
        let refused = usize::from(self.refused.load(Relaxed));
        let counts = self.amounts[refused..].iter().map(|(_, count)| count);
        counts.map(|count| count.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_taken_whole_or_not_at_all() {
        let budget = Budget::new(10);
        assert!(budget.take(7) && !budget.is_overdrawn());
        assert!(!budget.take(4) && budget.is_overdrawn() && budget.take(3));
        budget.refill(5);
        assert!(!budget.is_overdrawn() && budget.take(5) && !budget.take(1));
    }

    #[test]
    fn the_largest_are_left_out_in_any_order() {
        let amounts = [1, 5, 90, 1, 60, 3, 1, 700, 2, 1];
        let outcome = |order: &mut dyn Iterator<Item = usize>| {
            let shares = Shares::new(100);
            order.for_each(|at| _ = shares.admit(amounts[at]));
            let has = |amount: &u64| shares.has(Shares::class(*amount));
            let admitted: Vec<u64> = amounts.iter().copied().filter(has).collect();
            (admitted, shares.left_out())
        };
        // 60 and 90 are of one class, and together too many.
        let expected = (vec![1, 5, 1, 3, 1, 2, 1], 3);
        for first in 0..amounts.len() {
            let turned = (first..first + amounts.len()).map(|at| at % amounts.len());
            assert_eq!(outcome(&mut turned.clone()), expected);
            assert_eq!(outcome(&mut turned.rev()), expected);
        }
        assert_eq!(Shares::new(100).left_out(), 0);
    }
}
