//! Extents of files that a thread has met and not yet taken.
//!
//! Inodes that are judged one after the other mostly have blocks in the same window, and so have those that another thread judges at the
//! same time. Taking each extent by itself made the threads wait for the window's lock, and for its cache line: two threads needed longer
//! than one. So each thread keeps some hundred extents; of those that lie in one window the lock is taken once, and extents that continue
//! each other are one run. The order in which a thread met them is kept, because it decides who comes second.

use super::{Claims, FileExtent, WINDOW, lock, plus};

/// Extents that are kept: those of the inodes of a piece, and a few KiB.
const MOST: usize = 256;

/// Extents of files that a thread has met and not yet taken.
#[derive(Debug)]
pub(crate) struct Batch {
    extents: Vec<FileExtent>,
}

impl Batch {
    /// An empty one.
    pub(crate) fn new() -> Batch {
        Batch {
            extents: Vec::with_capacity(MOST),
        }
    }

    /// Takes an extent of a file, now or later.
    pub(crate) fn add(&mut self, claims: &Claims, extent: FileExtent) {
        if self.extents.len() >= MOST {
            self.share(claims);
        }
        self.extents.push(extent);
    }

    /// Takes what was put off.
    pub(crate) fn share(&mut self, claims: &Claims) {
        let mut rest = self.extents.as_slice();
        while let Some(first) = rest.first() {
            let window = claims.place(first);
            let together = window.map_or(0, |window| {
                let others = rest.iter().map(|one| claims.place(one));
                others.take_while(|other| *other == Some(window)).count()
            });
            match window {
                Some(window) => claims.take_together(window, &rest[..together]),
                None => claims.alone(first),
            }
            rest = &rest[together.max(1)..];
        }
        self.extents.clear();
    }
}

impl Claims {
    /// Allocation group and number of the window that has all of an extent; none where it is taken by itself.
    fn place(&self, one: &FileExtent) -> Option<(usize, usize)> {
        let start = self.geo.agbno_of(one.fsblock);
        let last = start.checked_add(one.length.checked_sub(1)?)?;
        let whole = start / WINDOW == last / WINDOW && !one.is_shared() && self.wanted.is_none();
        let ag = usize::try_from(self.geo.ag_of(one.fsblock)).ok()?;
        whole.then_some((ag, (start / WINDOW) as usize))
    }

    /// Takes extents of one window.
    fn take_together(&self, (ag, number): (usize, usize), extents: &[FileExtent]) {
        let windows = self.groups.get(ag).map(|group| group.windows.as_slice());
        let Some(window) = windows.and_then(|windows| windows.get(number)) else {
            return;
        };
        let base = number as u32 * WINDOW;
        let place = |one: &FileExtent| self.geo.agbno_of(one.fsblock) - base;
        let sum = if self.geo.rmapbt {
            let series = |one: &FileExtent| {
                one.mapped()
                    .series(base + place(one), place(one), one.length)
            };
            extents.iter().map(series).fold(0, plus)
        } else {
            0
        };
        let mut window = lock(window);
        window.sum = plus(window.sum, sum);
        let follows = |one: &FileExtent, next: &FileExtent| place(one) + one.length == place(next);
        for run in extents.chunk_by(follows) {
            let length = run.iter().map(|one| one.length).sum();
            let start = place(&run[0]);
            if self.change(&mut window, |blocks| blocks.take_free(start, length)) {
                continue;
            }
            for one in run {
                let start = place(one);
                if !self.change(&mut window, |blocks| blocks.take(start, one.length)) {
                    lock(&self.conflicts).push(one.conflict());
                }
            }
        }
    }
}
