//! The two answers of a test boot: of a kernel that runs on this machine, and of one that cannot boot.

use crate::common::{self, AS_INIT};

use std::fs;
use std::path::Path;
use std::time::Instant;

use guest::boot_probe::{Answer, Outcome, Prober};
use guest::kernel::{Added, Cache, Form, Kernel};

fn prober(cache: &Cache) -> Prober<'_> {
    Prober::with_init(cache, Path::new("/proc/self/exe"), &AS_INIT)
}

/// A kernel that is User-mode Linux by its content and a program that ends at once: what is left of UML on a
/// processor that it does not suit. The program is echo, so that its console shows what it was started with.
fn cannot_boot(cache: &Cache, folder: &Path) -> Kernel {
    let mut image = fs::read("/bin/echo").unwrap();
    image.extend(b"\0Linux version 6.1.999 (me@here) #1\0User Mode Linux\0uml_dir=\0");
    let path = folder.join("linux");
    fs::write(&path, image).unwrap();
    let added = Added {
        image: path,
        modules: None,
        config: None,
    };
    let kernel = cache.add("cannot-boot", &added, &mut |_| ()).unwrap();
    assert_eq!(kernel.form, Form::Uml);
    kernel
}

fn probes(cache: &Cache) -> Vec<String> {
    let entries = fs::read_dir(cache.root().join("probes")).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_kernel_that_cannot_boot_is_known_by_its_reason_and_tried_once() {
    let temp = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(&temp.path().join("cache"))).unwrap();
    let kernel = cannot_boot(&cache, temp.path());
    let prober = prober(&cache);
    assert_eq!(prober.known(&kernel).unwrap(), None);
    let mut printed = Vec::new();
    let mut say = |line: &str| printed.push(line.to_owned());
    let first = prober.answer(&kernel, false, &mut say).unwrap();
    let reason = first.failure().unwrap();
    assert!(!reason.is_empty() && !reason.contains('\n'), "{reason}");
    assert!(first.append().is_empty());

    // The answer is kept, and given again without a boot.
    let again = prober.answer(&kernel, false, &mut say).unwrap();
    assert_eq!(again, first);
    assert_eq!(prober.known(&kernel).unwrap(), Some(first.clone()));
    assert_eq!(printed, ["test boot of cannot-boot on this machine"]);
    let names = probes(&cache);
    assert_eq!(names.len(), 2, "the lock and the answer: {names:?}");

    // On another machine, as for another host's kernel, the answer does not hold.
    let file = cache.root().join("probes").join(&names[1]);
    let text = fs::read_to_string(&file).unwrap();
    let release = format!("\"{}\"", first.key.host_release);
    fs::write(&file, text.replace(&release, "\"0.0.1\"")).unwrap();
    assert_eq!(prober.known(&kernel).unwrap(), None);

    // It is tried again where that is asked for, whatever the answer was.
    let mut works: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (field, value) in [
        ("outcome", "works".into()),
        ("append", serde_json::json!([])),
        ("boot_seconds", 1.into()),
        ("seconds", 2.into()),
    ] {
        works[field] = value;
    }
    fs::write(&file, works.to_string()).unwrap();
    let known = prober.known(&kernel).unwrap().unwrap();
    assert_eq!(known.failure(), None);
    let tried = prober.answer(&kernel, true, &mut |_| ()).unwrap();
    assert!(tried.failure().is_some());
    assert_eq!(common::holders(temp.path()), Vec::<String>::new());
}

#[test]
fn two_that_ask_at_once_get_one_answer() {
    let temp = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(&temp.path().join("cache"))).unwrap();
    let kernel = cannot_boot(&cache, temp.path());
    let boots = std::sync::atomic::AtomicUsize::new(0);
    let ask = || {
        let mut say = |_: &str| {
            boots.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        prober(&cache).answer(&kernel, false, &mut say).unwrap()
    };
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert_eq!(boots.into_inner(), 1);
    assert_eq!(probes(&cache).len(), 2);
}

#[test]
fn a_kernel_that_runs_here_works_needs_uml() {
    let Some(uml) = common::uml() else { return };
    // A cache of the test's own has no answer yet.
    let temp = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(temp.path())).unwrap();
    let begun = Instant::now();
    let answer = prober(&cache)
        .answer(&uml.kernel, false, &mut |_| ())
        .unwrap();
    let Outcome::Works {
        boot_seconds,
        seconds,
        ..
    } = answer.outcome
    else {
        panic!("{answer:?}")
    };
    assert!(boot_seconds > 0.0 && boot_seconds < seconds);
    assert!(seconds <= begun.elapsed().as_secs_f64());
    println!(
        "  {}: {:?}, {}",
        uml.kernel.name, answer.outcome, answer.key.cpu
    );
    assert_eq!(common::holders(temp.path()), Vec::<String>::new());
}
