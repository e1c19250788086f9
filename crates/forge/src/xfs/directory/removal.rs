//! Names go.

use super::{DOT, DOT_DOT, Form, Place, Rules, STALE, Shape};
use crate::population::Target;

impl Shape {
    /// Removes every name that leads nowhere. The form becomes a smaller one where the kernel makes it one.
    pub(super) fn remove_gone(&mut self, rules: &Rules) {
        let names = &self.names;
        let gone = |id: u32| {
            let name = names.get(id as usize);
            name.is_some_and(|name| name.target == Target::Gone)
        };
        let before = self.live;
        if self.form == Form::Local {
            let all = self.local.len();
            self.local.retain(|entry| !gone(entry.0));
            self.live -= (all - self.local.len()) as u32;
            return;
        }
        for leaf in &mut self.leaves {
            for entry in &mut leaf.entries {
                if gone(entry.1) {
                    entry.1 = STALE;
                    leaf.stale += 1;
                    self.live -= 1;
                }
            }
        }
        for nth in 0..self.data.len() {
            self.free_entries(rules, nth);
        }
        if self.live == before {
            return;
        }
        while self.data.last().is_some_and(Option::is_none) {
            self.data.pop();
        }
        self.holes = self.data.iter().filter(|data| data.is_none()).count();
        self.from = [0; 40];
        if self.form == Form::Node {
            self.shrink_tree(rules);
        }
        if self.form == Form::Leaf && self.data.len() == 1 {
            self.enter_block(rules);
        }
        if self.form == Form::Block {
            self.enter_inode(rules);
        }
    }

    /// Frees the removed entries of a data block, and the block when it has none left.
    fn free_entries(&mut self, rules: &Rules, nth: usize) {
        let Some(mut data) = self.data[nth].take() else {
            return;
        };
        for (offset, id) in std::mem::take(&mut data.entries) {
            let name = self.names.get(id as usize);
            if name.is_some_and(|name| name.target == Target::Gone) {
                data.release(offset, self.size(rules, id));
            } else {
                data.entries.push((offset, id));
            }
        }
        if data.entries.is_empty() {
            let place = Place::Data(nth as u32);
            self.births.retain(|birth| *birth != place);
        } else {
            self.data[nth] = Some(data);
        }
    }

    /// Drops leaf blocks without names, and blocks of the free index after its end.
    fn shrink_tree(&mut self, rules: &Rules) {
        let kept = |entries: &[(u32, u32)]| entries.iter().any(|entry| entry.1 != STALE);
        self.leaves.retain(|leaf| kept(&leaf.entries));
        // `.` and `..` are always among them.
        debug_assert!(self.leaves.iter().any(|leaf| {
            leaf.entries
                .iter()
                .any(|entry| entry.1 == DOT || entry.1 == DOT_DOT)
        }));
        if let [leaf] = &mut self.leaves[..] {
            leaf.number = 0;
            self.next_leaf = 0;
        }
        let numbers: std::collections::HashSet<u32> =
            self.leaves.iter().map(|leaf| leaf.number).collect();
        let free = self.data.len().div_ceil(rules.free_room()) as u32;
        self.free_blocks = self.free_blocks.min(free.max(1));
        let free = self.free_blocks;
        self.births.retain(|birth| match birth {
            Place::Leaf(number) => *number == 0 || numbers.contains(number),
            Place::Free(number) => *number < free,
            Place::Data(_) => true,
        });
        if self.leaves.len() == 1 && self.data.len() == 1 {
            self.leaves[0].compact();
            self.births.retain(|birth| !matches!(birth, Place::Free(_)));
            self.free_blocks = 0;
            self.form = Form::Leaf;
        }
    }
}
