//! The type of an inode: in `i_mode`, and again in each directory entry that names it.

/// `i_mode`: the bits of the type.
pub const TYPE_MASK: u16 = 0xf000;

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A symbolic link.
    Symlink,
}

impl FileType {
    /// All types, in the order of their numbers in directory entries.
    pub const ALL: [Self; 7] = [
        Self::Regular,
        Self::Directory,
        Self::CharDevice,
        Self::BlockDevice,
        Self::Fifo,
        Self::Socket,
        Self::Symlink,
    ];

    /// The type in an `i_mode`, `None` when its bits mean none.
    pub fn of_mode(mode: u16) -> Option<Self> {
        // Asked several times of each inode of a check, so it is a table and no search.
        match mode & TYPE_MASK {
            0x1000 => Some(Self::Fifo),
            0x2000 => Some(Self::CharDevice),
            0x4000 => Some(Self::Directory),
            0x6000 => Some(Self::BlockDevice),
            0x8000 => Some(Self::Regular),
            0xa000 => Some(Self::Symlink),
            0xc000 => Some(Self::Socket),
            _ => None,
        }
    }

    /// The bits of this type in an `i_mode`.
    pub fn mode(self) -> u16 {
        match self {
            Self::Fifo => 0x1000,
            Self::CharDevice => 0x2000,
            Self::Directory => 0x4000,
            Self::BlockDevice => 0x6000,
            Self::Regular => 0x8000,
            Self::Symlink => 0xa000,
            Self::Socket => 0xc000,
        }
    }

    /// The type of a directory entry's `file_type` byte; `None` for 0 (unknown), for the byte 0xde of a
    /// checksum tail, and for what means nothing.
    pub fn of_entry(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte).checked_sub(1)?).copied()
    }

    /// The `file_type` byte of this type.
    pub fn entry(self) -> u8 {
        match self {
            Self::Regular => 1,
            Self::Directory => 2,
            Self::CharDevice => 3,
            Self::BlockDevice => 4,
            Self::Fifo => 5,
            Self::Socket => 6,
            Self::Symlink => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_types() {
        for kind in FileType::ALL {
            assert_eq!(FileType::of_entry(kind.entry()), Some(kind));
            assert_eq!(FileType::of_mode(kind.mode() | 0o7777), Some(kind));
        }
        assert_eq!(FileType::of_entry(0), None);
        assert_eq!(FileType::of_entry(8), None);
        assert_eq!(FileType::of_mode(0o777), None);
    }
}
