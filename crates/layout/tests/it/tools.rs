//! Our listings against the programs' own, byte for byte, on real filesystems.

use crate::common;

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use common::{Mounted, interleaved, run, varied};
use layout::e2freefrag::FreeSpace;
use layout::filefrag::{Filefrag, Style};
use layout::{Cause, FileLayout, Options, tree, xfs_bmap};

const EXT4: &[&str] = &["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "inline_data"];
const EXT3: &[&str] = &["mkfs.ext3", "-q", "-F", "-b", "1024"];
const XFS: &[&str] = &["mkfs.xfs", "-q", "-f", "-d", "su=64k,sw=4"];
const BTRFS: &[&str] = &["mkfs.btrfs", "-q", "-f"];

fn layout(path: &Path) -> FileLayout {
    FileLayout::read(path, Options::default()).unwrap()
}

/// How one call of filefrag with these options and files differs from ours, if it does.
fn differing(options: &[&str], style: Style, paths: &[PathBuf]) -> Option<String> {
    let mut words = vec!["filefrag"];
    words.extend(options);
    words.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let theirs = run(&words);
    let mut listing = Filefrag::new(style);
    let mut ours = Vec::new();
    for path in paths {
        listing.list(&layout(path), &mut ours);
    }
    let ours = String::from_utf8(ours).unwrap();
    for (line, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        if ours != theirs {
            return Some(format!(
                "line {line} of {words:?}: {ours:?}, not {theirs:?}"
            ));
        }
    }
    (ours != theirs).then(|| format!("{words:?}: {ours:?}, not {theirs:?}"))
}

/// The first difference in any style.
fn differing_in_styles(paths: &[PathBuf]) -> Option<String> {
    let verbose = Style {
        verbose: true,
        ..Style::default()
    };
    let with = |block_size, hex| Style {
        block_size,
        hex,
        ..verbose
    };
    let styles: [(&[&str], Style); 7] = [
        (&[], Style::default()),
        (&["-v"], verbose),
        (&["-e"], verbose),
        (&["-v", "-X"], with(None, true)),
        (&["-v", "-k"], with(Some(1024), false)),
        (&["-v", "-b65536"], with(Some(65536), false)),
        (&["-v", "-b3000"], with(Some(3000), false)),
    ];
    let mut styles = styles.into_iter();
    styles.find_map(|(options, style)| differing(options, style, paths))
}

#[track_caller]
fn all_styles(paths: &[PathBuf]) {
    assert_eq!(differing_in_styles(paths), None);
}

/// Tries with fresh files until the kernel wrote nothing back meanwhile, which it may do at any moment.
fn until_not_written_back(mut attempt: impl FnMut(u32) -> bool) {
    assert!((0..20).any(&mut attempt), "written back twenty times");
}

/// Files of all kinds on a fresh filesystem.
fn files(mounted: &Mounted) -> Vec<PathBuf> {
    let names = [
        "varied", "a", "b", "tiny", "empty", "hole", "large", "folder",
    ];
    let paths = names.map(|name| mounted.join(name));
    varied(&paths[0]);
    interleaved(&paths[1], &paths[2], 30);
    std::fs::write(&paths[3], b"ten bytes.").unwrap();
    std::fs::write(&paths[4], b"").unwrap();
    std::fs::File::create(&paths[5])
        .unwrap()
        .set_len(1 << 20)
        .unwrap();
    let large = std::fs::File::create(&paths[6]).unwrap();
    for part in 0..150 {
        large.write_all_at(&vec![9; 1 << 20], part << 20).unwrap();
    }
    std::fs::create_dir(&paths[7]).unwrap();
    std::fs::write(paths[7].join("inside"), vec![1; 5000]).unwrap();
    rustix::fs::syncfs(std::fs::File::open(mounted.path()).unwrap()).unwrap();
    paths.to_vec()
}

#[test]
fn filefrag_on_ext4_needs_root() {
    let Some(mounted) = Mounted::new(EXT4, 400, "defaults") else {
        return;
    };
    let paths = files(&mounted);
    all_styles(&paths);
    // Alone, so that widths do not come from the files before.
    for path in &paths {
        all_styles(std::slice::from_ref(path));
    }
    let tiny = layout(&paths[3]);
    assert_eq!(tiny.summary.inline, tiny.rows[0].length, "{tiny:?}");
    let varied = layout(&paths[0]).summary;
    assert!(
        varied.unwritten >= 200_000 && varied.holes >= 2,
        "{varied:?}"
    );
}

#[test]
fn filefrag_on_ext3_needs_root() {
    let Some(mounted) = Mounted::new(EXT3, 400, "defaults") else {
        return;
    };
    let paths = files(&mounted);
    all_styles(&paths);
    let large = layout(&paths[6]);
    assert!(large.indirect);
    // One gap for each group of 8 MiB; where the ends of pieces are no starts of groups, it was the
    // allocator.
    let sum = &large.summary;
    assert!(sum.metadata_discontiguities >= 15, "{:?}", sum.causes);
    assert!(
        !sum.causes.contains_key(&Cause::Unknown),
        "{:?}",
        sum.causes
    );
}

#[test]
fn filefrag_on_xfs_needs_root() {
    let Some(mounted) = Mounted::new(XFS, 1024, "defaults") else {
        return;
    };
    let mut paths = files(&mounted);
    // XFS has no map of a directory.
    let folder = paths.pop().unwrap();
    let error = FileLayout::read(&folder, Options::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("(xfs) does not report where directories are")
    );
    run(&[
        "cp",
        "--reflink=always",
        paths[6].to_str().unwrap(),
        mounted.join("shared").to_str().unwrap(),
    ]);
    all_styles(&paths);
    all_styles(&[mounted.join("shared")]);
    assert_eq!(layout(&mounted.join("shared")).summary.shared, 150 << 20);
}

#[test]
fn filefrag_on_btrfs_needs_root() {
    let Some(mounted) = Mounted::new(BTRFS, 400, "compress-force=zstd") else {
        return;
    };
    let mut paths = files(&mounted);
    // btrfs has no map of a directory.
    let folder = paths.pop().unwrap();
    all_styles(&paths);
    let error = FileLayout::read(&folder, Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("(btrfs) does not report where directories are"),
        "{text}"
    );
    assert!(layout(&paths[6]).summary.encoded > 0);
    let error = FreeSpace::of(&mounted.path()).unwrap_err().to_string();
    assert!(error.contains("GETFSMAP"), "{error}");
}

#[test]
fn delayed_blocks_are_seen_before_the_sync_and_placed_after_needs_root() {
    for mkfs in [EXT4, XFS] {
        let Some(mounted) = Mounted::new(mkfs, 1024, "defaults") else {
            return;
        };
        let all = (3 << 20, 0);
        let delayed = |path: &Path| {
            let summary = layout(path).summary;
            (summary.delalloc, summary.mapped) == all
        };
        let options = Options {
            sync: true,
            ..Options::default()
        };
        until_not_written_back(|n| {
            let path = mounted.join(&format!("file{n}"));
            std::fs::write(&path, vec![7; 3 << 20]).unwrap();
            if !delayed(&path) {
                return false;
            }
            let differing = differing_in_styles(std::slice::from_ref(&path));
            if !delayed(&path) {
                return false;
            }
            assert_eq!(differing, None, "{mkfs:?}");
            let after = FileLayout::read(&path, options).unwrap();
            assert_eq!((after.summary.delalloc, after.summary.mapped), (0, 3 << 20));
            after.delayed_before == Some(3 << 20)
        });
    }
}

#[test]
fn xfs_bmap_needs_root() {
    let plain: &[&str] = &["mkfs.xfs", "-q", "-f"];
    for mkfs in [XFS, plain] {
        let Some(mounted) = Mounted::new(mkfs, 1024, "defaults") else {
            return;
        };
        let mut paths = files(&mounted);
        let shared = mounted.join("shared");
        run(&[
            "cp",
            "--reflink=always",
            paths[1].to_str().unwrap(),
            shared.to_str().unwrap(),
        ]);
        let mut partly = std::fs::OpenOptions::new()
            .append(true)
            .open(&shared)
            .unwrap();
        partly.write_all(&vec![1; 50_000]).unwrap();
        partly.sync_all().unwrap();
        interleaved(&mounted.join("many"), &mounted.join("more"), 200);
        paths.extend([shared, mounted.join("many")]);
        for path in &paths {
            for options in ["-v", "-vp", "-vv", "-vvp", "-p", "-l", "-lp", "-ve"] {
                let theirs = run(&["xfs_bmap", options, path.to_str().unwrap()]);
                let style = xfs_bmap::Style {
                    verbose: options.contains('v'),
                    legend: options.contains("vv"),
                    unwritten: options.contains('p'),
                    delayed: options.contains('e'),
                    lengths: options.contains('l'),
                };
                let ours = xfs_bmap::list(path, style).unwrap();
                assert_eq!(
                    String::from_utf8(ours).unwrap(),
                    theirs,
                    "{options} {path:?}"
                );
            }
        }
        let style = xfs_bmap::Style {
            verbose: true,
            delayed: true,
            ..xfs_bmap::Style::default()
        };
        until_not_written_back(|n| {
            let delayed = mounted.join(&format!("delayed{n}"));
            std::fs::write(&delayed, vec![3; 100_000]).unwrap();
            let list = || String::from_utf8(xfs_bmap::list(&delayed, style).unwrap()).unwrap();
            let ours = list();
            let theirs = run(&["xfs_bmap", "-ve", delayed.to_str().unwrap()]);
            if !ours.contains("delalloc") || list() != ours {
                return false;
            }
            assert_eq!(ours, theirs);
            true
        });
    }
    let Some(mounted) = Mounted::new(EXT4, 100, "defaults") else {
        return;
    };
    let error = xfs_bmap::list(&mounted.path(), xfs_bmap::Style::default()).unwrap_err();
    assert!(
        error.to_string().contains("needs XFS, and this is ext"),
        "{error}"
    );
}

#[test]
fn e2freefrag_and_e4defrag_needs_root() {
    for block in ["1024", "4096"] {
        let mkfs = ["mkfs.ext4", "-q", "-F", "-b", block];
        let Some(mounted) = Mounted::new(&mkfs, 400, "defaults") else {
            return;
        };
        let paths = files(&mounted);
        std::fs::remove_file(&paths[1]).unwrap();
        rustix::fs::syncfs(std::fs::File::open(mounted.path()).unwrap()).unwrap();
        let device = mounted.device();
        // The program takes the number of free blocks from the superblock on the device.
        let theirs = run(&["e2freefrag", &device]);
        assert_eq!(FreeSpace::of(&mounted.path()).unwrap().render(), theirs);

        let scan = tree::scan(&mounted.path(), tree::Options::default()).unwrap();
        assert_eq!(scan.problems, Vec::<String>::new());
        let defrag = scan.tally.summary().defrag;
        let printed = run(&["e4defrag", "-c", mounted.path().to_str().unwrap()]);
        let of = |head: &str| {
            let line = printed
                .lines()
                .find(|line| line.trim().starts_with(head))
                .unwrap();
            line.split_whitespace().last().unwrap().to_owned()
        };
        let ours = format!("{}/{}", defrag.now, defrag.best);
        assert_eq!(
            (ours, defrag.score().to_string()),
            (of("Total/best"), of("Fragmentation score"))
        );
    }
}

#[test]
fn xfs_db_and_the_free_space_of_xfs_needs_root() {
    let Some(mounted) = Mounted::new(XFS, 1024, "defaults") else {
        return;
    };
    files(&mounted);
    // Space is freed asynchronously (statfs hurries it), so read it until it no longer changes.
    let statfs = || rustix::fs::statvfs(mounted.path()).unwrap().f_bfree;
    let (free, statfs) = (0..100)
        .find_map(|_| {
            let before = statfs();
            let free = FreeSpace::of(&mounted.path()).unwrap().free;
            std::thread::sleep(std::time::Duration::from_millis(50));
            (before == statfs()).then_some((free, before))
        })
        .unwrap();
    assert!(free >= statfs, "{free} {statfs}");
    assert!(free < statfs * 11 / 10 + 20_000, "{free} {statfs}");
    let options = tree::Options {
        sync: true,
        ..tree::Options::default()
    };
    let frag = tree::scan(&mounted.path(), options)
        .unwrap()
        .tally
        .summary()
        .frag;
    mounted.unmount();
    let printed = run(&[
        "xfs_db",
        "-r",
        "-c",
        "frag -f",
        mounted.image().to_str().unwrap(),
    ]);
    let ours = format!(
        "actual {}, ideal {}, fragmentation factor {:.2}%",
        frag.actual,
        frag.ideal,
        frag.factor()
    );
    assert_eq!(printed.lines().next(), Some(ours.as_str()));
}

#[test]
fn gaps_of_real_files_have_their_causes_needs_root() {
    // Groups of 8 MiB: a file of 150 MiB meets every kind of metadata.
    let mkfs = [
        "mkfs.ext4",
        "-q",
        "-F",
        "-b",
        "1024",
        "-g",
        "8192",
        "-J",
        "size=4",
    ];
    let Some(mounted) = Mounted::new(&mkfs, 400, "defaults") else {
        return;
    };
    let paths = files(&mounted);
    let large = layout(&paths[6]);
    let causes = &large.summary.causes;
    assert!(large.gaps.len() > 3, "{:?}", large.gaps);
    assert!(causes.contains_key(&Cause::BackupSuperblock), "{causes:?}");
    assert!(
        !causes.contains_key(&Cause::Unknown),
        "{causes:?} {:?}",
        large.gaps
    );
}

#[test]
fn a_file_between_others_is_fragmented_by_them_needs_root() {
    let mkfs = [
        "mkfs.ext4",
        "-q",
        "-F",
        "-b",
        "4096",
        "-J",
        "size=4",
        "-m",
        "0",
    ];
    let Some(mounted) = Mounted::new(&mkfs, 64, "defaults") else {
        return;
    };
    // Full of small files, of which every other one goes.
    let mut count = 0;
    while std::fs::write(mounted.join(&format!("f{count}")), vec![1; 65536]).is_ok() {
        count += 1;
    }
    for n in (0..count).step_by(2) {
        std::fs::remove_file(mounted.join(&format!("f{n}"))).unwrap();
    }
    rustix::fs::syncfs(std::fs::File::open(mounted.path()).unwrap()).unwrap();
    let large = mounted.join("large");
    std::fs::write(&large, vec![2; 8 << 20]).unwrap();
    std::fs::File::open(&large).unwrap().sync_all().unwrap();
    let large = layout(&large);
    let causes = &large.summary.causes;
    assert!(large.gaps.len() >= 50, "{}", large.gaps.len());
    assert!(causes.get(&Cause::OtherFile) > Some(&50), "{causes:?}");
    assert!(large.summary.weighted_run_length < 400_000.0);
    let sum = tree::scan(&mounted.path(), tree::Options::default());
    let sum = sum.unwrap().tally.summary();
    // A small file that was written back in parts, or when hardly a block was free, may be in pieces, too.
    let small = (0..=count)
        .map(|n| mounted.join(&format!("f{n}")))
        .filter(|path| path.exists())
        .map(|path| layout(&path).summary);
    let (mut discontiguities, mut avoidable) =
        (large.summary.discontiguities, large.summary.avoidable());
    for small in small {
        discontiguities += small.discontiguities;
        avoidable += small.avoidable();
    }
    assert_eq!(sum.discontiguities, discontiguities);
    // Without the kernel's word, and so without a cause.
    assert_eq!(sum.avoidable(), avoidable);
}

#[test]
fn a_tree_is_the_sum_of_its_files_and_stops_at_mounts_needs_root() {
    let Some(mounted) = Mounted::new(EXT4, 400, "defaults") else {
        return;
    };
    let paths = files(&mounted);
    let inner = mounted.join("folder/inner");
    std::fs::create_dir(&inner).unwrap();
    run(&["mount", "-t", "tmpfs", "none", inner.to_str().unwrap()]);
    std::fs::write(inner.join("unseen"), b"1").unwrap();
    let scan = tree::scan(&mounted.path(), tree::Options::default());
    run(&["umount", inner.to_str().unwrap()]);
    let scan = scan.unwrap();
    let sum = scan.tally.summary();
    assert_eq!(sum.files, 8);
    let all = paths[..7]
        .iter()
        .map(|path| layout(path))
        .chain([layout(&paths[7].join("inside"))]);
    let (mut extents, mut rows, mut mapped, mut metadata) = (0, 0, 0, 0);
    for file in all {
        extents += file.summary.extents;
        rows += file.summary.rows;
        mapped += file.summary.mapped;
        metadata += file.summary.metadata_discontiguities;
    }
    assert_eq!((sum.extents, sum.rows, sum.mapped), (extents, rows, mapped));
    assert_eq!(sum.metadata_discontiguities, metadata);
    assert_eq!(scan.problem_count, 1);
    assert!(
        scan.problems[0].contains("another filesystem is mounted here"),
        "{:?}",
        scan.problems
    );
    assert!(sum.inode_to_data.pairs >= 5);
}

#[test]
fn a_folder_without_permission_is_one_line_and_tmpfs_an_error_needs_root() {
    let Some(mounted) = Mounted::new(EXT4, 100, "defaults") else {
        return;
    };
    let point = mounted.join("memory");
    std::fs::create_dir(&point).unwrap();
    run(&["mount", "-t", "tmpfs", "none", point.to_str().unwrap()]);
    std::fs::write(point.join("file"), b"1").unwrap();
    let file = FileLayout::read(&point.join("file"), Options::default());
    let whole = tree::scan(&point, tree::Options::default());
    // A program that another test is starting may hold the mount for a moment.
    run(&["umount", "-l", point.to_str().unwrap()]);
    for text in [
        file.unwrap_err().to_string(),
        whole.unwrap_err().to_string(),
    ] {
        assert!(
            text.contains("(tmpfs) does not report where files are"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }
}
