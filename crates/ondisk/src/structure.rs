//! The declaration of fixed structures, and of lists of records.

/// Declares a fixed structure: a view at the start of a slice, with its size proven.
macro_rules! structure {
    ($(#[$doc:meta])* $what:literal $name:ident $size:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout, zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == $size);

        impl $name {
            /// Bytes on disk.
            pub const SIZE: usize = $size;

            /// The structure at the start of `bytes`. No field is judged.
            ///
            /// # Errors
            ///
            /// [`crate::Error::Short`] for fewer bytes.
            pub fn read(bytes: &[u8]) -> Result<&Self, crate::Error> {
                crate::bytes::view($what, bytes)
            }

            /// The same for writing.
            ///
            /// # Errors
            ///
            /// As [`Self::read`].
            pub fn read_mut(bytes: &mut [u8]) -> Result<&mut Self, crate::Error> {
                crate::bytes::view_mut($what, bytes)
            }
        }
    };
}

/// Declares a list: a fixed head and records that fill the rest of the slice.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident, $head:ident, $record:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a> {
            head: &'a $head,
            records: &'a [u8],
        }

        impl<'a> $name<'a> {
            /// The list at the start of `bytes`, which end where the room for records ends.
            ///
            /// # Errors
            ///
            /// [`crate::Error::Short`] for fewer bytes than the head has.
            pub fn read(bytes: &'a [u8]) -> Result<Self, crate::Error> {
                let head = $head::read(bytes)?;
                Ok(Self { head, records: &bytes[$head::SIZE..] })
            }

            /// The head.
            pub fn head(&self) -> &'a $head {
                self.head
            }

            /// Number of records that the slice has room for.
            pub fn room(&self) -> usize {
                self.records.len() / $record::SIZE
            }

            /// A record by its number; none outside the slice.
            pub fn get(&self, index: usize) -> Option<&'a $record> {
                let at = index.checked_mul($record::SIZE)?;
                $record::read(self.records.get(at..)?).ok()
            }

            /// The first `count` records, or as many as the slice has.
            pub fn first(&self, count: usize) -> impl Iterator<Item = &'a $record> + use<'a> {
                let this = *self;
                (0..count.min(this.room())).filter_map(move |index| this.get(index))
            }

            /// Writes a record into the list at the start of `bytes`.
            ///
            /// # Errors
            ///
            /// [`crate::Error::Full`] for a record outside the slice.
            pub fn put(bytes: &mut [u8], index: usize, record: $record) -> Result<(), crate::Error> {
                let at = $head::SIZE.saturating_add(index.saturating_mul($record::SIZE));
                let room = bytes.len().saturating_sub(at);
                let place = bytes
                    .get_mut(at..)
                    .and_then(|rest| rest.get_mut(..$record::SIZE))
                    .ok_or(crate::Error::Full {
                        what: stringify!($record),
                        need: $record::SIZE,
                        room,
                    })?;
                place.copy_from_slice(zerocopy::IntoBytes::as_bytes(&record));
                Ok(())
            }
        }
    };
}
