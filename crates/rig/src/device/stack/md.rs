//! md arrays, made by mdadm.
//!
//! The array's UUID is ours, derived from the journal's folder and the trial, and is what `clean`
//! knows it by: the number of an array is given away again. Bitmaps are off: they would write to
//! the members beside the load, and a trial's array never needs a short resync. Data begins 1 MiB into
//! each member, so that the same study gives the same offsets whatever the members' size; mdadm
//! alone would choose by size.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{await_some, run, words};
use crate::host::Host;
use crate::reversal::PATIENCE;
use crate::{Error, Result};

const PROGRAM: &str = "mdadm";
const PACKAGE: &str = "mdadm";
/// Where data begins on a member, where the metadata version lets one say it.
const DATA_OFFSET: &str = "--data-offset=1024K";
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
    // --run: asks nothing, whatever lies on the members.
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

/// Waits for the first resync.
pub(super) fn in_sync(host: &Host, name: &str, cancelled: &dyn Fn() -> bool) -> Result<()> {
    loop {
        let action = host.text(format!("sys/block/{name}/md/sync_action"));
        if action.is_none_or(|action| action == "idle") {
            return Ok(());
        }
        if cancelled() {
            return Err(Error::Interrupted {
                doing: format!("waiting for the resync of {name}"),
            });
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn name_of(node: &Path) -> String {
    let name = node.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether the array at `node` is there and is the one that was made.
pub(super) fn is_ours(host: &Host, node: &Path, uuid: &str) -> bool {
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

    #[test]
    fn mdadm_is_told_everything_it_might_ask_or_choose() {
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
