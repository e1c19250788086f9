//! A disk to be examined: a loop device made by the tools that users have, not by our own code.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::gate::{Reason, examine};
use crate::host::Host;

/// A loop device set up by losetup(8), not by our own code, and taken down on drop.
pub(super) struct Disk {
    pub(super) node: PathBuf,
    pub(super) image: PathBuf,
    pub(super) folder: tempfile::TempDir,
    undo: Vec<(String, Vec<String>)>,
    pub(super) children: Vec<Child>,
}

pub(super) fn run(program: &str, arguments: &[&str]) -> String {
    let path = crate::command::locate(program).unwrap_or_else(|| panic!("{program} is needed"));
    let output = Command::new(path)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

impl Disk {
    pub(super) fn new(size: u64) -> Disk {
        Disk::with(size, &[])
    }

    pub(super) fn with(size: u64, options: &[&str]) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        File::create(&image).unwrap().set_len(size).unwrap();
        let image_text = image.display().to_string();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(&image_text);
        let node = PathBuf::from(run("losetup", &arguments));
        Disk {
            node,
            image,
            folder,
            undo: Vec::new(),
            children: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> String {
        self.node.display().to_string()
    }

    pub(super) fn name(&self) -> String {
        self.node
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) {
        let file = OpenOptions::new().write(true).open(&self.node).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    pub(super) fn mkfs(self, program: &str) -> Disk {
        run(
            program,
            &[
                if program == "mkfs.ext4" { "-Fq" } else { "-fq" },
                &self.text(),
            ],
        );
        self
    }

    pub(super) fn later(&mut self, program: &str, arguments: &[&str]) {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        self.undo.push((program.into(), arguments));
    }

    /// Mounts it below its own folder.
    pub(super) fn mounted(mut self) -> Disk {
        let point = self.folder.path().join("mnt");
        fs::create_dir(&point).unwrap();
        let point = point.display().to_string();
        run("mount", &[&self.text(), &point]);
        self.later("umount", &[&point]);
        self
    }

    /// Mounts it where only another process's namespace sees it.
    pub(super) fn mounted_elsewhere(mut self) -> Disk {
        let point = self.folder.path().join("else");
        fs::create_dir(&point).unwrap();
        let script = format!(
            "mount {} {} && echo ready && exec sleep 100",
            self.text(),
            point.display()
        );
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_line(&mut child);
        self.children.push(child);
        self
    }

    pub(super) fn reasons(&self) -> Vec<Reason> {
        let serial = "loop:disk.img";
        examine(&self.node, Some(serial)).map_or_else(
            |refusals| refusals.into_iter().map(|r| r.reason).collect(),
            |_| Vec::new(),
        )
    }
}

pub(super) fn wait_for_line(child: &mut Child) {
    use std::io::BufRead;
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    std::io::BufReader::new(stdout)
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line.trim(), "ready");
}

impl Drop for Disk {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for (program, arguments) in self.undo.drain(..).rev() {
            let program = crate::command::locate(&program).unwrap();
            let _ = Command::new(program).args(arguments).status();
        }
        // A namespace that just ended may still be taken down.
        for _ in 0..50 {
            let bound = Host::default()
                .loops()
                .iter()
                .any(|lo| lo.backing == self.image);
            if !bound {
                return;
            }
            let program = crate::command::locate("losetup").unwrap();
            let _ = Command::new(program)
                .arg("-d")
                .arg(&self.node)
                .stderr(Stdio::null())
                .status();
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Root, and alone: loop devices are the host's, and a number that one test gives back is at once
/// another's.
pub(super) fn root() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if crate::host::is_root() {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    testkit::skip!("needs root");
    None
}
