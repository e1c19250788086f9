//! Block devices: loop devices over files, with sectors of 512 bytes and of 4 KiB, and one that
//! truly fails.
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use blockio::{BlockSource, Content, Fault, Mode, Span, Sweep, open};

const MIB: usize = 1 << 20;

/// A loop device, detached at the end.
struct Loop(String);

impl Loop {
    fn attach(file: &Path, sector: u32) -> Loop {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--read-only", "--direct-io=on"])
            .arg(format!("--sector-size={sector}"))
            .arg(file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn is_root() -> bool {
    testkit::root!("loop devices and mounts")
}

fn file(dir: &Path, len: usize) -> (std::path::PathBuf, Vec<u8>) {
    let bytes: Vec<u8> = (0..len).map(|i| (i / 511 % 255 + 1) as u8).collect();
    let path = dir.join("image");
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

const MODES: [Mode; 3] = [Mode::Buffered, Mode::Direct, Mode::Mapped];

#[test]
fn a_device_has_its_size_its_sectors_and_no_holes_needs_root() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, bytes) = file(dir.path(), 5 * MIB + 8192);
    for sector in [512, 4096] {
        let device = Loop::attach(&path, sector);
        for mode in MODES {
            let source = open(&device.0, mode).unwrap().source;
            let geometry = source.geometry();
            assert_eq!(source.len(), bytes.len() as u64);
            assert_eq!(geometry.logical_block, sector, "{mode:?}");
            assert!(geometry.physical_block >= sector);
            if mode == Mode::Direct {
                assert_eq!(geometry.offset_align, sector);
            }
            assert_eq!(source.next_data(100), Some(100..source.len()));
            assert_eq!(source.next_data(source.len()), None);
            let mut buf = vec![0; 70_001];
            source.read_at(&mut buf, 4_000_003).unwrap();
            assert!(buf == bytes[4_000_003..][..70_001]);
            let sweep = Sweep {
                request: 300_000,
                threads: 2,
                ..Sweep::default()
            };
            let all = Span {
                tag: 0,
                range: 1..source.len(),
            };
            let swept = sweep.run(
                &source,
                [all],
                |_| 0,
                |seen, piece| {
                    let (at, Content::Data(data)) = (piece.offset as usize, &piece.content) else {
                        panic!("{piece:?}");
                    };
                    assert!(**data == bytes[at..at + data.len()]);
                    *seen += data.len();
                    ControlFlow::Continue(())
                },
            );
            assert_eq!(swept.unwrap().states.iter().sum::<usize>(), bytes.len() - 1);
        }
    }
}

/// A loop device whose file was truncated returns EIO past the new end, as a disk with a defect does.
#[test]
fn real_read_errors_lose_only_the_blocks_that_fail_needs_root() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, bytes) = file(dir.path(), 4 * MIB);
    let cut = 3 * MIB + 12_288;
    for mode in MODES {
        std::fs::write(&path, &bytes).unwrap();
        let device = Loop::attach(&path, 512);
        let image = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        image.set_len(cut as u64).unwrap();
        let source = open(&device.0, mode).unwrap().source;
        let all = Span {
            tag: 0,
            range: 0..source.len(),
        };
        let (mut good, mut bad) = (vec![0; bytes.len()], Vec::new());
        let counts = Sweep::default().each(&source, [all], |piece| {
            match piece.content {
                Content::Data(data) => {
                    good[piece.offset as usize..][..data.len()].copy_from_slice(data);
                }
                Content::Hole(_) => panic!("a device has no holes"),
                Content::Failed(error) => bad.push(error.clone()),
            }
            ControlFlow::Continue(())
        });
        let counts = counts.unwrap();
        assert!(good[..cut] == bytes[..cut], "{mode:?}: {bad:?}");
        assert_eq!(counts.failed as usize, 4 * MIB - cut, "{mode:?}: {bad:?}");
        for error in &bad {
            assert_eq!(error.fault, Fault::Os(rustix::io::Errno::IO.raw_os_error()));
            assert!(error.offset >= cut as u64);
            assert_eq!(&*error.name, device.0);
        }
        // The sweep asked for 1 MiB at a time; dividing has a bound.
        assert!(counts.salvage_reads < 300, "{counts:?}");
    }
}
