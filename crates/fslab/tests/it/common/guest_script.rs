//! A script that is the first process of a guest. fslab is `/init` there, and what the script prints is the result.

use std::fs;
use std::path::Path;
use std::time::Duration;

use guest::initramfs::{Job, Part, Store};
use guest::kernel::{Cache, Form, Has, Kernel};
use guest::machine::{self, Accelerator, Engine, Limits, Machine};
use progress::Silent;

use super::guests::can;

/// Mounts, modules, and the channel to the host: `alive` says that the script goes on. `controlled` serves a disk as `$server`, `counted`
/// prints what it counted, and `let_go` ends it. `exercise` measures a disk, and has a filesystem on it write and read back.
const BEGIN: &str = r#"#!/bin/bash
mkdir -p /proc /sys /dev /tmp /run
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint() { grep -q " $1 " /proc/mounts; }
mountpoint /dev || mount -t devtmpfs dev /dev
exec > /dev/console 2>&1 < /dev/null
mount -t tmpfs tmp /tmp
while read -r module; do
  insmod "${module#-}" || case $module in -*) ;; *) echo "cannot load $module" ;; esac
done < /fslab/modules.order
for port in /sys/class/virtio-ports/*; do
  grep -qx lab.result "$port/name" && exec 3<> "/dev/${port##*/}"
done
echo '{"say":"ready","release":"x","uptime":1}' >&3
alive() { echo '{"say":"alive","uptime":1}' >&3; }
cd /tmp
mkdir m
controlled() {
  coproc served { exec /init device serve "$@" --controlled 2> err.txt; }
  server=$served_PID
  exec 4>&"${served[1]}" 5<&"${served[0]}"
  echo 'begin 0' >&4
  read -r _ <&5 || cat err.txt
}
counted() {
  echo >&4
  read -r counters <&5
  echo "counters $counters"
}
let_go() {
  exec 4>&- 5<&-
  eval "exec ${served[1]}>&- ${served[0]}<&-" 2> /dev/null
}
exercise() {
  /init device bench "$1" --format json > fit.json
  echo "fit $(cat fit.json | while read -r line; do echo -n "$line "; done)"
  alive
  mke2fs -q -t ext4 -E nodiscard "$1" && mount -t ext4 "$1" m
  dd if=/dev/urandom of=m/file bs=64k count=64 conv=fsync 2> /dev/null
  written=$(cksum < m/file)
  umount m
  mount -t ext4 "$1" m
  [ "$written" = "$(cksum < m/file)" ] && echo "read back"
  umount m
  e2fsck -fn "$1" > /dev/null 2>&1 && echo "clean"
}
"#;

/// Powers the guest off.
const END: &str = r#"
echo "the end"
echo '{"say":"done","code":0}' >&3
sleep 1
echo o > /proc/sysrq-trigger
sleep 60
"#;

/// Programs of the host that a script may use.
const TOOLS: [&str; 13] = [
    "bash",
    "mount",
    "umount",
    "insmod",
    "mke2fs",
    "mkfs.ext4",
    "e2fsck",
    "dd",
    "cksum",
    "sleep",
    "grep",
    "cat",
    "mkdir",
];

/// The cache, and its kernel that has a driver as a module and runs here; without one, or without QEMU, the skip says what to
/// fetch.
pub(crate) fn guest_with(driver: &str, fetch: &str) -> Option<(Cache, Kernel)> {
    if !can("qemu") {
        return None;
    }
    let cache = Cache::open(None).unwrap();
    let mut kernels = cache.kernels().unwrap();
    kernels.retain(|kernel| {
        kernel.form == Form::Vmlinux && kernel.capabilities.get(driver) == Some(Has::Module)
    });
    let Some(kernel) = kernels.pop() else {
        testkit::skip!("no kernel with {driver} in the cache; fslab kernel fetch {fetch}");
        return None;
    };
    Some((cache, kernel))
}

/// What a guest runs.
pub(crate) struct Script<'a> {
    /// Programs of the host, besides fslab and those that every script has.
    pub(crate) tools: &'a [&'a str],
    /// What the kernel needs, by the names of `fslab kernel list`.
    pub(crate) modules: &'a [&'a str],
    /// In bash, from /tmp.
    pub(crate) text: &'a str,
    /// Paths and texts of files.
    pub(crate) files: &'a [(&'a str, &'a str)],
}

impl Script<'_> {
    /// What it prints in a guest of this kernel.
    pub(crate) fn printed(&self, cache: &Cache, kernel: &Kernel) -> String {
        let store = Store::open(cache).unwrap();
        let modules = kernel.modules_for(self.modules).unwrap();
        let names: Vec<&str> = modules.iter().map(String::as_str).collect();
        let parts = [
            store.tools(&[&TOOLS, self.tools].concat()).unwrap(),
            store.init(Path::new(env!("CARGO_BIN_EXE_fslab"))).unwrap(),
            store.modules(kernel, &names).unwrap(),
        ];
        let parts: Vec<&Part> = parts.iter().collect();
        let script = [BEGIN, self.text, END].concat();
        let mut job = Job::default().file(Path::new("/script"), 0o755, script.into());
        for (path, text) in self.files {
            job = job.file(Path::new(path), 0o644, (*text).into());
        }
        let temp = tempfile::tempdir().unwrap();
        let machine = Machine {
            engine: Engine::Qemu(Accelerator::promised()),
            kernel: kernel.image.clone(),
            libraries: None,
            initramfs: machine::initramfs(&parts, &job).unwrap(),
            memory: 1536 << 20,
            cpus: 2,
            persistent: None,
            disks: Vec::new(),
            append: vec!["rdinit=/script".into()],
            limits: Limits {
                silence: Duration::from_secs(240),
                ..Limits::default()
            },
            console: temp.path().join("console"),
            files: temp.path().join("files"),
        };
        let ended = machine.run(&mut |_| true, &Silent);
        let console = fs::read(temp.path().join("console")).unwrap_or_default();
        let console = String::from_utf8_lossy(&console).replace('\r', "");
        println!("{console}");
        let ended = ended.unwrap_or_else(|error| panic!("{error}\n{console}"));
        assert_eq!(ended.code, 0, "{console}");
        console
    }
}

/// The rest of the line that begins so.
pub(crate) fn line<'a>(console: &'a str, begin: &str) -> &'a str {
    let found = console.lines().find_map(|line| line.strip_prefix(begin));
    found.unwrap_or_else(|| panic!("no line {begin:?}: {console}"))
}
