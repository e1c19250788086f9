//! Bytes as the files of two CPUs: read, printed, merged, checked and analysed without a panic.
//!
//! The first two bytes of an input say how many of the others are the first CPU's, so that the files of
//! a real or forged trace, one after the other, make a good first corpus:
//! `cargo run -p blktrace --example corpus -- fuzz/corpus/files`.

#![cfg_attr(fuzzing, no_main)]

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use blktrace::{Trace, btt, merged, text, verify};

thread_local! {
    /// One folder for all inputs: making one costs more than most inputs do.
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

fn one(input: &[u8]) {
    FOLDER.with_borrow_mut(|folder| {
        if folder.is_none() {
            *folder = tempfile::tempdir().ok();
        }
        if let Some(folder) = folder {
            try_all(folder.path(), input);
        }
    });
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| one(input));

#[cfg(not(fuzzing))]
fn main() {
    testkit::each_file_given(one);
}

fn all_files(folder: &Path) -> btt::FileOptions {
    let name = || Some("x".to_owned());
    btt::FileOptions {
        folder: folder.to_owned(),
        iostat: Some("iostat".into()),
        per_io: Some("steps".into()),
        per_request: true,
        depth: name(),
        unplugs: name(),
        seeks: name(),
        seeks_per_second: name(),
        periodic: Some(0.1),
        rates: true,
        live: true,
        histograms: name(),
        ..btt::FileOptions::default()
    }
}

fn try_all(folder: &Path, input: &[u8]) {
    let Some((length, rest)) = input.split_at_checked(2) else {
        return;
    };
    let first = usize::from(u16::from_le_bytes([length[0], length[1]]));
    let (first, second) = rest.split_at(first.min(rest.len()));
    for (cpu, bytes) in [first, second].iter().enumerate() {
        if fs::write(folder.join(format!("sda.blktrace.{cpu}")), bytes).is_err() {
            return;
        }
    }
    let base = folder.join("sda");
    let _ = verify::verify(&base);
    let options = text::Options {
        track: true,
        processes: true,
        ..text::Options::default()
    };
    if let Ok(mut trace) = Trace::open(&base) {
        let _ = text::write(&mut trace, &options, &mut std::io::sink());
    }
    if let Ok(mut trace) = Trace::open(&base) {
        let _ = merged::write(&mut trace, &mut std::io::sink());
    }
    let options = btt::Options {
        from_seconds: first.len().is_multiple_of(7).then_some(0.000_1),
        ..btt::Options::btt()
    };
    let files = rest
        .len()
        .is_multiple_of(5)
        .then(|| all_files(&folder.join("out")));
    if let Ok(mut trace) = Trace::open(&base)
        && let Ok(outcome) = btt::run(&mut trace, &options, files.as_ref())
    {
        let _ = (outcome.tables(true), outcome.ranges(), outcome.easy());
        let _ = outcome.analysis();
    }
}
