//! Which slot of a directory is a file, a freed inode or a value.
//!
//! Files and freed inodes share the slots after the directory's own; values of attributes come last. One inode is freed
//! in each of as many equal stretches as inodes are freed, at a random place of its stretch: random enough, and both
//! directions (slot to file, file to slot) stay arithmetic.

use super::random::{Key, below};

/// What a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The directory itself.
    Directory,
    /// A file, by its number among the files.
    File(u32),
    /// A freed inode.
    Free,
    /// A value, by its number.
    Value(u32),
    /// There is no such slot.
    Nothing,
}

/// The slots of one directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) files: u32,
    pub(crate) free: u32,
    pub(crate) values: u32,
    /// Files that have a value.
    pub(crate) owners: u32,
    /// The directory's set of names, on which the places depend.
    pub(crate) set: u64,
    pub(crate) place: Key,
}

impl Slots {
    /// Slots with the directory's own.
    pub(crate) fn total(&self) -> u32 {
        1 + self.mixed() + self.values
    }

    /// Slots of files and freed inodes.
    fn mixed(&self) -> u32 {
        self.files + self.free
    }

    /// Where a stretch begins, counted from the first slot after the directory.
    fn stretch(&self, nth: u32) -> u32 {
        (u64::from(nth) * u64::from(self.mixed()) / u64::from(self.free.max(1))) as u32
    }

    /// The freed place of a stretch.
    fn freed(&self, nth: u32) -> u32 {
        let (start, end) = (self.stretch(nth), self.stretch(nth + 1));
        start + below(self.place.of(self.set, nth.into()), (end - start).into()) as u32
    }

    /// What a slot is.
    pub(crate) fn role(&self, slot: u32) -> Role {
        let Some(at) = slot.checked_sub(1) else {
            return Role::Directory;
        };
        if at >= self.mixed() {
            let value = at - self.mixed();
            return if value < self.values {
                Role::Value(value)
            } else {
                Role::Nothing
            };
        }
        if self.free == 0 {
            return Role::File(at);
        }
        let nth = ((u64::from(at) + 1) * u64::from(self.free) - 1) / u64::from(self.mixed());
        let nth = nth as u32;
        let freed = self.freed(nth);
        if at == freed {
            return Role::Free;
        }
        Role::File(at - nth - u32::from(at > freed))
    }

    /// The slot of a file.
    pub(crate) fn of_file(&self, file: u32) -> u32 {
        if self.free == 0 {
            return file + 1;
        }
        // The last stretch that has no more files before it.
        let (mut low, mut high) = (0, self.free);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.stretch(middle) - middle <= file {
                low = middle;
            } else {
                high = middle;
            }
        }
        let at = file + low;
        at + u32::from(at >= self.freed(low)) + 1
    }

    /// The slot of a value.
    pub(crate) fn of_value(&self, value: u32) -> u32 {
        1 + self.mixed() + value
    }

    /// Which owner of a value a file is, if it is one: owners are spread evenly over the files.
    pub(crate) fn owner(&self, file: u32) -> Option<u32> {
        if self.owners == 0 {
            return None;
        }
        let (files, owners) = (u64::from(self.files), u64::from(self.owners));
        let nth = (u64::from(file) * owners).div_ceil(files);
        (nth < owners && nth * files / owners == u64::from(file)).then_some(nth as u32)
    }
}

/// How many of `links` links, spread evenly over `files` files, go to `file`.
pub(crate) fn links_to(file: u32, files: u32, links: u32) -> u32 {
    let before = |file: u64| (file * u64::from(links)).div_ceil(u64::from(files.max(1)));
    (before(u64::from(file) + 1) - before(file.into())) as u32
}

/// The file that a link names.
pub(crate) fn link_target(link: u32, files: u32, links: u32) -> u32 {
    (u64::from(link) * u64::from(files) / u64::from(links.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::super::random::Purpose;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slots_and_files_lead_to_each_other(
            files in 0_u32..400,
            free in 0_u32..400,
            owners in 0_u32..400,
            sharing in 1_u32..5,
            set: u64,
        ) {
            let owners = owners.min(files);
            let slots = Slots {
                files,
                free,
                owners,
                values: owners.div_ceil(sharing),
                set,
                place: Key::new(1, Purpose::FreedPlace),
            };
            let (mut seen, mut freed, mut values) = (0, 0, 0);
            prop_assert_eq!(slots.role(0), Role::Directory);
            for slot in 1..slots.total() {
                match slots.role(slot) {
                    Role::File(file) => {
                        prop_assert_eq!(file, seen);
                        prop_assert_eq!(slots.of_file(file), slot);
                        seen += 1;
                    }
                    Role::Free => freed += 1,
                    Role::Value(value) => {
                        prop_assert_eq!(value, values);
                        prop_assert_eq!(slots.of_value(value), slot);
                        values += 1;
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!((seen, freed, values), (files, free, slots.values));
            prop_assert_eq!(slots.role(slots.total()), Role::Nothing);
            let found: Vec<u32> = (0..files).filter_map(|file| slots.owner(file)).collect();
            prop_assert_eq!(found, (0..owners).collect::<Vec<_>>());
        }

        #[test]
        fn links_are_counted_at_both_ends(files in 1_u32..300, links in 0_u32..900) {
            let mut counts = vec![0; files as usize];
            for link in 0..links {
                counts[link_target(link, files, links) as usize] += 1;
            }
            for (file, count) in counts.iter().enumerate() {
                prop_assert_eq!(links_to(file as u32, files, links), *count);
            }
        }
    }
}
