//! The order of CPython 2's dictionaries.
//!
//! compilebench keeps its trees in four dictionaries and draws from `dict.keys()`: which tree an
//! operation hits depends on the order of a hash table. This is that table, on 64 bits without
//! hash randomisation (Objects/dictobject.c, Objects/stringobject.c of CPython 2.7): open
//! addressing with perturbation, dummies left by deletions and reused by insertions, growth to
//! four times the live entries (two times above 50,000) when two thirds are filled.
//!
//! Keys are numbers that the caller gives to its strings; two entries are equal when their numbers
//! are, so a number must stand for one string only.

/// Smallest table (`PyDict_MINSIZE`).
const MIN_SIZE: usize = 8;

/// `hash(str)` of a byte string.
pub fn string_hash(text: &[u8]) -> i64 {
    let Some(&first) = text.first() else {
        return 0;
    };
    let mut x = i64::from(first) << 7;
    for &byte in text {
        x = x.wrapping_mul(1_000_003) ^ i64::from(byte);
    }
    x ^= text.len() as i64;
    if x == -1 { -2 } else { x }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    Empty,
    Dummy,
    Active { hash: i64, key: u32 },
}

/// A dictionary of numbered strings, in CPython 2's order.
#[derive(Clone, Debug)]
pub struct PyDict {
    table: Vec<Slot>,
    /// Active entries and dummies.
    fill: usize,
    /// Active entries.
    used: usize,
}

impl Default for PyDict {
    fn default() -> Self {
        PyDict {
            table: vec![Slot::Empty; MIN_SIZE],
            fill: 0,
            used: 0,
        }
    }
}

impl PyDict {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// `dict.keys()`.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        self.table.iter().filter_map(|slot| match slot {
            Slot::Active { key, .. } => Some(*key),
            _ => None,
        })
    }

    /// `dict[key] = ...`, where `hash` is [`string_hash`] of the string that `key` stands for.
    pub fn insert(&mut self, key: u32, hash: i64) {
        let at = self.find(key, hash);
        match self.table[at] {
            Slot::Active { .. } => return,
            Slot::Empty => self.fill += 1,
            Slot::Dummy => {}
        }
        self.used += 1;
        self.table[at] = Slot::Active { hash, key };
        if self.fill * 3 >= self.table.len() * 2 {
            self.resize(self.used * if self.used > 50_000 { 2 } else { 4 });
        }
    }

    /// `del dict[key]`; false when it is not there.
    pub fn remove(&mut self, key: u32, hash: i64) -> bool {
        let at = self.find(key, hash);
        let found = matches!(self.table[at], Slot::Active { .. });
        if found {
            self.table[at] = Slot::Dummy;
            self.used -= 1;
        }
        found
    }

    /// `lookdict_string`: the slot of `key`, else the first dummy on its way, else an empty slot.
    /// Ends because a table is never full.
    fn find(&self, key: u32, hash: i64) -> usize {
        let mask = self.table.len() - 1;
        let mut probe = hash as usize;
        let mut perturb = hash as usize;
        let mut dummy = None;
        loop {
            let at = probe & mask;
            match self.table[at] {
                Slot::Empty => return dummy.unwrap_or(at),
                Slot::Active { hash: h, key: k } if h == hash && k == key => return at,
                Slot::Active { .. } => {}
                Slot::Dummy => dummy = dummy.or(Some(at)),
            }
            probe = probe.wrapping_mul(5).wrapping_add(perturb).wrapping_add(1);
            perturb >>= 5;
        }
    }

    /// `dictresize`: the smallest power of two above `at_least`; entries move in table order.
    fn resize(&mut self, at_least: usize) {
        let size = (at_least + 1).next_power_of_two().max(MIN_SIZE);
        let old = std::mem::replace(&mut self.table, vec![Slot::Empty; size]);
        self.fill = self.used;
        for slot in old {
            if let Slot::Active { hash, key } = slot {
                let at = self.find(key, hash);
                self.table[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(dict: &mut PyDict, names: &mut Vec<String>, name: String) {
        let hash = string_hash(name.as_bytes());
        dict.insert(names.len() as u32, hash);
        names.push(name);
    }

    /// Printed by CPython 2.7.18: `hash(...)`.
    #[test]
    fn string_hashes_are_pythons() {
        assert_eq!(string_hash(b"kernel-5"), 4_544_983_706_808_241_749);
        assert_eq!(string_hash(b""), 0);
        assert_eq!(string_hash(b"a"), 12_416_037_344);
        assert_eq!(
            string_hash(b"drivers/net/tg3.c"),
            -2_137_728_325_518_196_682
        );
    }

    /// Printed by CPython 2.7.18: 40 names in, every third out, five more in.
    #[test]
    fn order_with_growth_and_dummies_is_pythons() {
        let (mut dict, mut names) = (PyDict::default(), Vec::new());
        for i in 0..40 {
            insert(&mut dict, &mut names, format!("kernel-{i}"));
        }
        for i in (0..40).step_by(3) {
            assert!(dict.remove(i, string_hash(names[i as usize].as_bytes())));
        }
        for i in 0..5 {
            insert(&mut dict, &mut names, format!("kernel-{}", 1000 + i * 37));
        }
        let order: Vec<&str> = dict.keys().map(|k| &names[k as usize][7..]).collect();
        assert_eq!(
            order.join(" "),
            "1074 26 25 23 22 20 1037 1148 29 28 1 2 4 5 7 8 38 1111 31 32 34 35 37 13 10 11 16 \
             17 14 1000 19"
        );
        assert!(!dict.remove(0, string_hash(b"kernel-0")));
        assert_eq!((dict.len(), dict.is_empty()), (31, false));
    }

    /// CPython 2.7.18: 30,000 names in, every second out; a rolling hash over all keys in order.
    #[test]
    fn order_of_a_large_dictionary_is_pythons() {
        let (mut dict, mut names) = (PyDict::default(), Vec::new());
        for i in 0..30_000 {
            insert(&mut dict, &mut names, format!("f/{i}.o"));
        }
        for i in (0..30_000).step_by(2) {
            dict.remove(i, string_hash(names[i as usize].as_bytes()));
        }
        let rolled = dict
            .keys()
            .flat_map(|k| names[k as usize].bytes())
            .fold(0_u64, |h, byte| {
                h.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
        assert_eq!(rolled, 11_002_635_277_790_123_674);
        assert_eq!(names[dict.keys().next().unwrap() as usize], "f/28341.o");
    }

    #[test]
    fn inserting_a_key_twice_changes_nothing() {
        let mut dict = PyDict::default();
        for _ in 0..9 {
            dict.insert(1, string_hash(b"x"));
        }
        assert_eq!(dict.keys().collect::<Vec<_>>(), [1]);
    }
}
