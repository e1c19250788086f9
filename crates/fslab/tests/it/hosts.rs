//! What only a host with md and device-mapper can do, on a machine without: User-mode Linux is booted on this machine's
//! own root folder, read-only, and acts as such a host. The same binary runs in it by `--executor host`, as root, with
//! all its results in a tmpfs that disappears with the kernel.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::guests::{Uml, can};
use device::array::{Layout, Level, ends};

/// Memory of the kernel in MiB; it holds the images.
const MEMORY: u64 = 2000;
/// Setup before the commands. Modules are in the order of their dependencies.
const PROLOGUE: &str = r#"#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mount -t tmpfs -o size=1500m tmp /mnt
for module in loop dm-mod dm-flakey dm-log-writes libcrc32c xor raid6_pq async_tx async_memcpy async_xor async_pq \
    async_raid6_recov md-mod raid456; do
  file=$(find /usr/lib/uml/modules -name "$module.ko" | head -1)
  [ -n "$file" ] && insmod "$file"
done
cd /mnt
run() {
  "$FSLAB" run journal --profile quick --filter filesystem=ext4 --filter workload=compilebench \
    --set device.size=160m --set run.reference_seconds=0 --blocks 1 --executor host --out /mnt/run "$@" \
    > out.txt 2> err.txt
}
left() {
  echo "$1: $(grep -c '^md' /proc/mdstat) arrays, $(dmsetup ls | grep -c fslab) mapped, $(losetup -a | grep -c /mnt)" \
    "loops, $(grep -c ' /mnt/run' /proc/mounts) mounts, $(ls /mnt/run/images | wc -l) images"
}
"#;
const EPILOGUE: &str = "\necho the end\necho o > /proc/sysrq-trigger\nsleep 60\n";

/// Whether such a host can run here.
fn can_host() -> bool {
    if !common::is_root() {
        testkit::skip!("needs root");
        return false;
    }
    if !can("uml") {
        return false;
    }
    let there = |program: &str| {
        let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        folders
            .iter()
            .any(|folder| Path::new(folder).join(program).exists())
    };
    let missing = ["insmod", "dmsetup", "mdadm"]
        .into_iter()
        .find(|p| !there(p));
    if let Some(program) = missing {
        testkit::skip!("needs {program}");
    }
    missing.is_none()
}

/// Runs commands on such a host; returns their output.
fn on_a_host(commands: &str) -> String {
    let temp = tempfile::tempdir().unwrap();
    let init = temp.path().join("init");
    let fslab = format!("FSLAB={}\n", env!("CARGO_BIN_EXE_fslab"));
    let text = [PROLOGUE, &fslab, commands, EPILOGUE].concat();
    fs::write(&init, text).unwrap();
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).unwrap();
    let uml = Uml::of_this_machine();
    let mut kernel = Command::new("unshare");
    kernel.args(["--pid", "--fork", "--kill-child"]);
    if let Some(libraries) = &uml.libraries {
        // Only for the kernel: unshare and env use this machine's libraries.
        std::os::unix::fs::symlink(libraries, temp.path().join("lib")).unwrap();
        kernel.args(["env", "LD_LIBRARY_PATH=lib"]);
    }
    kernel
        .arg(&uml.image)
        .args(&uml.append)
        .arg(format!("mem={MEMORY}M"))
        .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
        .args(["loglevel=3", "con=null", "con0=null,fd:1"])
        .arg(format!("init={}", init.display()))
        .current_dir(temp.path())
        .stdin(Stdio::null());
    if let Some(folder) = memory_folder(temp.path()) {
        kernel.env("TMPDIR", folder);
    }
    let output = kernel.output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(message.contains("the end"), "{message}");
    message
}

/// A folder for its memory file, if the default does not work: a container's /dev/shm is small, or noexec.
fn memory_folder(temp: &Path) -> Option<&Path> {
    let stat = rustix::fs::statvfs("/dev/shm").ok();
    let fits = stat.is_some_and(|stat| {
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        free > MEMORY << 20 && !stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
    });
    (!fits).then_some(temp)
}

/// A host's own kernel logs a plain device's writes, to an image beside it.
#[test]
fn a_trial_of_a_host_survives_a_power_cut_at_any_flush_needs_root_needs_uml() {
    if !can_host() {
        return;
    }
    let message = on_a_host(
        "run --set crash.enabled=true --set crash.most=3\ncat err.txt\n\
         grep -A14 '^Crash' run/report.txt\ngrep -o 'write_log_whole.*left it' run/events.jsonl\nleft after\n",
    );
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("by dm-log-writes"), "{message}");
    assert!(message.contains("3 of 3 after recovery"), "{message}");
    assert!(message.contains("on 3 of 3 recovered images"), "{message}");
    let whole = "write_log_whole\",\"holds\":true";
    assert!(message.contains(whole), "{message}");
    assert!(message.contains(NOTHING), "{message}");
}

/// A host's own kernel cuts the power of an image, which is then checked.
#[test]
fn the_power_of_a_hosts_device_is_cut_needs_root_needs_uml() {
    if !can_host() {
        return;
    }
    let message = on_a_host(
        "run --set crash.enabled=true --set crash.method=cut\ncat err.txt\n\
         grep -A14 '^Crash' run/report.txt\ngrep -o 'power_cut\",\"holds\":[a-z]*' run/events.jsonl\nleft after\n",
    );
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("by dm-flakey"), "{message}");
    assert!(message.contains("1 of 1 after recovery"), "{message}");
    assert!(message.contains("power_cut\",\"holds\":true"), "{message}");
    assert!(message.contains(NOTHING), "{message}");
}

const NOTHING: &str = "after: 0 arrays, 0 mapped, 0 loops, 0 mounts, 0 images";

/// kill -9 of the lab while its array is mounted: its devices and mounts stay, and `fslab clean` removes them from the
/// top down, from its undo journal.
#[test]
fn a_killed_lab_leaves_a_stack_that_clean_takes_down_needs_root_needs_uml() {
    if !can_host() {
        return;
    }
    let message = on_a_host(
        "run --set device=raid5 &\n\
         until grep -qs '\"made\":\"mount\",' run/undo.jsonl; do kill -0 $! || break; done\n\
         kill -9 $(pgrep -P $! -x fslab || echo $!)\nwait\nleft before\n\
         $FSLAB clean run\necho \"code $?\"\nleft after\ncat err.txt\n",
    );
    assert!(
        message.contains("before: 1 arrays, 0 mapped, 11 loops, 1 mounts, 11 images"),
        "{message}"
    );
    let place = |what: &str| {
        message
            .find(what)
            .unwrap_or_else(|| panic!("no {what:?}: {message}"))
    };
    let order = [
        "undone: mount /mnt/run/mnt/1",
        "undone: md array /dev/md",
        "undone: loop device /dev/loop",
        "undone: image /mnt/run/images",
    ];
    assert!(order.map(place).is_sorted(), "{message}");
    assert!(message.contains("code 0"), "{message}");
    assert!(message.contains(NOTHING), "{message}");
}

/// Bytes of a chunk of the arrays below.
const CHUNK: u64 = 65_536;
/// Disks of these.
const DISKS: usize = 4;
/// Rows of them that are compared.
const ROWS: u64 = 10;

/// Makes an array of each level, and a striped mapping, of four images; writes the pattern through each; prints the first number of
/// each chunk of each image.
const ARRAYS: &str = r#"
for module in raid0 raid1 raid10; do
  insmod "$(find /usr/lib/uml/modules -name "$module.ko" | head -1)"
done
export MDADM_NO_UDEV=1
for level in 0 5 6 10 striped; do
  nodes=
  for disk in 0 1 2 3; do
    truncate -s 9M $level-$disk.img
    nodes="$nodes $(losetup --find --show $level-$disk.img)"
  done
  if [ $level = striped ]; then
    table="0 65536 striped 4 128"
    for node in $nodes; do table="$table $node 0"; done
    dmsetup create striped --table "$table" && dmsetup mknodes
    array=/dev/mapper/striped
  else
    clean='--assume-clean --bitmap=none'
    [ $level = 0 ] && clean=
    array=/dev/md7
    mdadm --create $array --run --force --metadata=1.0 --level=$level --raid-devices=4 --chunk=64 $clean $nodes 2> err.txt || cat err.txt
  fi
  dd if="$PATTERN" of=$array bs=1M conv=fsync 2> err.txt || cat err.txt
  if [ $level = striped ]; then dmsetup remove striped; else mdadm --stop $array 2> err.txt || cat err.txt; fi
  for node in $nodes; do losetup -d $node; done
  for disk in 0 1 2 3; do
    echo "chunks of $level $(od -A n -v -t u8 -w65536 -N 655360 $level-$disk.img | cut -c 1-21)" | tr '\n' ' '
    echo
  done
done
"#;

/// Makes a striped and a linear logical volume of four images of two sizes with LVM itself; writes the pattern through each; prints
/// the table that LVM gave the kernel, and the first number of each chunk of each image, from where LVM's own data end.
const VOLUMES: &str = r#"
mount -t tmpfs run /run
lvm() {
  command lvm "$@" --config 'devices { filter=["a|^/dev/loop|", "r|.*|"] use_devicesfile=0
    obtain_device_list_from_udev=0 scan=["/dev"] }
    activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 monitoring=0 }
    global { event_activation=0 locking_dir="/run" } backup { backup=0 archive=0 }' >> lvm.txt 2>> err.txt || cat err.txt
}
for type in striped linear; do
  nodes=
  for disk in 0 1 2 3; do
    truncate -s $((2 + disk % 2))M $type-$disk.img
    nodes="$nodes $(losetup --find --show $type-$disk.img)"
  done
  lvm pvcreate -ff -y --dataalignment 1m --metadatasize 512k $nodes
  lvm vgcreate -y -s 1m pattern $nodes
  shape='--type linear -l 100%FREE' mib=6
  [ $type = striped ] && shape='--type striped -i 4 -I 64k -l 4' mib=4
  lvm lvcreate -y -Wn -Zn $shape -n $type pattern
  dmsetup mknodes
  names= disk=0
  for node in $nodes; do names="$names;s/ 7:${node#/dev/loop} / disk-$disk /"; disk=$((disk + 1)); done
  dmsetup table pattern-$type | sed "s/^/table of $type /$names"
  dd if="$PATTERN" of=/dev/mapper/pattern-$type bs=1M count=$mib conv=fsync 2> err.txt || cat err.txt
  lvm vgchange -an pattern
  for node in $nodes; do losetup -d $node; done
  for disk in 0 1 2 3; do
    echo "chunks of $type $(od -A n -v -t u8 -w65536 -j 1048576 -N 655360 $type-$disk.img | cut -c 1-21)" | tr '\n' ' '
    echo
  done
done
"#;

/// Each chunk has its own number everywhere, so that a parity that is their sum is one, too.
fn number(chunk: u64) -> u64 {
    (1 << 20) + chunk * chunk
}

/// A file of chunks with their numbers.
fn pattern(folder: &Path, chunks: u64) -> String {
    let bytes: Vec<u8> = (0..chunks)
        .flat_map(|chunk| number(chunk).to_le_bytes().repeat(CHUNK as usize / 8))
        .collect();
    let path = folder.join("pattern");
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// The numbers of the first rows of each image, as they were printed.
fn members(message: &str, name: &str) -> Vec<Vec<u64>> {
    let lead = format!("chunks of {name} ");
    let lines = message.lines();
    let lines = lines.filter_map(|line| line.trim_end().strip_prefix(&lead));
    let numbers = |line: &str| -> Vec<u64> {
        let words = line.split_whitespace();
        words.map(|number| number.parse().unwrap()).collect()
    };
    let disks: Vec<Vec<u64>> = lines.map(numbers).collect();
    assert_eq!(disks.len(), DISKS, "{name}: {message}");
    let rows = |disk: &Vec<u64>| disk.len() as u64 == ROWS;
    assert!(disks.iter().all(rows), "{message}");
    disks
}

/// Data, with all of its copies, is where a layout says, as far as that is within the rows; returns how many chunks were compared.
fn compare(name: &str, layout: &Layout, chunks: u64, disks: &[Vec<u64>]) -> u64 {
    let mut compared = 0;
    for chunk in 0..chunks {
        let mut parts = Vec::new();
        layout.write(chunk * CHUNK, CHUNK, &mut parts);
        for part in parts {
            let row = (part.address / CHUNK) as usize;
            if let Some(found) = disks[part.member].get(row) {
                assert_eq!(*found, number(chunk), "{name}: chunk {chunk}, {part:?}");
                compared += 1;
            }
        }
    }
    compared
}

/// The mappings of modelled arrays are those of md and of device-mapper: a pattern written through them is read back from the members.
#[test]
fn arrays_of_the_kernel_lie_where_models_say_needs_root_needs_uml() {
    if !can_host() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = pattern(temp.path(), ROWS * DISKS as u64);
    let message = on_a_host(&format!("PATTERN={path}\n{ARRAYS}"));
    for (name, level) in [
        ("0", Level::Raid0),
        ("5", Level::Raid5),
        ("6", Level::Raid6),
        ("10", Level::Raid10),
        ("striped", Level::Raid0),
    ] {
        let disks = members(&message, name);
        let layout = Layout {
            level,
            chunk: CHUNK,
            members: DISKS,
            member_size: 8 << 20,
            ends: Vec::new(),
            failed: Vec::new(),
            rebuilt: 0,
        };
        let chunks = match level {
            Level::Raid10 => ROWS * DISKS as u64 / 2,
            _ => ROWS * layout.data_chunks(),
        };
        let copies = if level == Level::Raid10 { 2 } else { 1 };
        assert_eq!(compare(name, &layout, chunks, &disks), chunks * copies);
        for row in (0..ROWS).filter(|_| level.parities() > 0) {
            // P is the exclusive or of the row.
            let parity = layout.parity_members(row).next().unwrap();
            let data = (0..layout.data_chunks()).map(|k| layout.data_member(row, k));
            let sum = data.fold(0, |sum, disk| sum ^ disks[disk][row as usize]);
            assert_eq!(disks[parity][row as usize], sum, "{name}: row {row}");
        }
    }
}

/// The tables of a volume, as LVM gave them to the kernel: sectors, target, and disks in order.
fn tables(message: &str, name: &str) -> Vec<(u64, String, Vec<usize>)> {
    let lead = format!("table of {name} ");
    let lines = message.lines();
    let lines = lines.filter_map(|line| line.trim_end().strip_prefix(&lead));
    let parse = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let disks = words.iter().filter_map(|word| word.strip_prefix("disk-"));
        let disks = disks.map(|disk| disk.parse().unwrap());
        (
            words[1].parse().unwrap(),
            words[2].to_owned(),
            disks.collect(),
        )
    };
    lines.map(parse).collect()
}

/// The same for logical volumes. LVM itself chooses which disk comes first, so its table says which member is which.
#[test]
fn volumes_of_lvm_lie_where_models_say_needs_root_needs_uml() {
    if !can_host() {
        return;
    }
    if !["/usr/sbin/lvm", "/sbin/lvm"]
        .iter()
        .any(|path| Path::new(path).exists())
    {
        testkit::skip!("needs lvm");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    // Images of 2 and 3 MiB, of which LVM has one for itself: 6 MiB are left.
    let path = pattern(temp.path(), (6 << 20) / CHUNK);
    let message = on_a_host(&format!("PATTERN={path}\n{VOLUMES}"));
    for (name, level, bytes) in [
        ("striped", Level::Raid0, 4 << 20),
        ("linear", Level::Linear, 6 << 20),
    ] {
        let tables = tables(&message, name);
        assert!(tables.iter().all(|table| table.1 == name), "{message}");
        let order: Vec<usize> = tables.iter().flat_map(|table| table.2.clone()).collect();
        let sizes: Vec<u64> = tables.iter().map(|table| table.0 * 512).collect();
        assert_eq!(
            (order.len(), sizes.iter().sum()),
            (DISKS, bytes),
            "{message}"
        );
        let found = members(&message, name);
        let disks: Vec<Vec<u64>> = order.iter().map(|disk| found[*disk].clone()).collect();
        let layout = Layout {
            level,
            chunk: CHUNK,
            members: DISKS,
            member_size: 1 << 20,
            ends: ends(&sizes),
            failed: Vec::new(),
            rebuilt: 0,
        };
        assert_eq!(layout.capacity(), bytes);
        // The first rows of each disk are compared, of all that were written.
        let compared = compare(name, &layout, bytes / CHUNK, &disks);
        assert_eq!(compared, ROWS * DISKS as u64, "{message}");
    }
}
