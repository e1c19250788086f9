//! Filesystems made by mke2fs, filled and indexed by its companions.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use super::Image;

/// Names in the directory `names`, all long: enough for two levels of index with blocks of 1 KiB, and for two blocks of 64 KiB. mke2fs
/// looks through the whole directory for each new name, so that many short ones would take most of the time.
pub(crate) const NAMES: usize = 1000;

/// Runs a program that must exist and end with one of `codes`.
pub(crate) fn run(program: &str, args: &[&str], codes: &[i32]) -> Output {
    let output = Command::new(program)
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; these tests need e2fsprogs"));
    let code = output.status.code().unwrap_or(-1);
    let text = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        codes.contains(&code),
        "{program} {args:?}: {code}\n{text}\n{out}"
    );
    output
}

/// Runs debugfs commands, one a line.
pub(crate) fn debugfs(image: &Path, write: bool, commands: &str) -> String {
    let script = image.with_extension("debugfs");
    fs::write(&script, commands).unwrap();
    let (image, script) = (image.to_str().unwrap(), script.to_str().unwrap());
    let args = ["-f", script, image];
    let with_write = ["-w", "-f", script, image];
    let output = run("debugfs", if write { &with_write } else { &args }, &[0]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fills a folder for `mke2fs -d`: files of each size, one of 200 fragments, links, a pipe, a large directory.
pub(crate) fn tree(dir: &Path, block_size: usize) {
    fs::create_dir_all(dir.join("deep/a/b/c")).unwrap();
    fs::create_dir(dir.join("names")).unwrap();
    for (name, size) in [
        ("f0", 0),
        ("f100", 100),
        ("f150", 150),
        ("f5k", 5000),
        ("f300k", 300_000),
    ] {
        let bytes: Vec<u8> = (0..size).map(|nth: usize| (nth % 251) as u8 + 1).collect();
        fs::write(dir.join(name), bytes).unwrap();
    }
    // The last block is data: mke2fs -d with inline_data loses a hole at the end.
    let mut fragments = vec![0; block_size * 399];
    for piece in fragments.chunks_mut(block_size).step_by(2) {
        piece.fill(7);
    }
    write_sparse(&dir.join("fragments"), &fragments, block_size);
    // One file with all these names: thirty thousand inodes, deleted again, hold up the filesystem of those who run the tests.
    let named = dir.join("names/empty");
    fs::write(&named, b"").unwrap();
    for nth in 1..NAMES {
        let tail = if nth % 5 == 0 { "ä" } else { "Xy" }.repeat(80 + nth % 9);
        fs::hard_link(&named, dir.join(format!("names/n{nth:05}-{tail}"))).unwrap();
    }
    fs::hard_link(dir.join("f5k"), dir.join("deep/second")).unwrap();
    symlink("f100", dir.join("short")).unwrap();
    symlink("x/".repeat(45), dir.join("long")).unwrap();
    run("mkfifo", &[dir.join("pipe").to_str().unwrap()], &[0]);
}

fn write_sparse(path: &Path, bytes: &[u8], block: usize) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    for (nth, piece) in bytes.chunks(block).enumerate() {
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, (nth * block) as u64).unwrap();
        }
    }
}

/// Makes a filled filesystem: mke2fs with these options, attributes and devices by debugfs, the index by e2fsck,
/// which in the end must find it clean.
pub(crate) fn filled(
    dir: &Path,
    block_size: usize,
    blocks: u64,
    options: &[&str],
    commands: &str,
) -> Image {
    let (source, path) = (dir.join("tree"), dir.join("image"));
    fs::create_dir(&source).unwrap();
    tree(&source, block_size);
    let (size, count) = (block_size.to_string(), blocks.to_string());
    let mut args = vec![
        "-q",
        "-F",
        "-b",
        &size,
        "-N",
        "6000",
        "-d",
        source.to_str().unwrap(),
    ];
    args.extend(options);
    args.extend([path.to_str().unwrap(), &count]);
    run("mke2fs", &args, &[0]);
    debugfs(&path, true, "mknod char c 259 4660\nmknod block b 8 1\n");
    debugfs(&path, true, commands);
    let image = path.to_str().unwrap();
    run("e2fsck", &["-fyD", image], &[0, 1]);
    run("e2fsck", &["-fn", image], &[0]);
    Image {
        bytes: fs::read(&path).unwrap(),
    }
}
