//! Logs that are to be replayed, made by a kernel: judged in memory, and by `xfs_repair -n` of a copy whose log a mount has replayed.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use blockio::Mode;
use check::report::{Judge, Report};
use check::{Checker as _, Options, Silent, xfs};

use super::mounted::Mounted;
use super::volume::{Forged, lines, made, report, tools};

/// The report on an image whose log is replayed in memory.
fn replayed(image: &Path) -> Report {
    let source = blockio::open(image, Mode::Buffered).unwrap().source;
    let checker = xfs::Checker::new(xfs::Options {
        replay: true,
        ..xfs::Options::default()
    });
    checker
        .check(&*source, &Options::default(), &Silent)
        .unwrap()
}

fn run(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

fn repair(image: &Path) -> Option<i32> {
    let mut command = Command::new("xfs_repair");
    let output = command.args(["-n", "-f"]).arg(image).output();
    output.unwrap().status.code()
}

/// Files, directories, names that are removed again, attributes, links, a file that is open and has no name.
fn changes(root: &Path) -> Vec<File> {
    for nth in 0..300 {
        let folder = root.join(format!("d{}", nth % 7));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("file-{nth:05}"));
        fs::write(&file, vec![b'x'; nth % 5 * 3000]).unwrap();
        if nth % 3 == 0 {
            fs::remove_file(&file).unwrap();
        } else if nth % 4 == 0 {
            fs::rename(&file, root.join(format!("moved-{nth:05}"))).unwrap();
        }
    }
    std::os::unix::fs::symlink("./".repeat(300), root.join("far")).unwrap();
    let open = root.join("open");
    fs::write(&open, [7; 9000]).unwrap();
    let file = File::open(&open).unwrap();
    fs::remove_file(&open).unwrap();
    vec![file]
}

/// An image whose log is dirty: a copy made while the filesystem was shut down with its log written, or frozen.
fn dirty(words: &[&str], frozen: bool) -> Option<(Forged, PathBuf)> {
    let made = made("300M", words);
    let mounted = Mounted::new(&made.image)?;
    let open = changes(&mounted.0);
    let at = mounted.0.to_str().unwrap();
    let copy = made.image.with_extension("copy");
    let stopped = if frozen {
        run("xfs_freeze", &["-f", at])
    } else {
        run("xfs_io", &["-x", "-c", "shutdown -f", at])
    };
    if stopped {
        let image = made.image.to_str().unwrap();
        assert!(run(
            "cp",
            &["--sparse=always", image, copy.to_str().unwrap()]
        ));
    }
    if frozen {
        run("xfs_freeze", &["-u", at]);
    }
    drop(open);
    drop(mounted);
    stopped.then_some((made, copy))
}

#[test]
fn a_log_replayed_in_memory_is_judged_as_after_a_mount_needs_root() {
    if !testkit::root!("loop mounts") || !tools() {
        return;
    }
    for (words, frozen) in [
        (&[][..], false),
        (&["-m", "rmapbt=1"][..], false),
        (&["-b", "size=1024"], false),
        // Inodes are made two chunks at a time.
        (&["-b", "size=64k"], false),
        (&["-i", "nrext64=1", "-l", "su=32k"], true),
    ] {
        let Some((_made, copy)) = dirty(words, frozen) else {
            testkit::skip!("this kernel does not mount {words:?}, or cannot stop it");
            continue;
        };
        let written = || fs::metadata(&copy).unwrap().modified().unwrap();
        let before = written();
        let plain = report(&copy, 1);
        assert_eq!(plain.verdict(Judge::Reference).exit_code, 1, "{words:?}");
        assert!(plain.unstable);
        let found = replayed(&copy);
        assert_eq!(written(), before);
        let lines = lines(&found);
        let facts = found.subject.filesystem.as_ref().unwrap().facts.0.clone();
        let fact = |name: &str| {
            let fact = facts.iter().find(|(known, _)| *known == name);
            fact.and_then(|(_, value)| value.as_u64())
        };
        assert!(fact("replayed_transactions") > Some(0), "{facts:?}");
        // The file that is open, and removed ones that the kernel had not freed yet.
        let unlinked = fact("unlinked_inodes").unwrap();
        assert!(unlinked > 0, "{facts:?}");
        assert!(
            found.verdict(Judge::Strict).is_clean(),
            "{words:?}: {lines:#?}"
        );
        // The kernel replays the same log, and frees the file without a name.
        let mounted = Mounted::new(&copy).unwrap();
        drop(mounted);
        let code = u8::try_from(repair(&copy).unwrap()).unwrap();
        let ours = found.verdict(Judge::Reference).exit_code;
        assert_eq!((code, ours), (0, 0), "{words:?}: {lines:#?}");
        let after = report(&copy, 1);
        let (was, is) = (found.inventory.unwrap(), after.inventory.unwrap());
        assert_eq!(was.files.directories, is.files.directories);
        assert_eq!(was.files.regular, is.files.regular + unlinked);
    }
}

/// A log whose tail is damaged is not replayed: that is a finding, and the filesystem is judged as it lies there.
#[test]
fn a_log_that_cannot_be_replayed_is_a_finding_needs_root() {
    if !testkit::root!("loop mounts") || !tools() {
        return;
    }
    let Some((_made, copy)) = dirty(&[], false) else {
        testkit::skip!("this kernel does not mount XFS, or cannot stop it");
        return;
    };
    let mut file = File::options().read(true).write(true).open(&copy).unwrap();
    let mut sector = [0; 512];
    file.read_exact(&mut sector).unwrap();
    let be = |at: usize| u64::from_be_bytes(sector[at..at + 8].try_into().unwrap());
    let (block, log_start) = (4096, be(48));
    let agblock_log = u64::from(sector[124]);
    let agblocks = u64::from(u32::from_be_bytes(sector[84..88].try_into().unwrap()));
    let start =
        ((log_start >> agblock_log) * agblocks + (log_start & ((1 << agblock_log) - 1))) * block;
    // The last record says where the tail is: the data of the record there lose some bytes.
    file.seek(SeekFrom::Start(start)).unwrap();
    let mut log = vec![0; 8 << 20];
    file.read_exact(&mut log).unwrap();
    let magic = 0xfeed_babe_u32.to_be_bytes();
    let word = |at: usize| u64::from_be_bytes(log[at..at + 8].try_into().unwrap());
    let records = (0..log.len())
        .step_by(512)
        .filter(|at| log[*at..*at + 4] == magic);
    let last = records.max_by_key(|at| word(at + 16)).unwrap();
    let tail = u64::from(word(last + 24) as u32);
    let at = start + tail * 512 + 700;
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xa5; 9], at).unwrap();
    drop(file);
    let found = replayed(&copy);
    let codes: Vec<&str> = found
        .findings
        .list
        .iter()
        .map(|one| one.problem.name)
        .collect();
    assert!(codes.contains(&"XFS-LOG-REPLAY"), "{codes:?}");
    assert!(codes.contains(&"XFS-LOG-DIRTY"), "{codes:?}");
    assert_eq!(found.verdict(Judge::Strict).exit_code, 4);
}

/// A log on another device: without it `xfs_repair -n` ends, with it the filesystem is judged whole.
#[test]
fn an_external_log_is_read_from_its_device() {
    if !tools() {
        return;
    }
    let made = made("300M", &[]);
    let log = made.image.with_extension("log");
    File::create(&log).unwrap().set_len(64 << 20).unwrap();
    // mkfs.xfs takes no smaller log, and empties one that is named as a file ("-l file=1").
    let words = format!("logdev={},size=64m", log.display());
    let image = made.image.to_str().unwrap();
    assert!(run("mkfs.xfs", &["-q", "-f", "-l", &words, image]));
    let alone = report(&made.image, 1);
    let codes: Vec<&str> = alone
        .findings
        .list
        .iter()
        .map(|one| one.problem.name)
        .collect();
    assert_eq!(codes, ["XFS-LOG-EXTERNAL"]);
    assert!(alone.verdict(Judge::Strict).is_clean());
    let ours = alone.verdict(Judge::Reference).exit_code;
    assert_eq!((ours, repair(&made.image)), (1, Some(1)));
    let source = blockio::open(&made.image, Mode::Buffered).unwrap().source;
    let device = blockio::open(&log, Mode::Buffered).unwrap().source;
    let checker = xfs::Checker::new(xfs::Options {
        replay: false,
        device: Some(Arc::from(device)),
        ..xfs::Options::default()
    });
    let found = checker
        .check(&*source, &Options::default(), &Silent)
        .unwrap();
    assert_eq!(lines(&found), Vec::<String>::new());
    let words = ["-n", "-l", log.to_str().unwrap(), "-f", image];
    assert!(run("xfs_repair", &words));
}
