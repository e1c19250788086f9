//! Bytes as the files of two CPUs: read, printed, merged, checked and analysed without a panic.

#![no_main]

use std::fs;

use blktrace::{Trace, btt, merged, text, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let base = folder.path().join("sda");
    for (cpu, bytes) in [input.0, input.1].iter().enumerate() {
        if fs::write(folder.path().join(format!("sda.blktrace.{cpu}")), bytes).is_err() {
            return;
        }
    }
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
    if let Ok(mut trace) = Trace::open(&base)
        && let Ok(outcome) = btt::run(&mut trace, &btt::Options::btt(), None)
    {
        let _ = (outcome.tables(true), outcome.ranges(), outcome.easy());
        let _ = outcome.analysis();
    }
});
