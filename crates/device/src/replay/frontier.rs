//! The first request that is not done.

use std::collections::VecDeque;

/// Which requests are done, as far as the first that is not leaves open: a bit for each one after it.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    /// The number of the first bit.
    begin: u32,
    words: VecDeque<u64>,
}

impl Frontier {
    /// A request is done: once for each.
    pub(super) fn done(&mut self, number: u32) {
        let bit = (number - self.begin) as usize;
        if bit / 64 >= self.words.len() {
            self.words.resize(bit / 64 + 1, 0);
        }
        self.words[bit / 64] |= 1 << (bit % 64);
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.begin += 64;
        }
    }

    /// All requests before this one are done.
    pub(super) fn first_open(&self) -> u32 {
        let ones = self.words.front().map_or(0, |word| word.trailing_ones());
        self.begin + ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_first_that_is_not_done_and_forgets_what_is_before_it() {
        let mut frontier = Frontier::default();
        assert_eq!(frontier.first_open(), 0);
        for number in (1..200).rev() {
            frontier.done(number);
            assert_eq!(frontier.first_open(), 0);
        }
        frontier.done(0);
        assert_eq!(frontier.first_open(), 200);
        for number in 200..1_000_000 {
            frontier.done(number);
            assert!(frontier.first_open() == number + 1 && frontier.words.len() < 5);
        }
    }
}
