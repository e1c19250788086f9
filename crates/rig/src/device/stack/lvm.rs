//! A striped logical volume.
//!
//! LVM gets the full list of devices to scan, without udev: the machine's own groups are none of
//! its business here, and its configuration is not the study's. A volume is a device-mapper device; when
//! that is removed nothing of LVM is left but what is on the members, which go with them.

use std::path::PathBuf;

use super::{dm, run, words};
use crate::Result;
use crate::host::Host;

const PROGRAM: &str = "lvm";
const PACKAGE: &str = "lvm2";
/// The volume's name within its group.
const VOLUME: &str = "data";
/// The least extent: members hold whole MiB.
const EXTENT: u64 = 1 << 20;

/// device-mapper's name of the volume of a group (whose name has no hyphen, which LVM would double).
pub(super) fn mapped(group: &str) -> String {
    format!("{group}-{VOLUME}")
}

/// LVM's configuration: only these members, no udev, no daemons, no files.
fn config(members: &[PathBuf]) -> String {
    let accept = |member: &PathBuf| format!("\"a|^{}$|\"", member.display());
    let accepted: Vec<String> = members.iter().map(accept).collect();
    format!(
        "devices {{ global_filter=[{}, \"r|.*|\"] filter=[\"a|.*|\"] use_devicesfile=0 \
         obtain_device_list_from_udev=0 multipath_component_detection=0 md_component_detection=0 \
         scan=[\"/dev\"] }} \
         activation {{ udev_sync=0 udev_rules=0 verify_udev_operations=0 monitoring=0 }} \
         global {{ event_activation=0 use_lvmpolld=0 use_lvmlockd=0 }} \
         backup {{ backup=0 archive=0 }}",
        accepted.join(", ")
    )
}

/// Makes group and volume over the members; returns the volume's sysfs name.
pub(super) fn create(host: &Host, group: &str, members: &[PathBuf], chunk: u64) -> Result<String> {
    let config = config(members);
    let nodes = || members.iter().map(|member| member.display().to_string());
    let lvm = |given: Vec<String>| {
        let mut line = given;
        line.extend(words(["--config", &config]));
        run(PROGRAM, PACKAGE, &line)
    };
    let mut line = words(["pvcreate", "-ff", "-y"]);
    line.extend(nodes());
    lvm(line)?;
    let extent = format!("{}k", chunk.max(EXTENT) >> 10);
    let mut line = words(["vgcreate", "-y", "-s", &extent, group]);
    line.extend(nodes());
    lvm(line)?;
    let (stripes, size) = (members.len().to_string(), format!("{}k", chunk >> 10));
    lvm(words([
        "lvcreate", "-y", "-Wn", "-Zn", "-i", &stripes, "-I", &size, "-l", "100%FREE", "-n",
        VOLUME, group,
    ]))?;
    dm::appeared(host, &mapped(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lvm_looks_at_the_members_alone() {
        let config = config(&["/dev/loop0", "/dev/loop1"].map(PathBuf::from));
        assert!(
            config.contains(r#"global_filter=["a|^/dev/loop0$|", "a|^/dev/loop1$|", "r|.*|"]"#),
            "{config}"
        );
        assert_eq!(mapped("fslab_7_0"), "fslab_7_0-data");
    }
}
