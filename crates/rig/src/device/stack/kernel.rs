//! Whether the running kernel can make a stack.
//!
//! Asked before anything is made: mdadm's and dmsetup's own words for a kernel without them ("Operation
//! not permitted", "Failure to communicate with kernel device-mapper driver") name neither cause nor
//! remedy.

use super::{Stack, run, words};
use crate::host::Host;
use crate::{Error, Result, command};
use progress::Silent;

/// A part of the kernel, its module, and who of the guests has it.
struct Wanted {
    what: &'static str,
    module: &'static str,
    there: fn(&Host, &str) -> bool,
    guests: &'static str,
}

const BOTH: &str = "qemu or uml";
const QEMU: &str = "qemu";

/// Whether the running kernel has what the stack needs; modules are loaded for it.
///
/// # Errors
/// [`Error::MissingProgram`]; [`Error::Cannot`] with a way to a kernel that can.
pub fn available(stack: &Stack) -> Result<()> {
    let host = Host::default();
    super::programs_present(stack)?;
    wanted(stack).iter().try_for_each(|part| has(&host, part))
}

/// Whether a disk can be cut into slices.
pub(super) fn can_slice() -> Result<()> {
    super::locate("dmsetup", "dmsetup")?;
    let host = Host::default();
    [&DM, &target("linear", "dm_mod")]
        .iter()
        .try_for_each(|part| has(&host, part))
}

const MD: Wanted = Wanted {
    what: "md",
    module: "md_mod",
    there: |host, _| host.path("proc/mdstat").exists(),
    guests: BOTH,
};
const DM: Wanted = Wanted {
    what: "device-mapper",
    module: "dm_mod",
    there: |host, _| host.path("sys/class/misc/device-mapper").exists(),
    guests: BOTH,
};
const NULL_BLK: Wanted = Wanted {
    what: "null_blk",
    module: "null_blk",
    there: |host, _| host.path("sys/kernel/config/nullb").exists(),
    guests: QEMU,
};
const CONFIGFS: Wanted = Wanted {
    what: "configfs mounted at /sys/kernel/config",
    module: "configfs",
    there: |host, _| !host.names("sys/kernel/config").is_empty() || mounted(host),
    guests: QEMU,
};

const FUSE: Wanted = Wanted {
    what: "FUSE",
    module: "fuse",
    there: |host, _| super::model::is_available(host),
    guests: QEMU,
};

/// configfs may be mounted and empty.
fn mounted(host: &Host) -> bool {
    let mounts = host.text("proc/self/mounts").unwrap_or_default();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some("/sys/kernel/config"))
}

const fn target(name: &'static str, module: &'static str) -> Wanted {
    Wanted {
        what: name,
        module,
        there: |_, name| targets().iter().any(|target| target == name),
        guests: BOTH,
    }
}

const fn personality(level: &'static str, module: &'static str) -> Wanted {
    Wanted {
        what: level,
        module,
        there: |host, level| {
            let text = host.text("proc/mdstat").unwrap_or_default();
            personalities(&text).any(|word| word == level)
        },
        guests: BOTH,
    }
}

fn wanted(stack: &Stack) -> Vec<Wanted> {
    match stack {
        Stack::Md(md) => {
            let module = match md.level {
                "raid5" | "raid6" => "raid456",
                other => other,
            };
            vec![MD, personality(md.level, module)]
        }
        Stack::Stripe { .. } => vec![DM, target("striped", "dm_mod")],
        Stack::Lvm { .. } => vec![DM, target("striped", "dm_mod"), target("linear", "dm_mod")],
        Stack::Delay { .. } => vec![DM, target("delay", "dm_delay")],
        Stack::Flakey { .. } => vec![DM, target("flakey", "dm_flakey")],
        Stack::LogWrites => vec![DM, target("log-writes", "dm_log_writes")],
        Stack::NullBlk(_) => vec![CONFIGFS, NULL_BLK],
        Stack::Model(_) => vec![FUSE],
    }
}

fn has(host: &Host, part: &Wanted) -> Result<()> {
    if (part.there)(host, part.what) {
        return Ok(());
    }
    if let Some(modprobe) = command::locate("modprobe") {
        let argv = [
            modprobe.display().to_string(),
            "-q".into(),
            part.module.into(),
        ];
        let loaded = command::run(&argv, "", &Silent);
        if loaded.is_ok() && (part.there)(host, part.what) {
            return Ok(());
        }
    }
    let release = rustix::system::uname();
    Err(Error::Cannot {
        thing: format!("kernel {}", release.release().to_string_lossy()),
        what: format!("it has no {}", part.what),
        why: format!("neither built in nor as a module {}", part.module),
        next: format!("run with --executor {}", part.guests),
    })
}

/// `Personalities : [raid0] [raid6] [raid5]`.
fn personalities(mdstat: &str) -> impl Iterator<Item = &str> {
    let line = mdstat
        .lines()
        .find_map(|line| line.strip_prefix("Personalities :"));
    let words = line.unwrap_or_default().split_whitespace();
    words.map(|word| word.trim_matches(['[', ']']))
}

/// Targets that the kernel has now; none when it has no device-mapper.
fn targets() -> Vec<String> {
    let listed = run("dmsetup", "dmsetup", &words(["targets"]));
    let listed = listed.map(|out| out.stdout).unwrap_or_default();
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    listed.lines().filter_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personalities_are_words_in_brackets() {
        let text = "Personalities : [raid0] [raid6] [raid5] [raid4] \nunused devices: <none>\n";
        let found: Vec<&str> = personalities(text).collect();
        assert_eq!(found, ["raid0", "raid6", "raid5", "raid4"]);
        assert_eq!(personalities("").count(), 0);
    }

    #[test]
    fn a_kernel_that_lacks_it_names_the_guests() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::below(root.path());
        let nothing = Wanted {
            what: "md",
            module: "no_such_module_of_fslab",
            there: |host, _| host.path("proc/mdstat").exists(),
            guests: BOTH,
        };
        let error = has(&host, &nothing).unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        let text = error.to_string();
        assert!(
            text.contains("it has no md: ") && text.ends_with("run with --executor qemu or uml"),
            "{text}"
        );
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/mdstat"), "").unwrap();
        has(&host, &nothing).unwrap();
    }
}
