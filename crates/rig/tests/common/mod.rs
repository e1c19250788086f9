//! What the root tests share.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test program uses its part

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Root, and alone in this program; says so when it is not root.
pub fn root() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if rig::host::is_root() {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    println!("skipped: needs root");
    None
}

/// Whether the kernel still knows anything of a run: a loop device on an image of it, or a mount.
pub fn traces(run: &Path) -> Vec<String> {
    let run = run.canonicalize().unwrap();
    let loops = rig::host::Host::default().loops().into_iter();
    let mut found: Vec<String> = loops
        .filter(|lo| lo.backing.starts_with(&run))
        .map(|lo| format!("{} on {}", lo.name, lo.backing.display()))
        .collect();
    let mounts = probe::mountinfo::own().unwrap().into_iter();
    found.extend(
        mounts
            .filter(|mount| mount.point.starts_with(&run))
            .map(|mount| format!("mount {}", mount.point.display())),
    );
    found
}

/// Files and folders below a folder, relative, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(folder).unwrap().display().to_string());
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    found.sort();
    found
}
