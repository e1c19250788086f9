//! The reading, with plain files in the place of debugfs's: a read at their end gives nothing, and more
//! when something was written, as relay files do.

use std::fs;
use std::io::Write;

use blktrace::record::Head;
use fixtures::block_trace::Forge;

use super::*;

/// A folder as the kernel makes it for a trace, and the trace opened in it.
fn stand_in(dropped: &str, cpus: u32) -> (tempfile::TempDir, Traced) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("block/sda");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("dropped"), dropped).unwrap();
    fs::write(folder.join("msg"), "").unwrap();
    for cpu in 0..cpus {
        fs::write(folder.join(format!("trace{cpu}")), "").unwrap();
    }
    let node = File::open(folder.join("msg")).unwrap();
    let device = Device::of_test("sda", 8 << 20);
    let traced = Traced::open(node, folder, root.path(), &device).unwrap();
    (root, traced)
}

fn append(root: &Path, cpu: usize, bytes: &[u8]) {
    let path = root.join(format!("block/sda/trace{cpu}"));
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn bytes_arrive_as_they_are_whatever_pieces_they_come_in() {
    let files = Forge::plain(5, 300).bytes().unwrap();
    let (root, mut traced) = stand_in("0\n", 2);
    let mut buffer = vec![0; 100];
    let mut offsets = [0, 0];
    let mut size = 1;
    while (0..2).any(|cpu| offsets[cpu] < files[cpu].len()) {
        for cpu in 0..2 {
            let end = files[cpu].len().min(offsets[cpu] + size);
            append(root.path(), cpu, &files[cpu][offsets[cpu]..end]);
            offsets[cpu] = end;
        }
        assert!(traced.pass(&mut buffer).unwrap());
        size = size * 3 % 1009 + 1;
    }
    assert!(!traced.pass(&mut buffer).unwrap());
    let counted = traced.finish().unwrap();
    assert_eq!((counted.dropped, counted.broken), (0, 0));
    for (cpu, bytes) in files.iter().enumerate() {
        let copy = fs::read(root.path().join(format!("sda.blktrace.{cpu}"))).unwrap();
        assert!(copy == *bytes, "CPU {cpu}");
        let (number, _, size, missing) = counted.cpus[cpu];
        assert_eq!((number, size, missing), (cpu as u32, bytes.len() as u64, 0));
    }
    // The forge says how many it made; notes are none.
    let events: u64 = counted.cpus.iter().map(|cpu| cpu.1).sum();
    let folder = tempfile::tempdir().unwrap();
    let made = Forge::plain(5, 300).write(folder.path(), "sda").unwrap();
    assert_eq!(events, made);
}

#[test]
fn losses_are_told_by_the_kernel_and_placed_by_the_sequence() {
    let (root, mut traced) = stand_in("7\n", 1);
    for sequence in [1, 2, 6, 7, 12] {
        let head = Head {
            sequence,
            action: 1 << 16 | 1,
            ..Head::default()
        };
        append(root.path(), 0, &head.to_bytes());
    }
    traced.pass(&mut [0; 4096]).unwrap();
    let counted = traced.finish().unwrap();
    assert_eq!(counted.dropped, 7);
    assert_eq!(counted.cpus, [(0, 5, 5 * 48, 7)]);
}

#[test]
fn what_is_no_record_is_copied_and_called_broken() {
    let (root, mut traced) = stand_in("0", 2);
    append(root.path(), 0, &[0xa5; 200]);
    append(root.path(), 1, &Head::default().to_bytes()[..20]);
    traced.pass(&mut [0; 64]).unwrap();
    let counted = traced.finish().unwrap();
    assert_eq!(counted.broken, 2);
    assert_eq!(
        fs::read(root.path().join("sda.blktrace.0")).unwrap(),
        [0xa5; 200]
    );
}

#[test]
fn the_thread_reads_what_was_written_before_the_stop() {
    let files = Forge::plain(6, 2000).bytes().unwrap();
    let (root, traced) = stand_in("0", 2);
    let stop = AtomicBool::new(false);
    let mut traced = std::thread::scope(|scope| {
        let reader = scope.spawn(|| run(vec![traced], &stop));
        for (cpu, bytes) in files.iter().enumerate() {
            for piece in bytes.chunks(5000) {
                append(root.path(), cpu, piece);
            }
        }
        stop.store(true, Ordering::Release);
        reader.thread().unpark();
        reader.join().unwrap().unwrap()
    });
    let counted = traced[0].finish().unwrap();
    assert_eq!(counted.broken, 0);
    for (cpu, bytes) in files.iter().enumerate() {
        let copy = fs::read(root.path().join(format!("sda.blktrace.{cpu}"))).unwrap();
        assert!(copy == *bytes, "CPU {cpu}");
    }
}

#[test]
fn a_trace_belongs_to_whoever_holds_its_lock() {
    let (root, traced) = stand_in("0", 1);
    let dropped = root.path().join("block/sda/dropped");
    assert!(matches!(lock(&dropped), Err(Error::Busy { .. })));
    drop(traced);
    assert!(lock(&dropped).is_ok());
}

#[test]
fn a_refusal_says_whose_it_is() {
    let of = |errno: rustix::io::Errno| begun(Path::new("/dev/sda"), errno.into());
    assert!(matches!(of(rustix::io::Errno::BUSY), Error::Busy { .. }));
    assert!(matches!(
        of(rustix::io::Errno::PERM),
        Error::NoMethod { .. }
    ));
    assert!(matches!(of(rustix::io::Errno::INVAL), Error::Io { .. }));
    // A file is no device: nothing is set up, nothing is left.
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = tempfile::tempdir().unwrap();
    let device = Device::of_test("sda", 8 << 20);
    let options = (Mask::default(), 8 << 20);
    let nodes = [file.path().to_owned()];
    assert!(Session::start(&nodes, &[device], options, out.path()).is_err());
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

/// A loop device over an image.
struct Disk {
    _image: tempfile::NamedTempFile,
    node: PathBuf,
}

impl Disk {
    fn new() -> Disk {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(8 << 20).unwrap();
        let output = std::process::Command::new("losetup")
            .args(["-f", "--show"])
            .arg(image.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        let node = String::from_utf8(output.stdout).unwrap();
        Disk {
            _image: image,
            node: node.trim().into(),
        }
    }

    fn name(&self) -> &str {
        self.node.file_name().unwrap().to_str().unwrap()
    }

    fn enabled(&self) -> bool {
        let path = format!("/sys/block/{}/trace/enable", self.name());
        fs::read_to_string(path).unwrap().trim() != "0"
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup")
            .arg("-d")
            .arg(&self.node)
            .status();
    }
}

fn needs_root() -> bool {
    !testkit::root!("block traces and loop devices")
}

#[test]
fn the_kernel_knows_the_four_commands_needs_root() {
    if needs_root() {
        return;
    }
    let disk = Disk::new();
    let node = open_node(&disk.node).unwrap();
    let name = ioctl::setup(&node, u16::MAX, 512 << 10, 4).unwrap();
    assert_eq!(name, disk.name());
    assert!(disk.enabled());
    let twice = ioctl::setup(&node, u16::MAX, 512 << 10, 4).unwrap_err();
    assert!(matches!(begun(&disk.node, twice), Error::Busy { .. }));
    ioctl::start(&node).unwrap();
    take_back(&disk.node).unwrap();
    assert!(!disk.enabled());
    assert!(take_back(&disk.node).is_err(), "nothing is left to end");
}

/// Where lockdown closes debugfs the start is refused, and nothing is left; elsewhere it records.
#[test]
fn a_device_is_recorded_or_left_as_it_was_needs_root() {
    if needs_root() {
        return;
    }
    let disk = Disk::new();
    let out = tempfile::tempdir().unwrap();
    let devices = [Device::find(&disk.node).unwrap()];
    let nodes = [disk.node.clone()];
    let started = Session::start(&nodes, &devices, (Mask::default(), 8 << 20), out.path());
    match started {
        Err(error) => {
            assert!(available().is_err(), "{error}");
            println!("not recorded here: {error}");
        }
        Ok(session) => {
            let file = OpenOptions::new().write(true).open(&disk.node).unwrap();
            rustix::fs::fsync(&file).unwrap();
            let mut file = file;
            file.write_all(&[1; 4096]).unwrap();
            file.sync_all().unwrap();
            let counted = session.finish().unwrap();
            let events: u64 = counted[0].cpus.iter().map(|cpu| cpu.1).sum();
            assert!(events >= 3, "{events}");
            assert_eq!((counted[0].dropped, counted[0].broken), (0, 0));
        }
    }
    assert!(!disk.enabled());
}
