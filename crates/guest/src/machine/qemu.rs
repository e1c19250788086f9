//! The command line of QEMU.
//!
//! `-nodefaults`: what is not listed is not there, so a boot probes no floppy and no network card.
//! One CPU unless there is hardware help: TCG's second CPU costs boot time and wins nothing for
//! one-threaded work. `cache=unsafe`: flushes of the guest end at the host's page cache, because
//! guest disks are about what a kernel writes and in which order, not about how long this host's
//! disk takes; times are marked as emulated for the same reason.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use super::process::{Cpus, Program, by_number, need, words};
use super::{Disk, Error, MARK, Machine, PORT, VIRTIO};
use crate::initramfs;

/// The program.
pub(super) const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86 seabios";
/// Disks that still have a slot on the PCI bus.
const MOST_DISKS: usize = 26;

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor.
    Kvm,
    /// QEMU's translator: 10 to 18 times slower than the host at file work.
    Tcg,
    /// The translator with a clock that counts instructions (`-icount`): one second is 10^9 of them, a
    /// sleeping guest's clock jumps to its next timer, and two runs that start from the same bytes execute the
    /// same instructions. Only what is inside the guest runs in that time (null_blk, not a disk of the host).
    Virtual,
}

impl Accelerator {
    /// As the record names it.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
            Accelerator::Virtual => "tcg-icount",
        }
    }

    /// The best that this machine promises. Whether KVM keeps the promise shows at the first boot.
    pub fn promised() -> Accelerator {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let open = || {
            let kvm = OpenOptions::new().read(true).write(true).open("/dev/kvm");
            kvm.is_ok()
        };
        if virtualises(&cpuinfo) && open() {
            Accelerator::Kvm
        } else {
            Accelerator::Tcg
        }
    }
}

/// Whether the processor can run guests: VT-x or AMD-V among its flags.
fn virtualises(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|w| w == "vmx" || w == "svm"))
}

/// Whether QEMU is here.
pub(super) fn present() -> Result<(), Error> {
    need(PROGRAM, PACKAGE).map(|_| ())
}

/// The command, and the files that it is handed.
pub(super) fn program(
    machine: &Machine,
    accelerator: Accelerator,
    channel: &UnixStream,
) -> Result<Program, Error> {
    let asked = machine.disks.len();
    if asked > MOST_DISKS {
        return Err(Error::TooManyDisks {
            asked,
            machine: PROGRAM,
            most: MOST_DISKS,
        });
    }
    let program = need(PROGRAM, PACKAGE)?;
    let mut passed = vec![machine.initramfs.as_raw_fd(), channel.as_raw_fd()];
    for disk in &machine.disks {
        passed.push(disk.file.as_raw_fd());
        passed.extend(disk.log.iter().map(AsRawFd::as_raw_fd));
    }
    passed.extend(machine.persistent.iter().map(AsRawFd::as_raw_fd));
    Ok(Program {
        path: program,
        arguments: arguments(machine, accelerator, channel),
        environment: Vec::new(),
        passed,
        own: None,
        cpus: match accelerator {
            Accelerator::Virtual => Cpus::OneFirstThreadBefore,
            Accelerator::Kvm | Accelerator::Tcg => Cpus::Any,
        },
    })
}

fn arguments(machine: &Machine, accelerator: Accelerator, channel: &UnixStream) -> Vec<OsString> {
    let (accel, cpu, cpus) = match accelerator {
        Accelerator::Kvm => ("kvm", "host", machine.cpus.max(1)),
        // A kernel that sees fast `rep movsb` among the features copies with it, which TCG does byte by byte: reads of
        // cached pages took twice as long, and with large folios seven times.
        Accelerator::Tcg => ("tcg,thread=multi", "max,erms=off,fsrm=off", 1),
        // Without the processor's random numbers a guest draws the same each time: UUIDs, seeds of hashes.
        Accelerator::Virtual => (
            "tcg,thread=single",
            "max,erms=off,fsrm=off,rdrand=off,rdseed=off",
            1,
        ),
    };
    let mut line = words(["-accel", accel, "-cpu", cpu, "-machine", "q35"]);
    if accelerator == Accelerator::Virtual {
        // The calendar as well: what a guest reads of it is the same each time.
        line.extend(words(["-icount", "shift=0,sleep=off"]));
        line.extend(words(["-rtc", "base=2026-01-01T00:00:00,clock=vm"]));
        // QEMU hands a kernel that it boots itself a seed of random numbers.
        line.extend(words(["-seed", "1"]));
    }
    line.extend(words(["-smp", &cpus.to_string()]));
    line.extend(memory(machine));
    line.extend(words(["-nodefaults", "-no-user-config", "-no-reboot"]));
    line.extend(words(["-display", "none", "-kernel"]));
    line.push(machine.kernel.clone().into());
    line.extend(words(["-initrd", &by_number(&machine.initramfs)]));
    let mut kernel = kernel_line(machine);
    if accelerator == Accelerator::Virtual {
        // With one processor, an answer of a modelled disk's server waits for whatever the kernel copies at that moment, unless
        // that can be interrupted.
        kernel.push_str(" nokaslr preempt=full");
    }
    line.extend(words(["-append", &kernel]));
    line.extend(words(["-chardev", "stdio,id=console,signal=off"]));
    line.extend(words(["-serial", "chardev:console"]));
    line.extend(words(["-device", channel_device(accelerator)]));
    let socket = format!("socket,id=result,fd={}", channel.as_raw_fd());
    line.extend(words(["-chardev", &socket]));
    let port = format!("virtserialport,chardev=result,name={PORT}");
    line.extend(words(["-device", &port]));
    for (number, disk) in machine.disks.iter().enumerate() {
        line.extend(drive(number, disk));
    }
    line
}

/// The guest's memory, and what is persistent of it.
fn memory(machine: &Machine) -> Vec<OsString> {
    let memory = machine.memory >> 20;
    let Some(file) = &machine.persistent else {
        return words(["-m", &format!("{memory}M")]);
    };
    let size = file.metadata().map_or(0, |metadata| metadata.len()) >> 20;
    let most = memory + size;
    let backend = format!(
        "memory-backend-file,id=persistent,share=on,size={size}M,mem-path={}",
        by_number(file)
    );
    words([
        "-m",
        &format!("{memory}M,maxmem={most}M"),
        "-object",
        &backend,
        "-device",
        "virtio-pmem-pci,memdev=persistent",
    ])
}

/// The controller of the guest's channel. The kernel's driver spins until the host has taken what it wrote. By an
/// eventfd another thread of QEMU takes it, sooner or later, and the number of instructions
/// spun depends on the host; without one the guest's own thread takes it, within the instruction that notifies.
fn channel_device(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Virtual => "virtio-serial-pci,ioeventfd=off",
        Accelerator::Kvm | Accelerator::Tcg => "virtio-serial-pci",
    }
}

/// A disk: the image, a log of its writes above it if one is kept, and the device.
fn drive(number: usize, disk: &Disk) -> Vec<OsString> {
    let file = by_number(&disk.file);
    let mut line = match &disk.log {
        None => words([
            "-drive",
            &format!("if=none,id=disk{number},format=raw,cache=unsafe,discard=unmap,file={file}"),
        ]),
        // Flushes are logged and go no further: below is the host's page cache either way.
        Some(log) => words([
            "-blockdev",
            &format!(
                "driver=file,node-name=file{number},cache.no-flush=on,discard=unmap,filename={file}"
            ),
            "-blockdev",
            &format!(
                "driver=file,node-name=log{number},cache.no-flush=on,filename={}",
                by_number(log)
            ),
            "-blockdev",
            &format!(
                "driver=blklogwrites,node-name=disk{number},file=file{number},log=log{number},\
                 log-sector-size=512"
            ),
        ]),
    };
    // Requests that are merged have up to IOV_MAX pieces; blklogwrites adds two, and the write fails.
    let merging = disk.log.as_ref().map_or("", |_| ",request-merging=off");
    let device = format!(
        "virtio-blk-pci,drive=disk{number},serial={}{merging}",
        disk.serial.replace(',', ",,")
    );
    line.extend(words(["-device", &device]));
    line
}

/// A panic and an oops end the machine; `loglevel=4` keeps errors on the console and saves the
/// seconds that a serial line takes for the rest. What the kernel does not know is init's environment.
fn kernel_line(machine: &Machine) -> String {
    let mut line = format!(
        "console=ttyS0 panic=-1 oops=panic loglevel=4 {MARK}={VIRTIO} PATH={}",
        initramfs::PATH
    );
    for word in &machine.append {
        let _ = write!(line, " {word}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_logged_has_its_log_above_the_image() {
        let file = || tempfile::tempfile().unwrap();
        let disk = |log| Disk {
            file: file(),
            serial: "disk0".into(),
            log,
        };
        let printed = |disk: &Disk| {
            let words = drive(0, disk).into_iter();
            words
                .map(|word| word.into_string().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert!(!printed(&disk(None)).contains("blklogwrites"));
        let logged = printed(&disk(Some(file())));
        assert!(logged.contains(
            "driver=blklogwrites,node-name=disk0,file=file0,log=log0,log-sector-size=512"
        ));
        assert!(
            logged.ends_with("serial=disk0,request-merging=off"),
            "{logged}"
        );
    }

    #[test]
    fn in_virtual_time_nothing_of_the_host_reaches_the_guest() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let machine = Machine {
            engine: super::super::Engine::Qemu(Accelerator::Virtual),
            kernel: "vmlinuz".into(),
            libraries: None,
            initramfs: tempfile::tempfile().unwrap(),
            memory: 1 << 30,
            cpus: 4,
            disks: Vec::new(),
            persistent: None,
            append: Vec::new(),
            limits: super::super::Limits::default(),
            console: "console".into(),
            files: "files".into(),
        };
        let printed = |accelerator| {
            let line = arguments(&machine, accelerator, &ours);
            line.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
        };
        let line = printed(Accelerator::Virtual);
        for words in [
            "-smp 1",
            "-icount shift=0,sleep=off",
            "-seed 1",
            "clock=vm",
            "rdrand=off,rdseed=off",
            "virtio-serial-pci,ioeventfd=off",
            "nokaslr preempt=full",
        ] {
            assert!(line.contains(words), "{words}: {line}");
        }
        let line = printed(Accelerator::Tcg);
        for words in ["-icount", "-seed", "ioeventfd", "nokaslr", "preempt"] {
            assert!(!line.contains(words), "{words}: {line}");
        }
        for (accelerator, emulated) in [
            (Accelerator::Virtual, true),
            (Accelerator::Tcg, true),
            (Accelerator::Kvm, false),
        ] {
            let line = printed(accelerator);
            assert_eq!(line.contains("-cpu max,erms=off,fsrm=off"), emulated);
        }
    }

    #[test]
    fn kvm_needs_the_processors_word() {
        assert!(virtualises("processor: 0\nflags\t\t: fpu vmx sse\n"));
        assert!(virtualises("flags : svm\n"));
        assert!(!virtualises("flags : fpu vmxnet\nmodel name : svm vmx\n"));
        assert!(!virtualises(""));
    }
}
