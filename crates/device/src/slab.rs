//! Values under small numbers that are used again: the requests in flight of a model.

/// The number after the last one that a store gives, as a link: none.
const NONE: u32 = u32::MAX;

/// A place of a store.
#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free one.
    Free(u32),
}

/// A store whose keys are tags of requests to members. Free places are linked through themselves: after a million requests in
/// flight a list of them would take as much again as what was freed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// The first free place.
    free: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            slots: Vec::new(),
            free: NONE,
        }
    }
}

impl<T> Slab<T> {
    /// Stores a value and returns its key.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let key = self.free;
        if let Some(slot) = self.slots.get_mut(key as usize)
            && let Slot::Free(next) = *slot
        {
            *slot = Slot::Used(value);
            self.free = next;
            return u64::from(key);
        }
        self.slots.push(Slot::Used(value));
        self.slots.len() as u64 - 1
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: u64) -> Option<&T> {
        match self.slots.get(key as usize)? {
            Slot::Used(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// The value of a key, to be changed.
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        match self.slots.get_mut(key as usize)? {
            Slot::Used(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// Takes the value out; its key will be given again.
    pub(crate) fn remove(&mut self, key: u64) -> Option<T> {
        let slot = self.slots.get_mut(key as usize)?;
        if let Slot::Free(_) = slot {
            return None;
        }
        let taken = std::mem::replace(slot, Slot::Free(self.free));
        self.free = key as u32;
        match taken {
            Slot::Used(value) => Some(value),
            Slot::Free(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_whose_keys_are_used_again(steps in proptest::collection::vec((any::<bool>(), any::<u64>()), 1..200)) {
            let (mut slab, mut expected) = (Slab::default(), HashMap::new());
            let mut most = 0;
            for (adds, value) in steps {
                if adds {
                    prop_assert_eq!(expected.insert(slab.insert(value), value), None);
                    most = most.max(expected.len());
                } else {
                    // Also keys that were not given.
                    let key = value % (most as u64 + 1);
                    prop_assert_eq!(slab.remove(key), expected.remove(&key));
                }
                prop_assert_eq!(slab.slots.len(), most);
                for key in 0..=most as u64 {
                    prop_assert_eq!(slab.get(key), expected.get(&key));
                    prop_assert_eq!(slab.get_mut(key), expected.get_mut(&key));
                }
            }
        }
    }
}
