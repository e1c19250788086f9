//! Whether the files of a trace are sound: blkrawverify's checks.
//!
//! Each record of a file must have the magic number, a PDU that is whole, and the CPU of the file;
//! sequence and time must go up, and the device must stay. blkrawverify takes an equal time for a
//! regression, a false alarm wherever the clock is coarser than two events are apart: these are
//! counted apart here and are not bad. Numbers that are missing in a sequence are counted too: they
//! are events that the tracer lost. The words of an action are right here: blkrawverify's table leaves
//! out two categories and then calls META DISCARD.

use std::fmt::{self, Write as _};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::record::{Category, Head, MAGIC, Malformed, SIZE};
use crate::trace::{self, TraceFile};

/// Bad records that a report shows; the others are only counted.
const SHOWN: usize = 100;

/// What is wrong with a record, in blkrawverify's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// No magic number.
    Trace,
    /// A PDU that is cut off.
    Pdu,
    /// Another CPU than the file's.
    Cpu,
    /// A sequence number that is not above the last.
    Sequence,
    /// Another device than before.
    Device,
    /// A time before the last.
    Time,
}

impl Fault {
    /// All, in the order of the report.
    pub const ALL: [Fault; 6] = [
        Fault::Trace,
        Fault::Pdu,
        Fault::Cpu,
        Fault::Sequence,
        Fault::Device,
        Fault::Time,
    ];

    const fn title(self) -> &'static str {
        match self {
            Fault::Trace => "bad trace",
            Fault::Pdu => "bad pdu",
            Fault::Cpu => "bad cpu",
            Fault::Sequence => "bad seq",
            Fault::Device => "bad dev",
            Fault::Time => "time regression",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Fault::Trace => "traces",
            Fault::Pdu => "pdu",
            Fault::Cpu => "cpu",
            Fault::Sequence => "seq",
            Fault::Device => "dev",
            Fault::Time => "time",
        }
    }
}

/// A bad record and the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Bad {
    /// What is wrong.
    pub fault: Fault,
    /// The record; of bytes that are none, as far as they can be read.
    pub head: Head,
    /// Its first word.
    pub magic: u32,
    /// The record before it.
    pub before: Option<Head>,
}

/// What was found in a file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// Its path.
    pub path: PathBuf,
    /// The CPU in its name.
    pub cpu: u32,
    /// Good events.
    pub valid: u64,
    /// Bad records by fault, in the order of [`Fault::ALL`].
    pub faults: [u64; 6],
    /// The first bad records.
    pub bad: Vec<Bad>,
    /// Events at the very time of the one before. They are valid.
    pub equal_times: u64,
    /// Numbers that are missing in the sequence: lost events.
    pub missing: u64,
    /// Why the rest of the file was not looked at.
    pub stopped: Option<String>,
}

impl FileReport {
    /// Bad records.
    pub fn invalid(&self) -> u64 {
        self.faults.iter().sum()
    }
}

/// What was found in a trace.
#[derive(Clone, Debug)]
pub struct Report {
    /// The base, as blkrawverify names the device.
    pub name: String,
    /// By CPU.
    pub files: Vec<FileReport>,
}

impl Report {
    /// Bad records of all files.
    pub fn invalid(&self) -> u64 {
        self.files.iter().map(FileReport::invalid).sum()
    }

    /// Whether no record is bad and every file was read to its end.
    pub fn is_sound(&self) -> bool {
        self.invalid() == 0 && self.files.iter().all(|file| file.stopped.is_none())
    }

    /// What blkrawverify prints on the terminal, up to the line that names its file.
    pub fn progress(&self) -> String {
        let mut text = format!("Verifying {}\n", self.name);
        for file in &self.files {
            let bad = match file.invalid() {
                0 => String::new(),
                bad => format!("-- {bad} bad"),
            };
            let _ = writeln!(text, "    CPU {} {bad}", file.cpu);
        }
        text
    }
}

/// What blkrawverify writes to `NAME.verify.out`, and a line each for what it does not know.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n---------------\nVerifying {}\n", self.name)?;
        for file in &self.files {
            for bad in &file.bad {
                writeln!(f, "    ----------------")?;
                if let Some(before) = &bad.before {
                    dump(f, "seq-1", before, MAGIC | 7)?;
                }
                dump(f, bad.fault.title(), &bad.head, bad.magic)?;
            }
            let (valid, invalid) = (file.valid, file.invalid());
            let share = 100.0 * valid as f64 / (valid + invalid).max(1) as f64;
            write!(
                f,
                "    ---------------------\n    Summary for cpu {}:\n    {valid:>10} valid + \
                 {invalid:>10} invalid ({share:>5.1}%) processed\n\n",
                file.cpu
            )?;
            if invalid > 0 {
                for (fault, count) in Fault::ALL.iter().zip(file.faults) {
                    if count > 0 {
                        writeln!(f, "{:8} {count} {}", "", fault.word())?;
                    }
                }
                writeln!(f)?;
            }
            file.notes(f)?;
        }
        Ok(())
    }
}

impl FileReport {
    /// What blkrawverify does not say.
    fn notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.invalid() - self.bad.len() as u64;
        for (count, what) in [
            (hidden, "further bad records are not shown"),
            (
                self.equal_times,
                "events at the time of the one before (valid)",
            ),
            (
                self.missing,
                "numbers missing in the sequence (lost events)",
            ),
        ] {
            if count > 0 {
                writeln!(f, "{:8} {count} {what}", "")?;
            }
        }
        match &self.stopped {
            Some(why) => writeln!(f, "{:8} stopped: {why}", ""),
            None => Ok(()),
        }
    }
}

fn dump(f: &mut fmt::Formatter<'_>, title: &str, head: &Head, magic: u32) -> fmt::Result {
    let (major, minor) = head.numbers();
    writeln!(f, "    Dump {title}")?;
    writeln!(f, "        {:>8}: {magic:08x}", "magic")?;
    for (name, value) in [
        ("sequence", head.sequence.into()),
        ("time", head.time),
        ("sector", head.sector),
        ("bytes", head.bytes.into()),
    ] {
        writeln!(f, "        {name:>8}: {value}")?;
    }
    writeln!(f, "        {:>8}: {}", "action", words(head.action))?;
    for (name, value) in [
        ("bytes", head.bytes),
        ("cpu", head.cpu),
        ("error", head.error.into()),
        ("pdu_len", head.pdu_len.into()),
    ] {
        writeln!(f, "        {name:>8}: {value}")?;
    }
    write!(f, "        {:>8}: ({major},{minor})\n\n", "device")
}

/// An action in words: `__BLK_TA_QUEUE | BLK_TC_WRITE `.
fn words(action: u32) -> String {
    const ACTIONS: [&str; 16] = [
        "QUEUE",
        "QUEUE",
        "BACKMERGE",
        "FRONTMERGE",
        "GETRQ",
        "SLEEPRQ",
        "REQUEUE",
        "ISSUE",
        "COMPLETE",
        "PLUG",
        "UNPLUG_IO",
        "UNPLUG_TIMER",
        "INSERT",
        "SPLIT",
        "BOUNCE",
        "REMAP",
    ];
    const CATEGORIES: [&str; 16] = [
        "READ", "WRITE", "FLUSH", "SYNC", "QUEUE", "REQUEUE", "ISSUE", "COMPLETE", "FS", "PC",
        "NOTIFY", "AHEAD", "META", "DISCARD", "DRV_DATA", "FUA",
    ];
    let Some(name) = ACTIONS.get((action & 0xffff) as usize) else {
        return format!("Invalid action={action:08x}");
    };
    let mut text = format!("__BLK_TA_{name} ");
    for (bit, category) in CATEGORIES.iter().enumerate() {
        if action >> (16 + bit) & 1 == 1 {
            let _ = write!(text, "| BLK_TC_{category} ");
        }
    }
    text
}

/// Checks the files of a base.
///
/// # Errors
/// No such file, and files that cannot be read. What is wrong in them is in the report.
pub fn verify(base: &Path) -> Result<Report, Error> {
    let files = trace::find(base)?;
    let name = trace::stem(base).unwrap_or_default().to_owned();
    let files = files
        .iter()
        .map(|file| {
            let fail = |source| Error::Io {
                path: file.path.clone(),
                source,
            };
            let source = input::open_regular(&file.path).map_err(|error| fail(error.into()))?;
            check(file, BufReader::with_capacity(1 << 18, source)).map_err(fail)
        })
        .collect::<Result<_, _>>()?;
    Ok(Report { name, files })
}

struct Checker {
    report: FileReport,
    before: Option<Head>,
    /// The last good event.
    good: Option<Head>,
}

fn check(file: &TraceFile, mut source: impl Read) -> io::Result<FileReport> {
    let mut checker = Checker {
        report: FileReport {
            path: file.path.clone(),
            cpu: file.cpu,
            valid: 0,
            faults: [0; 6],
            bad: Vec::new(),
            equal_times: 0,
            missing: 0,
            stopped: None,
        },
        before: None,
        good: None,
    };
    let mut record = [0; SIZE];
    let mut pdu = Vec::new();
    loop {
        match fill(&mut source, &mut record)? {
            SIZE => {}
            0 => break,
            part => {
                let why = format!("it ends inside a record, {part} bytes after its beginning");
                checker.report.stopped = Some(why);
                break;
            }
        }
        let head = match Head::parse(&record) {
            Ok(head) => head,
            Err(Malformed::Magic(magic)) => {
                checker.bad(Fault::Trace, unchecked(record), magic);
                continue;
            }
            Err(Malformed::Version(version)) => {
                checker.report.stopped = Some(format!("unsupported trace version {version}"));
                break;
            }
            Err(Malformed::OtherEndian) => {
                checker.report.stopped = Some("traced on a machine of the other byte order".into());
                break;
            }
        };
        pdu.resize(usize::from(head.pdu_len), 0);
        if fill(&mut source, &mut pdu)? < pdu.len() {
            checker.bad(Fault::Pdu, head, MAGIC | 7);
            break;
        }
        checker.record(head);
    }
    Ok(checker.report)
}

/// The fields of bytes that have no magic number.
fn unchecked(mut record: [u8; SIZE]) -> Head {
    record[..4].copy_from_slice(&(MAGIC | 7).to_ne_bytes());
    Head::parse(&record).unwrap_or_default()
}

/// Reads until the buffer is full or the file ends; how many bytes.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Checker {
    fn record(&mut self, head: Head) {
        if head.cpu != self.report.cpu {
            return self.bad(Fault::Cpu, head, MAGIC | 7);
        }
        // Notes have no sequence.
        if head.has(Category::Notify) {
            return;
        }
        if let Some(good) = self.good {
            let fault = if head.sequence <= good.sequence {
                Some(Fault::Sequence)
            } else if head.time < good.time {
                Some(Fault::Time)
            } else if head.device != good.device {
                Some(Fault::Device)
            } else {
                None
            };
            if let Some(fault) = fault {
                return self.bad(fault, head, MAGIC | 7);
            }
            self.report.equal_times += u64::from(head.time == good.time);
            self.report.missing += u64::from(head.sequence - good.sequence - 1);
        }
        self.report.valid += 1;
        self.good = Some(head);
        self.before = Some(head);
    }

    fn bad(&mut self, fault: Fault, head: Head, magic: u32) {
        self.report.faults[fault as usize] += 1;
        if self.report.bad.len() < SHOWN {
            self.report.bad.push(Bad {
                fault,
                head,
                magic,
                before: self.before,
            });
        }
        self.before = Some(head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(records: &[(Head, usize)], tail: &[u8]) -> FileReport {
        let mut bytes = Vec::new();
        for (head, pdu) in records {
            bytes.extend(
                Head {
                    pdu_len: *pdu as u16,
                    ..*head
                }
                .to_bytes(),
            );
            bytes.extend(vec![0; *pdu]);
        }
        bytes.extend(tail);
        let file = TraceFile {
            path: "sda.blktrace.0".into(),
            base: 0,
            cpu: 0,
            bytes: bytes.len() as u64,
        };
        check(&file, &bytes[..]).unwrap()
    }

    fn head(sequence: u32, time: u64) -> (Head, usize) {
        let head = Head {
            sequence,
            time,
            action: 1 | Category::Queue as u32 | Category::Write as u32,
            device: 8 << 20,
            ..Head::default()
        };
        (head, 0)
    }

    #[test]
    fn each_fault_is_found_and_counted() {
        let mut other_cpu = head(5, 50);
        other_cpu.0.cpu = 3;
        let mut other_device = head(6, 60);
        other_device.0.device = 9;
        let records = [
            head(1, 10),
            head(2, 10),
            head(4, 40),
            other_cpu,
            other_device,
            head(4, 70),
            head(7, 30),
            head(8, 80),
        ];
        let found = report(&records, &[1; SIZE]);
        assert_eq!((found.valid, found.invalid()), (4, 5));
        assert_eq!(found.faults, [1, 0, 1, 1, 1, 1]);
        assert_eq!((found.equal_times, found.missing), (1, 4));
        let cut = report(&[head(1, 10)], &head(2, 20).0.to_bytes()[..20]);
        assert!(cut.stopped.unwrap().contains("20 bytes"));
        let mut long = head(2, 20).0;
        long.pdu_len = 9;
        assert_eq!(report(&[head(1, 10)], &long.to_bytes()).faults[1], 1);
    }

    #[test]
    fn an_action_is_put_in_words() {
        let action = 7 | Category::Write as u32 | Category::Issue as u32 | Category::Fs as u32;
        let expected = "__BLK_TA_ISSUE | BLK_TC_WRITE | BLK_TC_ISSUE | BLK_TC_FS ";
        assert_eq!(words(action), expected);
        assert_eq!(words(0x99), "Invalid action=00000099");
    }
}
