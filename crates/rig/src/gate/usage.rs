//! Users of a disk, as the kernel reports them: partitions, mounts in any namespace, holders, swap,
//! loop devices on it, the running system.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use probe::mountinfo::{self, Mount};
use rustix::fs::{major, minor};

use super::refusal::Reason;
use crate::host::Host;

/// Every use of `disk` (a sysfs name) or of a partition of it.
pub(super) fn reasons(host: &Host, disk: &str, protected: &[PathBuf]) -> Vec<Reason> {
    let partitions = host.partitions(disk);
    let mut names = vec![disk.to_string()];
    names.extend(partitions.iter().cloned());
    let mut reasons = Vec::new();
    if !partitions.is_empty() {
        reasons.push(Reason::HasPartitions { names: partitions });
    }
    reasons.extend(mounts(host, &names));
    reasons.extend(btrfs(host, &names));
    reasons.extend(holders(host, &names));
    reasons.extend(swap(host, &names));
    reasons.extend(stacked_loops(host, &names));
    reasons.extend(system(host, disk, protected));
    reasons
}

/// Mounts of any of `names`, in every mount namespace that a process lives in. A namespace kept
/// alive by an open file alone is not seen here; the exclusive open catches its mounts.
pub(super) fn mounts(host: &Host, names: &[String]) -> Vec<Reason> {
    let own = fs::read_link(host.path("proc/self/ns/mnt")).ok();
    let mut seen = BTreeSet::new();
    let mut reported = BTreeSet::new();
    let mut reasons = Vec::new();
    let mut pids = vec!["self".to_string()];
    let everyone = host.names("proc").into_iter();
    pids.extend(everyone.filter(|name| name.bytes().all(|b| b.is_ascii_digit())));
    for pid in pids {
        let folder = format!("proc/{pid}");
        // A chrooted process sees only a part of its namespace, so its root belongs to the key.
        let namespace = fs::read_link(host.path(format!("{folder}/ns/mnt"))).ok();
        let root = fs::read_link(host.path(format!("{folder}/root"))).ok();
        let key = (namespace.clone(), root);
        if pid != "self" && (namespace.is_none() || seen.contains(&key)) {
            continue;
        }
        let Ok(text) = fs::read(host.path(format!("{folder}/mountinfo"))) else {
            continue;
        };
        seen.insert(key);
        for mount in mountinfo::parse(&text) {
            let Some(name) = mounted_name(host, &mount, names, &folder) else {
                continue;
            };
            let ours = pid == "self" || namespace == own;
            if !reported.insert((ours, name.clone(), mount.point.clone())) {
                continue;
            }
            reasons.push(if ours {
                Reason::Mounted {
                    name,
                    point: mount.point,
                }
            } else {
                Reason::MountedElsewhere {
                    name,
                    point: mount.point,
                    pid: pid.parse().unwrap_or(0),
                }
            });
        }
    }
    reasons
}

/// Which of `names` a mount is of: by device number, else by its source (btrfs has no number).
fn mounted_name(host: &Host, mount: &Mount, names: &[String], process: &str) -> Option<String> {
    let by_number = names
        .iter()
        .find(|name| host.number_of(name) == Some(mount.device));
    if let Some(name) = by_number {
        return Some(name.clone());
    }
    if mount.device.0 != 0 || !mount.source.is_absolute() {
        return None;
    }
    let plain = names
        .iter()
        .find(|name| mount.source == Path::new("/dev").join(name));
    if let Some(name) = plain {
        return Some(name.clone());
    }
    // The node may have another name, and may exist only in that process's root.
    let relative = mount.source.strip_prefix("/").ok()?;
    let node = host.path(process).join("root").join(relative);
    host.number_of_node(&node)
        .filter(|name| names.contains(name))
}

fn btrfs(host: &Host, names: &[String]) -> Vec<Reason> {
    host.names("sys/fs/btrfs")
        .into_iter()
        .filter(|uuid| {
            host.names(format!("sys/fs/btrfs/{uuid}/devices"))
                .iter()
                .any(|device| names.contains(device))
        })
        .map(|uuid| Reason::BtrfsMember { uuid })
        .collect()
}

fn holders(host: &Host, names: &[String]) -> Vec<Reason> {
    names
        .iter()
        .map(|name| (name, host.holders(name)))
        .filter(|(_, holders)| !holders.is_empty())
        .map(|(name, holders)| Reason::Held {
            name: name.clone(),
            holders,
        })
        .collect()
}

/// Swap devices in use, by sysfs name (/proc/swaps, first column; type `partition` is any device).
fn swap_devices(host: &Host) -> Vec<String> {
    let text = host.text("proc/swaps").unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|path| {
            let path = Path::new(path);
            let by_node = host.number_of_node(path);
            by_node.or_else(|| Some(path.file_name()?.to_string_lossy().into_owned()))
        })
        .collect()
}

fn swap(host: &Host, names: &[String]) -> Vec<Reason> {
    swap_devices(host)
        .into_iter()
        .filter(|name| names.contains(name))
        .map(|name| Reason::Swap { name })
        .collect()
}

/// Loop devices whose backing "file" is the disk or a partition: the kernel does not open it
/// exclusively, so nothing else would tell.
fn stacked_loops(host: &Host, names: &[String]) -> Vec<Reason> {
    host.loops()
        .into_iter()
        .filter(|lo| {
            let by_node = host.number_of_node(&lo.backing);
            let plain = lo
                .backing
                .strip_prefix("/dev")
                .ok()
                .map(|name| name.to_string_lossy().into_owned());
            by_node.or(plain).is_some_and(|name| names.contains(&name))
        })
        .map(|lo| Reason::BacksLoop { lo: lo.name })
        .collect()
}

/// Whether the running system is on the disk, through any number of layers.
fn system(host: &Host, disk: &str, protected: &[PathBuf]) -> Vec<Reason> {
    let places = ["/", "/boot", "/boot/efi", "/usr", "/var", "/home"].map(PathBuf::from);
    let mut reasons = Vec::new();
    let mut numbers = BTreeSet::new();
    for place in places.iter().chain(protected) {
        // Folders of one filesystem are one reason.
        let Ok(meta) = fs::metadata(place) else {
            continue;
        };
        if !numbers.insert((major(meta.dev()), minor(meta.dev()))) {
            continue;
        }
        let below = host.device_below(place);
        if below
            .iter()
            .any(|name| host.ancestry(name).iter().any(|n| n == disk))
        {
            reasons.push(Reason::HoldsSystem {
                what: format!("{} is on it", place.display()),
            });
        }
    }
    for name in swap_devices(host) {
        let above = name != disk && host.disk_of(&name) != disk;
        if above && host.ancestry(&name).iter().any(|n| n == disk) {
            reasons.push(Reason::HoldsSystem {
                what: format!("swap {name} is on it"),
            });
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// An invented host: `sda` with two partitions, dm and md on them, swap, btrfs, loops.
    struct Invented {
        folder: tempfile::TempDir,
    }

    impl Invented {
        fn new() -> Invented {
            let invented = Invented {
                folder: tempfile::tempdir().unwrap(),
            };
            invented.disk("sda", "8:0", &[("sda1", "8:1"), ("sda2", "8:2")]);
            invented.disk("sdb", "8:16", &[]);
            invented
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn disk(&self, name: &str, number: &str, partitions: &[(&str, &str)]) {
            self.file(&format!("sys/block/{name}/dev"), number);
            self.link(
                &format!("sys/class/block/{name}"),
                &format!("sys/block/{name}"),
            );
            for (index, (part, number)) in partitions.iter().enumerate() {
                let folder = format!("sys/block/{name}/{part}");
                self.file(&format!("{folder}/partition"), &format!("{}", index + 1));
                self.file(&format!("{folder}/dev"), number);
                self.link(&format!("sys/class/block/{part}"), &folder);
            }
        }

        fn link(&self, from: &str, to: &str) {
            let from = self.folder.path().join(from);
            fs::create_dir_all(from.parent().unwrap()).unwrap();
            symlink(self.folder.path().join(to), from).unwrap();
        }

        fn reasons(&self, disk: &str) -> Vec<Reason> {
            reasons(&Host::below(self.folder.path()), disk, &[])
        }
    }

    #[test]
    fn an_idle_disk_without_partitions_has_no_reason() {
        assert_eq!(Invented::new().reasons("sdb"), Vec::new());
    }

    #[test]
    fn partitions_the_kernel_knows() {
        let expected = Reason::HasPartitions {
            names: vec!["sda1".into(), "sda2".into()],
        };
        assert_eq!(Invented::new().reasons("sda"), vec![expected]);
    }

    #[test]
    fn a_mounted_partition_here_and_in_another_namespace() {
        let host = Invented::new();
        host.file(
            "proc/self/mountinfo",
            "1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n",
        );
        host.link("proc/self/ns/mnt", "mnt:[1]");
        host.file(
            "proc/77/mountinfo",
            "1 0 0:40 / /else rw - btrfs /dev/sda2 rw\n",
        );
        host.link("proc/77/ns/mnt", "mnt:[2]");
        let reasons = host.reasons("sda");
        assert!(reasons.contains(&Reason::Mounted {
            name: "sda1".into(),
            point: "/data".into()
        }));
        assert!(reasons.contains(&Reason::MountedElsewhere {
            name: "sda2".into(),
            point: "/else".into(),
            pid: 77
        }));
        assert_eq!(host.reasons("sdb"), Vec::new());
    }

    #[test]
    fn holders_of_the_disk_and_of_a_partition() {
        let host = Invented::new();
        host.file("sys/block/sda/sda2/holders/dm-0", "");
        host.file("sys/block/sdb/holders/md127", "");
        assert!(host.reasons("sda").contains(&Reason::Held {
            name: "sda2".into(),
            holders: vec!["dm-0".into()]
        }));
        assert_eq!(
            host.reasons("sdb"),
            vec![Reason::Held {
                name: "sdb".into(),
                holders: vec!["md127".into()]
            }]
        );
    }

    #[test]
    fn swap_on_a_partition_and_swap_on_a_mapping_above_the_disk() {
        let host = Invented::new();
        host.disk("dm-3", "252:3", &[]);
        host.file("sys/block/dm-3/slaves/sdb", "");
        host.file(
            "proc/swaps",
            "Filename Type Size Used Priority\n/nodev/sda2 partition 1 0 -2\n/nodev/dm-3 partition 1 0 -3\n",
        );
        assert!(host.reasons("sda").contains(&Reason::Swap {
            name: "sda2".into()
        }));
        assert_eq!(
            host.reasons("sdb"),
            vec![Reason::HoldsSystem {
                what: "swap dm-3 is on it".into()
            }]
        );
    }

    #[test]
    fn a_second_device_of_a_mounted_btrfs() {
        let host = Invented::new();
        host.file("sys/fs/btrfs/0a-0b/devices/sdb", "");
        assert_eq!(
            host.reasons("sdb"),
            vec![Reason::BtrfsMember {
                uuid: "0a-0b".into()
            }]
        );
    }

    #[test]
    fn a_loop_device_on_the_disk() {
        let host = Invented::new();
        host.disk("loop9", "7:9", &[]);
        host.file("sys/block/loop9/loop/backing_file", "/dev/sdb\n");
        assert_eq!(
            host.reasons("sdb"),
            vec![Reason::BacksLoop { lo: "loop9".into() }]
        );
    }

    #[test]
    fn the_root_disk_through_a_mapping_on_a_partition() {
        let host = Invented::new();
        let meta = fs::metadata("/").unwrap();
        let number = format!("{}:{}", major(meta.dev()), minor(meta.dev()));
        host.disk("dm-0", &number, &[]);
        host.link(&format!("sys/dev/block/{number}"), "sys/block/dm-0");
        host.file("sys/block/dm-0/slaves/sda2", "");
        let reasons = host.reasons("sda");
        assert!(
            reasons.contains(&Reason::HoldsSystem {
                what: "/ is on it".into()
            }),
            "{reasons:?}"
        );
    }
}
