//! Any bytes in the files give an error or a result, never a panic.

use std::fs;
use std::path::Path;

use blktrace::record::{Head, SIZE};
use blktrace::{Error, Trace, btt, merged, text, verify};
use fixtures::block_trace::Forge;
use proptest::prelude::*;

/// Everything that reads a trace, on these files; the first error.
fn everything(files: &[Vec<u8>]) -> Option<Error> {
    let folder = tempfile::tempdir().unwrap();
    for (cpu, bytes) in files.iter().enumerate() {
        fs::write(folder.path().join(format!("sda.blktrace.{cpu}")), bytes).unwrap();
    }
    let base = folder.path().join("sda");
    let report = verify::verify(&base).unwrap();
    assert!(!report.to_string().is_empty());
    let outcomes = [
        printed(&base),
        rewritten(&base),
        analysed(&base, folder.path()),
    ];
    outcomes.into_iter().find_map(Result::err)
}

fn printed(base: &Path) -> Result<(), Error> {
    let options = text::Options {
        track: true,
        processes: true,
        ..text::Options::default()
    };
    text::write(&mut Trace::open(base)?, &options, &mut Vec::new())
}

fn rewritten(base: &Path) -> Result<(), Error> {
    merged::write(&mut Trace::open(base)?, &mut Vec::new()).map(|_| ())
}

fn analysed(base: &Path, folder: &Path) -> Result<(), Error> {
    let prefix = Some("x".to_owned());
    let files = btt::FileOptions {
        folder: folder.to_owned(),
        iostat: Some("iostat".into()),
        per_io: Some("steps".into()),
        per_request: true,
        depth: prefix.clone(),
        unplugs: prefix.clone(),
        seeks: prefix.clone(),
        seeks_per_second: prefix,
        periodic: Some(0.1),
        rates: true,
        live: true,
        histograms: Some("sizes".into()),
        ..btt::FileOptions::default()
    };
    let outcome = btt::run(&mut Trace::open(base)?, &btt::Options::btt(), Some(&files))?;
    let text = outcome.tables(true) + &outcome.ranges() + &outcome.easy();
    assert!(text.contains("All Devices"));
    serde_json::to_string(&outcome.analysis()).unwrap();
    Ok(())
}

fn forged(seed: u64) -> Vec<Vec<u8>> {
    Forge::hostile(seed, 60).bytes().unwrap()
}

/// A file's records, each with its PDU.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let mut at = 0;
    while at + SIZE <= bytes.len() {
        let record: &[u8; SIZE] = bytes[at..at + SIZE].try_into().unwrap();
        let end = at + SIZE + usize::from(Head::parse(record).unwrap().pdu_len);
        list.push(bytes[at..end].to_vec());
        at = end;
    }
    list
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn garbage(one in proptest::collection::vec(any::<u8>(), 0..400), seed in 0_u64..9) {
        let mut files = forged(seed);
        files[1] = one;
        let _ = everything(&files);
    }

    #[test]
    fn cut_anywhere(seed in 0_u64..50, share in 0.0_f64..1.0) {
        let mut files = forged(seed);
        let len = (files[0].len() as f64 * share) as usize;
        files[0].truncate(len);
        if let Some(error) = everything(&files) {
            prop_assert!(matches!(error, Error::Truncated { .. }), "{}", error);
        }
    }

    #[test]
    fn shuffled(seed in 0_u64..50, order in any::<u64>()) {
        let files: Vec<Vec<u8>> = forged(seed).iter().map(|bytes| {
            let mut list = records(bytes);
            let (mut state, count) = (order, list.len());
            for i in 0..count {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                list.swap(i, (state >> 33) as usize % count);
            }
            list.concat()
        }).collect();
        let error = everything(&files);
        prop_assert!(error.is_none(), "{:?}", error);
    }

    #[test]
    fn any_fields(fields in proptest::collection::vec(
        (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), 0_usize..30), 0..60)
    ) {
        let mut bytes = Vec::new();
        for (time, sector, size, action, device, pdu) in fields {
            // Mostly actions that are known, and few devices.
            let action = if action % 4 == 0 { action } else { (action & 0xffff_0000) | (action % 18) };
            let head = Head {
                time, sector, bytes: size, action, device: (device % 3) << 20, pdu_len: pdu as u16,
                ..Head::default()
            };
            bytes.extend(head.to_bytes());
            bytes.extend(vec![(time % 256) as u8; pdu]);
        }
        prop_assume!(!bytes.is_empty());
        let error = everything(&[bytes]);
        prop_assert!(error.is_none(), "{:?}", error);
    }
}

#[test]
fn empty_files_and_the_other_byte_order_say_so() {
    assert!(matches!(
        everything(&[vec![], vec![]]),
        Some(Error::Empty { .. })
    ));
    let mut files = forged(1);
    for bytes in &mut files {
        bytes[..4].reverse();
    }
    assert!(matches!(
        everything(&files),
        Some(Error::OtherEndian { .. })
    ));
    let mut files = forged(1);
    files[2][0] = 8;
    let error = everything(&files);
    assert!(matches!(error, Some(Error::Version { version: 8, .. })));
}
