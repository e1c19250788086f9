//! Waits until ext4 has filled its inode tables with zeros.
//!
//! mke2fs leaves most inode tables unwritten, and after the first mount the kernel's `ext4lazyinit`
//! thread writes them in the background: I/O that would be counted into the measurement.
//!
//! Trusted is the state on the device: a group is done when its descriptor has INODE_ZEROED, which
//! the kernel sets after the zeros are on their way, and which is read through the same page cache
//! that the mounted filesystem uses. The thread itself is only evidence: it serves all filesystems
//! of the host, so its life proves nothing about this one, and it starts up to seconds late, so its
//! absence proves nothing either.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use probe::superblock::ext::Superblock;
use rustix::io::Errno;

use crate::filesystem::Mounted;
use crate::host::Host;
use crate::settled::Settled;
use crate::{Error, Result};
use progress::{Progress, Step, Unit};

/// How long a trial waits at most.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// How often the descriptors are looked at: reading them is cheap, but not free.
const PAUSE: Duration = Duration::from_millis(100);

/// Errors that the kernel has counted of the filesystem on this device; none where it does not count.
fn errors_of(node: &Path) -> u64 {
    let host = Host::default();
    let name = host.number_of_node(node);
    let count = name.and_then(|name| host.text(format!("sys/fs/ext4/{name}/errors_count")));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Waits until no group lacks INODE_ZEROED, at most `timeout`.
pub fn wait(mounted: &Mounted<'_>, timeout: Duration, progress: &dyn Progress) -> Result<Settled> {
    let begun = Instant::now();
    let failed = |error| Error::io(mounted.node, "cannot read its group descriptors", error);
    let device = File::open(mounted.node).map_err(failed)?;
    let superblock = Superblock::read(&device).map_err(failed)?;
    let groups = superblock.groups();
    if !superblock.descriptors_have_flags() {
        return Ok(Settled {
            detail: format!("no lazy initialisation: {groups} groups without descriptor flags"),
            ..Settled::nothing_to_wait_for()
        });
    }
    let before = superblock.groups_not_zeroed(&device).map_err(failed)?;
    let never = mounted
        .options
        .iter()
        .find(|option| matches!(option.as_str(), "noinit_itable" | "ro"));
    let step = Step::new("lazy initialisation").counted_in(Unit::Items("groups".into()));
    progress.begin(step.of(before));
    let mut left = before;
    let errors = errors_of(mounted.node);
    while left > 0 && never.is_none() && begun.elapsed() < timeout {
        if progress.cancelled() {
            return Err(Error::Interrupted {
                doing: "waiting for lazy initialisation".into(),
            });
        }
        thread::sleep(PAUSE);
        // A filesystem that has failed zeroes no more.
        if errors_of(mounted.node) > errors {
            let what = "its filesystem failed while its inode tables were zeroed";
            return Err(Error::io(mounted.node, what, Errno::IO));
        }
        let now = superblock.groups_not_zeroed(&device).map_err(failed)?;
        progress.advance(left.saturating_sub(now));
        left = now;
    }
    progress.end();
    let seconds = begun.elapsed().as_secs_f64();
    let detail = match (left, never) {
        (0, _) => format!("{groups} groups zeroed, {before} of them while waiting {seconds:.1} s"),
        (_, Some(option)) => {
            format!("{left} of {groups} groups not zeroed and never will be: mounted {option}")
        }
        _ => format!(
            "{left} of {groups} groups not zeroed after {seconds:.1} s; ext4lazyinit {}",
            if probe::tasks::lives(&probe::Roots::default(), "ext4lazyinit") {
                "is at work"
            } else {
                "is not running"
            }
        ),
    };
    Ok(Settled {
        holds: left == 0,
        seconds,
        groups_left: left,
        detail,
    })
}
