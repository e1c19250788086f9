//! Modelled disks of the kernel's driver for block devices in user space (ublk), in a guest whose kernel has it. A script is the guest's
//! first process: it serves a disk by hand, puts a filesystem on it, measures it, and kills what serves it and what runs on it.

use crate::common;

use crate::served_disk::{KNOWN, assert_known_is_found};
use common::guest_script::{Script, guest_with, line};
use guest::kernel::{Cache, Kernel};

const SCRIPT: &str = r#"
left() {
  echo "$1: $(ls /dev | grep -c ublkb) disks, $(ls /sys/class/ublk-char 2> /dev/null | grep -c .) nodes," \
    "$(grep -c -e ' /tmp/m ' -e ' /tmp/run' /proc/mounts) mounts"
}
until_gone() { for _ in {1..300}; do [ -e "$1" ] || return; sleep 0.1; done; echo "$1 stays"; }
until_there() { for _ in {1..600}; do [ -e "$1" ] && return; sleep 0.1; done; echo "no $1"; }

# By hand: measured, mounted, read back.
controlled known --devices-file /known.toml --size 128m --ublk
echo "advertised: $(cat /sys/block/ublkb0/queue/write_cache), rotational $(cat /sys/block/ublkb0/queue/rotational)"
exercise /dev/ublkb0
counted
let_go
wait $server
echo "code $?"
left ended
alive

# The server is killed while its disk is mounted.
/init device serve nvme-2018 --size 64m --ublk 2> err.txt &
server=$!
until_there /dev/ublkb0
mke2fs -q -t ext2 /dev/ublkb0 && mount -t ext2 /dev/ublkb0 m
kill -9 $server
wait $server 2> /dev/null
until_gone /dev/ublkb0
umount m
left killed
/init device serve nvme-2018 --size 64m --ublk --number 7 2> err.txt &
server=$!
until_there /dev/ublkb7
left again
kill -INT $server
wait $server
echo "code $?"
left interrupted
alive

# A run is killed while its filesystem is mounted; then both the run and its server.
for killed in run both; do
  /init run journal --profile quick --filter filesystem=ext4 --filter workload=compilebench --blocks 1 --executor host \
    --set device.size=96m --set compilebench.scale=0.004 --set device=model:t7k250 --set run.reference_seconds=0 --out /tmp/run-$killed > out.txt 2> err.txt &
  run=$!
  until grep -qs " /tmp/run-$killed/" /proc/mounts; do kill -0 $run 2> /dev/null || { cat err.txt; break; }; sleep 0.1; done
  alive
  kill -9 $run
  wait $run 2> /dev/null
  if [ $killed = both ]; then
    for process in /proc/[0-9]*; do
      grep -qsa 'device.serve' "$process/cmdline" && kill -9 "${process##*/}"
    done
  fi
  left "$killed before"
  /init clean run-$killed
  echo "code $?"
  left "$killed after"
  alive
done
"#;

/// What the script prints.
fn in_a_guest(cache: &Cache, kernel: &Kernel) -> String {
    let modules = ["virtio_pci", "virtio_console", "ublk", "ext4"];
    let files = [("/known.toml", KNOWN)];
    Script {
        tools: &["ls", "dmesg"],
        modules: &modules,
        text: SCRIPT,
        files: &files,
    }
    .printed(cache, kernel)
}

#[test]
fn a_disk_of_the_driver_serves_a_filesystem_and_leaves_nothing_needs_qemu() {
    let Some((cache, kernel)) = guest_with("ublk", "6.12-cloud") else {
        return;
    };
    let console = in_a_guest(&cache, &kernel);
    // The SSD below the controller has a buffer that a flush drains.
    assert_eq!(
        line(&console, "advertised: "),
        "write back, rotational 0",
        "{console}"
    );
    for result in ["read back", "clean", "the end"] {
        assert!(
            console.lines().any(|line| line == result),
            "{result}: {console}"
        );
    }
    let nothing = "0 disks, 0 nodes, 0 mounts";
    for (what, left) in [
        ("ended: ", nothing),
        // The kernel removes the disk, and the other node waits for a server of the same mark.
        ("killed: ", "0 disks, 1 nodes, 0 mounts"),
        ("again: ", "1 disks, 1 nodes, 0 mounts"),
        ("interrupted: ", nothing),
        // The mount keeps the server.
        ("run before: ", "1 disks, 1 nodes, 1 mounts"),
        ("run after: ", nothing),
        ("both after: ", nothing),
    ] {
        assert_eq!(line(&console, what), left, "{what}{console}");
    }
    let codes: Vec<&str> = console
        .lines()
        .filter_map(|l| l.strip_prefix("code "))
        .collect();
    assert_eq!(codes.len(), 4, "{console}");
    // A busy machine may answer late; what is cleaned is cleaned.
    assert!(
        codes[..2].iter().all(|code| matches!(*code, "0" | "7")),
        "{console}"
    );
    assert_eq!(codes[2..], ["0", "0"], "{console}");
    assert_known_is_found(&console, 0.0);
}

#[test]
fn a_study_in_a_guest_uses_the_driver_where_it_is_needs_qemu() {
    let Some((_, kernel)) = guest_with("ublk", "6.12-cloud") else {
        return;
    };
    let scratch = common::Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "\n[check]\nenabled = true\n");
    let output = common::fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--executor", "qemu", "--kernel", &kernel.name])
        .args(["--set", "device=model:nvme-2018", "--blocks", "1"])
        .args(["--out", "run"])
        .output()
        .unwrap();
    common::assert_ran(&output);
    let run = record::Run::load(&scratch.join("run")).unwrap();
    assert!(!run.trials.is_empty());
    for trial in &run.trials {
        // A check that is not clean fails the trial: what was written came back.
        assert_eq!(trial.status, record::Status::Finished, "{trial:?}");
        let facts = &trial.mounted.as_ref().unwrap().device_facts;
        assert_eq!(
            (facts["front"].as_str(), facts["store"].as_str()),
            ("ublk", "memory")
        );
        assert!(facts["front_ns"].parse::<u64>().unwrap() > 0);
    }
}
