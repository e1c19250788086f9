//! Every case, held against the installed e2fsck by its log of problems.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fixtures::bases as base;
use forge::damage::{self, Case, Filesystem, Random, Reference, Seal};

/// What e2fsck reports of an image.
#[derive(Debug)]
struct E2fsck {
    code: Option<i32>,
    problems: Vec<u32>,
    text: String,
}

/// A folder in memory where there is one: e2fsprogs waits for the disk after every step.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Made once for all tests of this program.
fn pristine(name: &str) -> Arc<[u8]> {
    static MADE: Mutex<BTreeMap<String, Arc<[u8]>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(bytes) = made.get(name) {
        return Arc::clone(bytes);
    }
    let folder = scratch();
    let base = base::find(name).unwrap();
    let image = base
        .make(folder.path())
        .unwrap_or_else(|error| panic!("{error}"));
    let bytes: Arc<[u8]> = fs::read(image).unwrap().into();
    made.insert(name.to_owned(), Arc::clone(&bytes));
    bytes
}

fn e2fsck(image: &Path) -> E2fsck {
    let log = image.with_extension("xml");
    let _ = fs::remove_file(&log);
    let out = image.with_extension("out");
    let mut child = Command::new("e2fsck")
        .arg("-fn")
        .arg("-E")
        .arg(format!("problem_log={}", log.display()))
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("e2fsck: {error}; these tests need e2fsprogs"));
    let begin = Instant::now();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            // It hangs on some images; what it logged until then counts.
            None if begin.elapsed() > Duration::from_secs(20) => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let xml = fs::read_to_string(&log).unwrap_or_default();
    let problems = xml
        .split("code=\"0x")
        .skip(1)
        .filter_map(|rest| u32::from_str_radix(rest.get(..6)?, 16).ok())
        .collect();
    let text = String::from_utf8_lossy(&fs::read(&out).unwrap_or_default()).into_owned();
    E2fsck {
        code,
        problems,
        text,
    }
}

/// Leaves zeros out: three hundred images of twenty megabytes are soon written that way.
fn write_sparse(path: &Path, bytes: &[u8]) {
    let file = fs::File::create(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    for (nth, piece) in bytes.chunks(4096).enumerate() {
        if piece.iter().any(|byte| *byte != 0) {
            file.write_all_at(piece, nth as u64 * 4096).unwrap();
        }
    }
}

/// Damages a copy of the case's base and runs e2fsck.
fn judged(case: &Case, folder: &Path) -> Result<E2fsck, String> {
    let before = pristine(case.base);
    let mut bytes = before.to_vec();
    let made = Filesystem::open(&mut bytes).and_then(|mut fs| case.apply(&mut fs));
    if let Err(error) = made {
        return Err(format!("{}: {error}", case.name));
    }
    if bytes == *before {
        return Err(format!("{}: nothing has changed", case.name));
    }
    let image = folder.join(format!("{}.img", case.name));
    write_sparse(&image, &bytes);
    let output = e2fsck(&image);
    fs::remove_file(&image).unwrap();
    Ok(output)
}

fn against_expectation(case: &Case, output: &E2fsck) -> Option<String> {
    let raised = output.problems.contains(&case.code);
    let stopped = output.code.is_none_or(|code| code & 8 != 0);
    let as_said = match case.reference {
        Reference::Raises => raised,
        Reference::Stops => raised || stopped,
        Reference::Silent(_) => !raised,
    };
    let heads: Vec<u32> = output
        .problems
        .iter()
        .copied()
        .filter(|code| code & 0xfff != 0)
        .collect();
    (!as_said).then(|| {
        format!(
            "{} on {}: {:#08x} not as expected; exit {:?}, codes {heads:06x?}\n{}",
            case.name, case.base, case.code, output.code, output.text
        )
    })
}

#[test]
fn each_case_is_what_the_reference_says() {
    let folder = scratch();
    // FSLAB_CASE=part-of-a-name for some alone.
    let only = std::env::var("FSLAB_CASE").unwrap_or_default();
    let cases: Vec<&Case> = damage::all()
        .filter(|case| case.name.contains(&only))
        .collect();
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (cases, wrong, folder) = (&cases, &wrong, folder.path());
            scope.spawn(move || {
                for case in cases.iter().skip(half).step_by(2) {
                    let fault = match judged(case, folder) {
                        Ok(output) => against_expectation(case, &output),
                        Err(error) => Some(error),
                    };
                    wrong.lock().unwrap().extend(fault);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_case_names_a_base() {
    for case in damage::all() {
        assert!(
            base::find(case.base).is_some(),
            "{}: {}",
            case.name,
            case.base
        );
    }
}

#[test]
fn random_damage_depends_on_the_seed_alone_and_on_every_base() {
    for base in base::BASES {
        let sound = pristine(base.name);
        let mut changed = 0;
        for seed in 0..12 {
            let what = Random {
                count: 3,
                seed,
                seal: None,
            };
            let (mut one, mut other) = (sound.to_vec(), sound.to_vec());
            let output = damage::random(&mut one, &what).unwrap();
            assert_eq!(output, damage::random(&mut other, &what).unwrap());
            assert!(one == other, "{} seed {seed}", base.name);
            assert_eq!(output.len(), 3);
            changed += usize::from(one != *sound);
        }
        assert_eq!(changed, 12, "{}", base.name);
    }
}

/// Of changes whose checksums fit, e2fsck notices a good part by something else than a checksum.
#[test]
fn damage_goes_deeper_than_checksums() {
    let folder = scratch();
    let sound = pristine("ext4-1k");
    let checksums = [
        0x00_0035, 0x00_003e, 0x01_0068, 0x01_006a, 0x01_006c, 0x02_0049, 0x02_004a, 0x02_004d,
        0x05_001a, 0x05_001b,
    ];
    let mut deeper = 0;
    for seed in 0..40 {
        let mut bytes = sound.to_vec();
        let what = Random {
            count: 2,
            seed,
            seal: Some(Seal::Again),
        };
        damage::random(&mut bytes, &what).unwrap();
        let image = folder.path().join("image");
        let _ = fs::remove_file(&image);
        write_sparse(&image, &bytes);
        let output = e2fsck(&image);
        let problems = output.problems.iter().filter(|code| *code & 0xfff != 0);
        deeper += usize::from(problems.clone().any(|code| !checksums.contains(code)));
    }
    assert!(
        deeper >= 20,
        "only {deeper} of 40 were noticed by more than a checksum"
    );
}
