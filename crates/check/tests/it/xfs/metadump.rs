//! Files of the installed xfs_metadump, judged as the filesystems that they were made of; and the same contents as files of version 2.

use std::path::{Path, PathBuf};
use std::process::Command;

use blockio::Mode;
use check::report::{Judge, Report};
use check::{Checker as _, Options, xfs};
use ondisk::bytes::{be16, be64};
use ondisk::xfs::btree::Tree;

use super::disk::Disk;
use super::volume::{Forged, forged, lines, report, tools};

/// Every form of directory and attribute.
const PROFILE: &str = r#"
    files = 1500
    per_directory = [["3-9", 20], ["20-60", 10], ["200-300", 2], ["600-700", 1]]
    file_size = [["0", 1], ["1-9k", 9]]
    [names]
    length = "4-40"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    [attributes]
    inode = 0.05
    block = 0.05
"#;

/// A dump made with these options.
fn dump(image: &Forged, options: &[&str]) -> Option<PathBuf> {
    let to = image
        .image
        .with_extension(format!("dump{}", options.concat()));
    let output = Command::new("xfs_metadump")
        .args(options)
        .args([&image.image, &to])
        .output();
    match output {
        Ok(output) if output.status.success() => Some(to),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            testkit::skip!("needs xfs_metadump");
            None
        }
    }
}

fn codes(report: &Report) -> Vec<&'static str> {
    report
        .findings
        .tallies
        .iter()
        .map(|tally| tally.problem.name)
        .collect()
}

/// What was restored of a dump, as `xfs_repair -n` judges it.
fn restored(dump: &Path) -> Option<i32> {
    let to = dump.with_extension("restored");
    let words = [dump, &to];
    let made = Command::new("xfs_mdrestore").args(words).output().ok()?;
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let code = Command::new("xfs_repair")
        .args(["-n", "-f"])
        .arg(&to)
        .output()
        .ok()?
        .status
        .code();
    std::fs::remove_file(to).unwrap();
    code
}

#[test]
fn dumps_of_sound_filesystems_are_sound() {
    if !tools() {
        return;
    }
    // Names changed, names as they are, and unused bytes as they are, too.
    let kinds: [(&str, &[&[&str]]); 2] = [("rmapbt", &[&[], &["-o"]]), ("nocrc", &[&["-o", "-a"]])];
    for (features, dumps) in kinds {
        let image = forged("300M", features, PROFILE);
        for options in dumps {
            let Some(dump) = dump(&image, options) else {
                return;
            };
            let found = report(&dump, 1);
            let lines = lines(&found);
            // xfs_metadump 6.1 leaves a wrong checksum on values of attributes whose bytes it changes, and says so.
            let changed = options.is_empty();
            let only_values = lines
                .iter()
                .all(|line| changed && line.starts_with("XFS-ATTR-RMT-BLOCK"));
            assert!(only_values, "{features} {options:?}: {lines:#?}");
            let ours = found.verdict(Judge::Reference).exit_code;
            if let Some(theirs) = restored(&dump) {
                assert_eq!(i32::from(ours), theirs, "{features} {options:?}");
            }
            assert!(found.inventory.unwrap().files.regular > 1000);
        }
    }
}

#[test]
fn damage_is_in_the_dump_and_what_is_not_in_it_is_said() {
    if !tools() {
        return;
    }
    let image = forged("300M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let root = disk.sb.sb_rootino.get();
    disk.inode(root, |bytes| {
        bytes[16..20].copy_from_slice(&9_u32.to_be_bytes());
    });
    let Some(whole) = dump(&image, &["-o"]) else {
        return;
    };
    let found = report(&whole, 1);
    assert_eq!(codes(&found), ["XFS-NLINK"]);
    if let Some(code) = restored(&whole) {
        assert_eq!(code, 1);
    }
}

/// What a dump of version 1 has: addresses in units of 512 bytes, and the blocks.
fn blocks(dump: &[u8]) -> Vec<(u64, &[u8])> {
    let (mut blocks, mut at) = (Vec::new(), 0);
    loop {
        let index = &dump[at..at + 512];
        let count = usize::from(be16(index, 4));
        for nth in 0..count {
            let block = &dump[at + 512 * (nth + 1)..][..512];
            blocks.push((be64(index, 8 + 8 * nth), block));
        }
        if count < 63 {
            return blocks;
        }
        at += 512 * 64;
    }
}

/// The dump without the blocks of 512 bytes in this range of the device.
fn without(dump: &Path, from: u64, to: u64) -> PathBuf {
    let bytes = std::fs::read(dump).unwrap();
    let mut kept = blocks(&bytes);
    kept.retain(|(address, _)| !(from..to).contains(&(address * 512)));
    let mut out = Vec::new();
    for chunk in kept.chunks(63).chain(std::iter::once(&[][..])) {
        let mut index = bytes[..512].to_vec();
        index[4..6].copy_from_slice(&(chunk.len() as u16).to_be_bytes());
        index[8..].fill(0);
        for (nth, (address, _)) in chunk.iter().enumerate() {
            index[8 + 8 * nth..16 + 8 * nth].copy_from_slice(&address.to_be_bytes());
        }
        out.extend(index);
        for (_, block) in chunk {
            out.extend(*block);
        }
        if chunk.len() < 63 {
            break;
        }
    }
    let path = dump.with_extension("less");
    std::fs::write(&path, out).unwrap();
    path
}

/// A dump of version 1 as one of version 2, which xfs_metadump writes since xfsprogs 6.6: a header, then runs with a head of 12 bytes each.
fn second(dump: &Path) -> PathBuf {
    let bytes = std::fs::read(dump).unwrap();
    // Of the flags: names are changed, unused bytes are kept, the log is dirty.
    let flags = [(2, 1), (4, 2), (8, 4)];
    let flags = flags.iter().filter(|(old, _)| bytes[7] & old != 0);
    let mut out = b"XMD2".to_vec();
    let fields = [2, flags.map(|(_, new)| new).sum::<u32>(), 0];
    out.extend(fields.iter().flat_map(|field| field.to_be_bytes()));
    out.extend([0; 8]);
    let blocks = blocks(&bytes);
    let joined = blocks.chunk_by(|one, next| one.0 + 1 == next.0);
    for run in joined.flat_map(|run| run.chunks(4096)) {
        out.extend(run[0].0.to_be_bytes());
        out.extend((run.len() as u32).to_be_bytes());
        out.extend(run.iter().flat_map(|(_, block)| *block));
    }
    let path = PathBuf::from(format!("{}.v2", dump.display()));
    std::fs::write(&path, out).unwrap();
    path
}

/// The report on a dump, and what is printed before it.
fn with_messages(dump: &Path) -> (Report, Vec<String>) {
    let source = blockio::open(dump, Mode::Buffered).unwrap().source;
    let recorder = progress::Recorder::default();
    let checker = xfs::Checker::default();
    let report = checker.check(&*source, &Options::default(), &recorder);
    let messages = recorder
        .events()
        .into_iter()
        .filter_map(|event| match event {
            progress::Event::Message(text) => Some(text),
            _ => None,
        });
    (report.unwrap(), messages.collect())
}

#[test]
fn a_dump_of_version_2_is_judged_as_the_filesystem() {
    if !tools() {
        return;
    }
    let image = forged("300M", "rmapbt", PROFILE);
    let (mut dumps, kinds) = (Vec::new(), [&[][..], &["-o"], &["-o", "-a"]]);
    for options in kinds {
        let Some(first) = dump(&image, options) else {
            return;
        };
        dumps.push((second(&first), first));
    }
    let of_image = report(&image.image, 1);
    for (nth, (second, first)) in dumps.iter().enumerate() {
        let (found, messages) = with_messages(second);
        let kept = messages[0].contains("names are those of the filesystem");
        assert_eq!(kept, nth > 0, "{messages:?}");
        assert_eq!(lines(&found), lines(&report(first, 1)), "{messages:?}");
        if kept {
            assert_eq!(found.verdicts, of_image.verdicts);
            assert_eq!(found.inventory, of_image.inventory);
        }
    }
    // Runs of a log or a realtime device are passed over.
    let plain = &dumps[1].0;
    let mut bytes = std::fs::read(plain).unwrap();
    let run = [
        &(1_u64 << 54).to_be_bytes()[..],
        &1_u32.to_be_bytes(),
        &[0xa5; 512],
    ]
    .concat();
    bytes.splice(24..24, run);
    std::fs::write(plain, &bytes).unwrap();
    assert_eq!(report(plain, 1).verdicts, of_image.verdicts);
    // One that ends in the middle is no filesystem.
    std::fs::write(plain, &bytes[..bytes.len() - 9]).unwrap();
    let (found, messages) = with_messages(plain);
    assert!(messages[0].contains("ends in the middle"), "{messages:?}");
    assert_eq!(found.verdict(Judge::Strict).exit_code & 8, 8);
    // Damage is found in both.
    let disk = Disk::open(&image.image);
    disk.inode(disk.sb.sb_rootino.get(), |bytes| {
        bytes[16..20].copy_from_slice(&9_u32.to_be_bytes());
    });
    let Some(first) = dump(&image, &["-o"]) else {
        return;
    };
    let found = report(&second(&first), 1);
    assert_eq!(codes(&found), ["XFS-NLINK"]);
    assert_eq!(found.verdicts, report(&image.image, 1).verdicts);
}

#[test]
fn what_a_dump_left_out_is_said_to_be_not_in_it() {
    if !tools() {
        return;
    }
    let image = forged("300M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let Some(whole) = dump(&image, &["-o"]) else {
        return;
    };
    let (root, _) = disk.root(1, Tree::Cnt);
    let at = disk.geo.offset(1, root);
    let less = without(&whole, at, at + 4096);
    let about = lines(&report(&less, 1));
    let magic = about.iter().find(|line| line.starts_with("XFS-FSBT-MAGIC"));
    let magic = magic.unwrap_or_else(|| panic!("{about:#?}"));
    assert!(magic.contains("not in the dump"), "{about:#?}");
    // The rest of the dump is as it was.
    let same = without(&whole, 0, 0);
    assert!(lines(&report(&same, 1)).is_empty());
}
