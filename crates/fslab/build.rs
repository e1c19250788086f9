//! The version with its commit, and one option of the linker.
//!
//! The commit is `FSLAB_COMMIT` where the builder sets it, as packages do, else git's HEAD with `-dirty` after it when a
//! tracked file differs from it. A source tree without git says so in the version. git runs as a program: its
//! libraries are hundreds of times larger than the two answers that are needed.
//!
//! The option packs relative relocations.
//! A large program that may be loaded anywhere has tens of thousands of places that hold its own address. Listed in full they
//! are 24 bytes each, 0.6 MB that are read from the disk and mapped whenever it starts; packed (`DT_RELR`) they are a few bits each.
//! It takes glibc 2.36 to load such a program, so an older one, or another C library, gets what it knows. A release that
//! has to start on an older glibc than the builder's names it: `FSLAB_OLDEST_GLIBC=2.34`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    version();
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let native = of("HOST") == of("TARGET") && of("CARGO_CFG_TARGET_ENV") == "gnu";
    if native && oldest_glibc().is_some_and(|version| version >= PACKS) {
        // A linker that does not know the option warns and goes on.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The first glibc that loads packed relocations.
const PACKS: (u32, u32) = (2, 36);

/// The oldest glibc that the program has to start on: `FSLAB_OLDEST_GLIBC`, else this machine's.
fn oldest_glibc() -> Option<(u32, u32)> {
    println!("cargo:rerun-if-env-changed=FSLAB_OLDEST_GLIBC");
    match std::env::var("FSLAB_OLDEST_GLIBC") {
        Ok(named) => {
            let version = numbers(&named);
            if version.is_none() {
                println!(
                    "cargo:warning=FSLAB_OLDEST_GLIBC is not a version such as 2.34; relocations are not packed"
                );
            }
            version
        }
        Err(_) => glibc(),
    }
}

/// This machine's version, `glibc 2.36` as getconf(1) prints it.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = String::from_utf8(output.ok()?.stdout).ok()?;
    numbers(version.trim().strip_prefix("glibc ")?)
}

/// `2.36`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Sets `FSLAB_VERSION`: `0.1.0 (0123456789ab)`.
fn version() {
    println!("cargo:rerun-if-env-changed=FSLAB_COMMIT");
    let release = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let named = std::env::var("FSLAB_COMMIT").unwrap_or_default();
    let named = named.trim();
    let commit = if named.is_empty() {
        commit_of_git()
    } else if is_plain(named) {
        Some(named.to_owned())
    } else {
        println!(
            "cargo:warning=FSLAB_COMMIT is not a commit's name; it is left out of the version"
        );
        None
    };
    let commit = commit.unwrap_or_else(|| "commit unknown".to_owned());
    println!("cargo:rustc-env=FSLAB_VERSION={release} ({commit})");
}

/// Letters, digits and the signs of `git describe`: it is printed in logs and reports.
fn is_plain(name: &str) -> bool {
    name.len() <= 100
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._+/".contains(c))
}

/// HEAD, 12 digits, and `-dirty`. None where this tree is not the top of a git work tree: a tarball that was
/// unpacked in another project's repository must not get that project's commit.
fn commit_of_git() -> Option<String> {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let root = manifest.parent()?.parent()?;
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    watch(root);
    let head = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() {
        head
    } else {
        head + "-dirty"
    })
}

/// Builds again when HEAD, its branch, the index or a source file changes.
fn watch(root: &Path) {
    let mut paths = Vec::new();
    let branch = git(root, &["symbolic-ref", "-q", "HEAD"]);
    let names = ["HEAD", "index", "packed-refs"]
        .into_iter()
        .map(str::to_owned);
    for name in names.chain(branch) {
        let path = git(root, &["rev-parse", "--git-path", &name]);
        paths.extend(path.map(|path| root.join(path)));
    }
    paths.extend(["Cargo.toml", "Cargo.lock", "studies", "published"].map(|name| root.join(name)));
    let crates = std::fs::read_dir(root.join("crates"))
        .into_iter()
        .flatten()
        .flatten();
    for of_crate in crates {
        paths.extend(["src", "Cargo.toml"].map(|name| of_crate.path().join(name)));
    }
    for path in paths.iter().filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

/// What git prints, without the line's end; none when it fails or there is no git.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    let text = output.status.success().then_some(output.stdout)?;
    Some(String::from_utf8(text).ok()?.trim_end().to_owned())
}
