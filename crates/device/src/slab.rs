//! Values under small numbers that are used again: the requests in flight of a model.

/// A store whose keys are tags of requests to members.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores a value and returns its key.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot] = Some(value);
            return slot as u64;
        }
        self.slots.push(Some(value));
        self.slots.len() as u64 - 1
    }

    /// The value of a key.
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        self.slots.get_mut(key as usize)?.as_mut()
    }

    /// Takes the value out; its key will be given again.
    pub(crate) fn remove(&mut self, key: u64) -> Option<T> {
        let value = self.slots.get_mut(key as usize)?.take()?;
        self.free.push(key as usize);
        Some(value)
    }
}
