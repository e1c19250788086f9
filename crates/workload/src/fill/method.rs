//! fs_mark's sync methods.

/// What is synced, and when (-S).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMethod {
    /// 0: nothing.
    None,
    /// 1: fsync of each file before its close.
    InBand,
    /// 2: after all files sync, then open, fsync and close of the first.
    SyncAndOne,
    /// 3: after all files open, fsync and close of each, from the last to the first.
    PostReverse,
    /// 4: sync, then as 3.
    SyncPostReverse,
    /// 5: as 3, in the order of creation.
    Post,
    /// 6: sync, then as 5.
    SyncPost,
}

/// Which files are opened again for an fsync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Nothing,
    First,
    Backwards,
    Forwards,
}

impl SyncMethod {
    /// All, by number.
    pub const ALL: [SyncMethod; 7] = [
        SyncMethod::None,
        SyncMethod::InBand,
        SyncMethod::SyncAndOne,
        SyncMethod::PostReverse,
        SyncMethod::SyncPostReverse,
        SyncMethod::Post,
        SyncMethod::SyncPost,
    ];

    /// By its number.
    pub fn from_number(number: u8) -> Option<SyncMethod> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// fsync before close?
    pub(crate) const fn in_band(self) -> bool {
        matches!(self, SyncMethod::InBand)
    }

    /// sync after all files?
    pub(crate) const fn syncs(self) -> bool {
        matches!(
            self,
            SyncMethod::SyncAndOne | SyncMethod::SyncPostReverse | SyncMethod::SyncPost
        )
    }

    pub(crate) const fn again(self) -> Again {
        match self {
            SyncMethod::None | SyncMethod::InBand => Again::Nothing,
            SyncMethod::SyncAndOne => Again::First,
            SyncMethod::PostReverse | SyncMethod::SyncPostReverse => Again::Backwards,
            SyncMethod::Post | SyncMethod::SyncPost => Again::Forwards,
        }
    }

    /// Whether every file has been fsynced when the loop ends: clock (b) ends with it then.
    pub(crate) const fn fsyncs_all(self) -> bool {
        self.in_band() || matches!(self.again(), Again::Backwards | Again::Forwards)
    }

    /// What fs_mark prints after `Sync method: `.
    pub const fn banner(self) -> &'static str {
        match self {
            SyncMethod::None => "NO SYNC: Test does not issue sync() or fsync() calls.",
            SyncMethod::InBand => "INBAND FSYNC: fsync() per file in write loop.",
            SyncMethod::SyncAndOne => {
                "SYSTEM SYNC/SINGLE FSYNC: Issue sync() after main write loop and 1 file fsync() \
                 per subdirectory."
            }
            SyncMethod::PostReverse => {
                "POST REVERSE: Reopen and fsync() each file in reverse order after main write loop."
            }
            SyncMethod::SyncPostReverse => {
                "SYNC POST REVERSE: Issue sync() and then reopen and fsync() each file in reverse \
                 order after main write loop."
            }
            SyncMethod::Post => {
                "POST: Reopen and fsync() each file in order after main write loop."
            }
            SyncMethod::SyncPost => {
                "SYNC POST: Issue sync() and then reopen and fsync() each file in order after main \
                 write loop."
            }
        }
    }
}
