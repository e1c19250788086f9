//! A kernel with OCFS2, in User-mode Linux: it mounts a forged volume, reads everything back, and writes to it.
//!
//! The guest's root is this machine's, read-only (hostfs); its init is a script. What it reads comes out as a tar archive on a second disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use forge::ocfs2::attributes;
use forge::population::{FileKind, Listed, Population};

use super::clean::{RICH, sizes};
use super::common::{Forged, forge, fsck, tools};
use super::readback::compare;

const INIT: &str = r#"#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
modules=/usr/lib/uml/modules/$(uname -r)
order=kernel/fs/ocfs2/ocfs2.ko
for module in $(grep "^$order:" "$modules/modules.dep" | cut -d: -f2); do order="$module $order"; done
for module in $order; do insmod "$modules/$module" 2>&1; done
mkdir /mnt/volume
cd /mnt
mount -i -t ocfs2 -o ro /dev/ubda /mnt/volume && echo "guest: mounted"
tar -cf /dev/ubdb --xattrs --xattrs-include='*' -C /mnt/volume . && echo "guest: read"
umount /mnt/volume
mount -i -t ocfs2 /dev/ubda /mnt/volume
made=0
for folder in $(find /mnt/volume -mindepth 1 -type d | sort | head -n 9); do
  for nth in $(seq 120); do
    head -c $((nth * 97)) /dev/zero >"$folder/a new file with the number $nth" && made=$((made + 1))
  done
  find "$folder" -maxdepth 1 -type f -name 'f*' | awk 'NR % 3 == 0' | tr '\n' '\0' | xargs -0 -r rm
  mkdir -p "$folder/a/b/c"
done
umount /mnt/volume && echo "guest: made $made"
echo o >/proc/sysrq-trigger
sleep 9
"#;

/// Boots the guest; returns its console, or none where no User-mode Linux is installed, or where it does not run here.
fn boot(image: &Path, tar: &Path, folder: &Path) -> Option<String> {
    let needed = std::env::var_os("FSLAB_NEED_GUESTS").is_some();
    let init = folder.join("init");
    fs::write(&init, INIT).unwrap();
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).unwrap();
    let file = fs::File::create(tar).unwrap();
    file.set_len(600 << 20).unwrap();
    let output = Command::new("linux.uml")
        .args([
            "mem=512M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "con=null",
            "con0=null,fd:1",
            "seccomp=on",
        ])
        .arg(format!("ubd0={}", image.display()))
        .arg(format!("ubd1={}", tar.display()))
        .arg(format!("init={}", init.display()))
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            assert!(!needed, "linux.uml: {error}");
            testkit::skip!("needs user-mode-linux");
            return None;
        }
    };
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    if !console.contains("Run ") || !console.contains("as init process") {
        assert!(!needed, "{console}");
        testkit::skip!(
            "User-mode Linux does not run here: {}",
            console.lines().last().unwrap_or_default()
        );
        return None;
    }
    Some(console)
}

fn check_attributes(population: &Population, directory: u32, at: &Path) -> usize {
    use std::os::unix::ffi::OsStrExt as _;
    let mut seen = 0;
    for named in population.list(directory) {
        let path = at.join(std::ffi::OsStr::from_bytes(&named.name));
        match named.what {
            Listed::LostAndFound => {}
            Listed::Directory(child) => seen += check_attributes(population, child, &path),
            // A socket is in no archive.
            Listed::File(id) if population.file_kind(id) == FileKind::Socket => {}
            Listed::File(id) => {
                for (name, value) in attributes(population, id) {
                    let mut found = vec![0; 4096];
                    let len = rustix::fs::lgetxattr(&path, name.as_str(), &mut found[..])
                        .unwrap_or_else(|error| panic!("{} {name}: {error}", path.display()));
                    assert!(found[..len] == value, "{} {name}", path.display());
                    seen += 1;
                }
            }
        }
    }
    seen
}

fn round(forged: &Forged, with_attributes: bool) -> bool {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tar = folder.path().join("tar");
    let Some(console) = boot(&forged.image, &tar, folder.path()) else {
        return false;
    };
    for line in ["guest: mounted", "guest: read", "guest: made "] {
        assert!(console.contains(line), "{line}: {console}");
    }
    let made = console
        .split("guest: made ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let made: u64 = made.unwrap().trim().parse().unwrap();
    assert!(made >= 600, "{console}");
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let status = Command::new("tar")
        .args(["--xattrs", "--xattrs-include=*", "-xf"])
        .arg(&tar)
        .arg("-C")
        .arg(&out)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(compare(&forged.population, 0, &out, 4096) > 2500);
    if with_attributes {
        assert!(check_attributes(&forged.population, 0, &out) > 1000);
    }
    let after = fsck(&forged.image);
    assert_eq!(after.code, Some(0), "{}", after.text);
    let problems = after.problems(forged.system_directory());
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(after.count("regular file") > made);
    true
}

#[test]
fn a_kernel_reads_everything_back_and_writes_needs_uml() {
    if !tools() || !testkit::root!("the archive has devices, owners and security attributes") {
        return;
    }
    for metaecc in [false, true] {
        let mut options = sizes("700M", 4096, 4096);
        if metaecc {
            options.features = vec!["metaecc".to_owned()];
        }
        let forged = forge(&options, RICH).unwrap();
        if !round(&forged, true) {
            return;
        }
    }
}
