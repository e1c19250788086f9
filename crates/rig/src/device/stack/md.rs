//! md arrays, made by mdadm.
//!
//! The array's UUID is ours, derived from the journal's folder and the trial, and is what `clean`
//! knows it by: the number of an array is given away again. Bitmaps are off: they would write to
//! the members beside the load, and a trial's array never needs a short resync. Data begins 1 MiB into
//! each member, so that the same study gives the same offsets whatever the members' size; mdadm
//! alone would choose by size.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{await_some, run, words};
use crate::host::Host;
use crate::undo::actions::PATIENCE;
use crate::{Error, Result};
use progress::{Progress, Step};

const PROGRAM: &str = "mdadm";
const PACKAGE: &str = "mdadm";
/// Where data begins on a member, where the metadata version lets one say it.
const DATA_OFFSET: &str = "--data-offset=1024K";
/// An array that is not in sync and rests for so long does not become it.
const IDLE: Duration = Duration::from_secs(30);
/// Numbers that are tried for a free array.
const NUMBERS: std::ops::Range<u32> = 0..128;

/// An array to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Md {
    /// `raid0`, `raid1`, `raid5`, `raid6`, `raid10`.
    pub level: &'static str,
    /// Bytes on one member before the next; none for copies.
    pub chunk: Option<u64>,
    /// `0.90`, `1.0`, `1.1`, `1.2`.
    pub metadata: &'static str,
    /// Leave the first resync out; otherwise it is waited for.
    pub assume_clean: bool,
}

/// A number that no array has.
pub(super) fn free_node(host: &Host) -> Result<PathBuf> {
    let free = NUMBERS
        .map(|number| format!("md{number}"))
        .find(|name| !host.path(format!("sys/block/{name}/md")).exists());
    free.map(|name| Path::new("/dev").join(name))
        .ok_or_else(|| Error::Cannot {
            thing: "md".into(),
            what: "no free array".into(),
            why: format!("{} exist already", NUMBERS.end),
            next: "stop some (mdadm --stop)".into(),
        })
}

/// A UUID as mdadm writes it, from words that name the array.
pub(super) fn uuid(words: &str) -> String {
    let plain = crate::filesystem::uuid::of_disk(words).replace('-', "");
    let parts: Vec<&str> = (0..4).map(|part| &plain[part * 8..part * 8 + 8]).collect();
    parts.join(":")
}

/// The command that makes an array.
fn command(md: &Md, node: &Path, uuid: &str, members: &[PathBuf]) -> Vec<String> {
    let mut line = words(["--create"]);
    line.push(node.display().to_string());
    // --run: asks nothing, with any data on the members.
    line.extend(words(["--run", "--homehost=any", "--name=fslab"]));
    line.push(format!("--uuid={uuid}"));
    line.push(format!("--level={}", md.level));
    line.push(format!("--metadata={}", md.metadata));
    line.push(format!("--raid-devices={}", members.len()));
    if let Some(chunk) = md.chunk {
        line.push(format!("--chunk={}K", chunk >> 10));
    }
    if matches!(md.metadata, "1.1" | "1.2") {
        line.push(DATA_OFFSET.into());
    }
    if md.level != "raid0" {
        line.push("--bitmap=none".into());
        if md.assume_clean {
            line.push("--assume-clean".into());
        }
    }
    line.extend(members.iter().map(|member| member.display().to_string()));
    line
}

/// Makes the array; returns its sysfs name.
pub(super) fn create(
    host: &Host,
    md: &Md,
    node: &Path,
    uuid: &str,
    members: &[PathBuf],
) -> Result<String> {
    run(PROGRAM, PACKAGE, &command(md, node, uuid, members))?;
    let name = name_of(node);
    await_some(PATIENCE, || {
        let state = state(host, &name)?;
        (!matches!(state.as_str(), "clear" | "inactive")).then_some(())
    })
    .ok_or_else(|| Error::Cannot {
        thing: node.display().to_string(),
        what: "the new array does not start".into(),
        why: state(host, &name).unwrap_or_else(|| "sysfs does not show it".into()),
        next: "see /proc/mdstat and the kernel log (dmesg)".into(),
    })?;
    Ok(name)
}

fn state(host: &Host, name: &str) -> Option<String> {
    host.text(format!("sys/block/{name}/md/array_state"))
}

/// Waits for the first resync. A new RAID-5 has none: mdadm makes it degraded and rebuilds its last member, so that is
/// waited for as well.
pub(super) fn in_sync(host: &Host, name: &str, progress: &dyn Progress) -> Result<()> {
    progress.begin(Step::new(format!("resync of {name}")));
    let mut busy = Instant::now();
    loop {
        let now = Resync::of(host, name);
        if now.is_over() {
            progress.end();
            return Ok(());
        }
        if !now.idle {
            busy = Instant::now();
        }
        // The kernel's thread begins a moment after the array; a member that failed never comes back.
        if busy.elapsed() >= IDLE {
            return Err(Error::Cannot {
                thing: name.into(),
                what: "does not become in sync".into(),
                why: now.left,
                next: "see /proc/mdstat and the kernel log (dmesg)".into(),
            });
        }
        if progress.cancelled() {
            return Err(Error::Interrupted {
                doing: format!("waiting for the resync of {name}"),
            });
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// How far an array is from being in sync, by its attributes in sysfs.
struct Resync {
    idle: bool,
    /// What is missing, in words; empty: nothing.
    left: String,
}

impl Resync {
    fn of(host: &Host, name: &str) -> Resync {
        let text = |item: &str| host.text(format!("sys/block/{name}/md/{item}"));
        let mut left = Vec::new();
        if let Some(members) = text("degraded").filter(|members| members != "0") {
            left.push(format!("{members} members are missing or not rebuilt"));
        }
        if let Some(sector) = text("resync_start").filter(|sector| sector != "none") {
            left.push(format!("it is in sync up to sector {sector}"));
        }
        Resync {
            idle: text("sync_action").is_none_or(|action| action == "idle"),
            left: left.join(", and "),
        }
    }

    fn is_over(&self) -> bool {
        self.idle && self.left.is_empty()
    }
}

fn name_of(node: &Path) -> String {
    let name = node.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether the array at `node` is there and is the one that was made.
pub(crate) fn is_ours(host: &Host, node: &Path, uuid: &str) -> bool {
    let name = name_of(node);
    if state(host, &name).is_none_or(|state| state == "clear") {
        return false;
    }
    let mut line = words(["--detail", "--export"]);
    line.push(node.display().to_string());
    run(PROGRAM, PACKAGE, &line).is_ok_and(|out| {
        let mut lines = out.stdout.lines();
        lines.any(|line| line.strip_prefix("MD_UUID=") == Some(uuid))
    })
}

/// Stops the array if it is ours; not there is success.
pub(super) fn stop(host: &Host, node: &Path, uuid: &str) -> Result<()> {
    let mut line = words(["--stop"]);
    line.push(node.display().to_string());
    let mut last = None;
    let gone = await_some(PATIENCE, || {
        if !is_ours(host, node, uuid) {
            return Some(());
        }
        last = run(PROGRAM, PACKAGE, &line).err();
        None
    });
    match (gone, last) {
        (Some(()), _) => Ok(()),
        (None, why) => Err(Error::NotUndone {
            thing: node.display().to_string(),
            why: why.map_or_else(|| "it is there still".into(), |error| error.to_string()),
            next: format!("end its use, then: mdadm --stop {}", node.display()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use progress::{Silent, Until};

    #[test]
    fn mdadm_is_given_every_option_it_might_ask_for_or_choose() {
        let md = Md {
            level: "raid5",
            chunk: Some(64 << 10),
            metadata: "1.2",
            assume_clean: true,
        };
        let members = ["/dev/loop0", "/dev/loop1", "/dev/loop2"].map(PathBuf::from);
        let line = command(&md, Path::new("/dev/md0"), "a:b:c:d", &members).join(" ");
        assert_eq!(
            line,
            "--create /dev/md0 --run --homehost=any --name=fslab --uuid=a:b:c:d --level=raid5 \
             --metadata=1.2 --raid-devices=3 --chunk=64K --data-offset=1024K --bitmap=none \
             --assume-clean /dev/loop0 /dev/loop1 /dev/loop2"
        );
        let old = Md {
            level: "raid0",
            metadata: "0.90",
            ..md
        };
        let line = command(&old, Path::new("/dev/md0"), "a:b:c:d", &members).join(" ");
        assert!(
            !line.contains("offset") && !line.contains("clean") && !line.contains("bitmap"),
            "{line}"
        );
    }

    #[test]
    fn an_array_is_in_sync_when_nothing_is_missing_and_no_resync_runs() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        let attributes = root.path().join("sys/block/md0/md");
        std::fs::create_dir_all(&attributes).unwrap();
        let set = |action: &str, degraded: &str, resync_start: &str| {
            let all = [
                ("sync_action", action),
                ("degraded", degraded),
                ("resync_start", resync_start),
            ];
            for (name, value) in all {
                std::fs::write(attributes.join(name), format!("{value}\n")).unwrap();
            }
            Resync::of(&host, "md0")
        };
        assert!(set("idle", "0", "none").is_over());
        assert!(!set("resync", "0", "none").is_over());
        // Just made: the thread has not begun.
        let rebuilt = set("idle", "1", "0");
        assert!(!rebuilt.is_over());
        assert_eq!(
            rebuilt.left,
            "1 members are missing or not rebuilt, and it is in sync up to sector 0"
        );
        // RAID-0 has no such attributes.
        assert!(Resync::of(&host, "md7").is_over());
        set("idle", "0", "none");
        in_sync(&host, "md0", &Silent).unwrap();
        set("recover", "1", "none");
        let stopped = in_sync(&host, "md0", &Until::silent(|| true)).unwrap_err();
        assert!(matches!(stopped, Error::Interrupted { .. }), "{stopped}");
    }

    #[test]
    fn an_arrays_uuid_follows_from_its_words() {
        let one = uuid("run 7 trial 0");
        assert_eq!(one.len(), 35);
        assert_eq!(one.matches(':').count(), 3);
        assert_eq!(one, uuid("run 7 trial 0"));
        assert_ne!(one, uuid("run 7 trial 1"));
    }

    #[test]
    fn the_first_number_without_an_array_is_free() {
        let root = tempfile::tempdir().unwrap();
        for name in ["md0", "md2"] {
            std::fs::create_dir_all(root.path().join("sys/block").join(name).join("md")).unwrap();
        }
        let host = Host::below(root.path());
        assert_eq!(free_node(&host).unwrap(), Path::new("/dev/md1"));
        stop(&host, Path::new("/dev/md5"), "x").unwrap();
    }
}
