use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::Bytes;
use crate::engine::Kind;
use crate::mix::Rw;

const TYPICAL: &str = "\
; a database
[global]
size=1g
bs=8k   # a page
ioengine=libaio
iodepth=16
direct=1
group_reporting
directory=/mnt/x

[oltp]
rw=randrw
rwmixread=70
numjobs=4
runtime=30s
time_based
rate=1m,500k

[log]
rw=write
bs=64k
iodepth=1
fsync=1
size=100m

[after]
stonewall
rw=read
ioengine=psync
filename=/srv/data/one
";

fn refused(text: &str) -> String {
    let error = parse(text).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_typical_file_is_read_with_its_groups_and_defaults() {
    let file = parse(TYPICAL).unwrap();
    let names: Vec<Vec<&str>> = file
        .groups
        .iter()
        .map(|group| group.iter().map(|job| job.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["oltp", "log"], vec!["after"]]);
    // A key alone is not among them.
    assert_eq!(file.global.len(), 6);
    let oltp = &file.groups[0][0];
    let spec = &oltp.spec;
    assert_eq!((spec.rw, spec.rwmixread, spec.threads), (Rw::RandRw, 70, 4));
    assert_eq!((spec.engine, spec.queue_depth), (Kind::Aio, 16));
    assert_eq!((spec.runtime, spec.time_based), (30.0, true));
    assert_eq!(
        (spec.rate_read, spec.rate_write),
        (Bytes(1 << 20), Bytes(500 << 10))
    );
    assert!(oltp.group_reporting && spec.direct);
    assert_eq!(oltp.placed(None).path(2), Path::new("/mnt/x/oltp.2.0"));
    assert_eq!(
        oltp.placed(Some(Path::new("/d"))).path(0),
        Path::new("/d/oltp.0.0")
    );
    let log = &file.groups[0][1];
    assert_eq!((log.spec.block, log.spec.fsync), (Bytes(64 << 10), 1));
    assert_eq!(log.options.len(), 5);
    let after = &file.groups[1][0];
    assert_eq!((after.spec.engine, after.spec.queue_depth), (Kind::Sync, 1));
    assert!(file.notes[0].contains("iodepth 16"), "{:?}", file.notes);
    assert_eq!(
        after.placed(Some(Path::new("/d"))).path(0),
        Path::new("/d/one")
    );
}

#[test]
fn a_file_name_with_a_path_is_a_directory_and_a_name() {
    let placed = |options: &str| {
        let text = format!("[a]\nsize=1m\n{options}");
        parse(&text).unwrap().groups[0][0].placed(None).path(0)
    };
    assert_eq!(placed(""), Path::new("./a.0.0"));
    assert_eq!(placed("filename=f"), Path::new("./f"));
    assert_eq!(placed("filename=/x/f"), Path::new("/x/f"));
    assert_eq!(placed("directory=/y\nfilename=x/f"), Path::new("/y/x/f"));
}

#[test]
fn what_is_not_understood_is_refused_with_its_name_and_line() {
    let job = |options: &str| refused(&format!("[a]\nsize=1m\n{options}\n"));
    let unknown = job("zonemode=zbd");
    assert!(
        unknown.starts_with("line 3: \"zonemode\": this option of fio is not supported"),
        "{unknown}"
    );
    assert_eq!(
        job("bs=4k-8k"),
        "line 3: bs = \"4k-8k\": must be one size, as in 4k"
    );
    assert_eq!(
        job("rw=randread:8"),
        format!(
            "line 3: rw = \"randread:8\": must be {}",
            "read, write, randread, randwrite, rw, readwrite or randrw"
        )
    );
    assert!(job("ioengine=mmap").contains("psync, sync, libaio, io_uring or null"));
    assert!(job("numjobs=0").starts_with("line 3: numjobs = 0: must be 1..=1024"));
    assert!(job("bs=2m\nsize=1m").starts_with("line 4: size = 1m: "));
    assert!(job("time_based").starts_with("line 3: time_based"));
    assert!(job("direct=yes").contains("must be 0 or 1"));
    assert!(job("directory=${HOME}").contains("variables"));
    assert!(job("filename=a:b").contains("one file"));
    assert!(job("filename=/dev/").contains("one file"));
    assert!(job("rate=1m,1m,1m").contains("bytes a second"));
    assert!(job("rwmixwrite=101").contains("0..=100"));
    assert!(job("runtime=soon").contains("must be a time"));
    assert_eq!(
        refused("size=1m\n[a]"),
        "line 1: size: an option outside of a section; write [global] above it"
    );
    assert!(refused("[a\nsize=1m").starts_with("line 1: \"[a\": not the head"));
    assert!(refused("").starts_with("line 1: the file ends without a job"));
    assert!(refused("[global]\nbs=4k\n").contains("without a job"));
    assert!(refused("\n[a]\nrw=read").starts_with("line 2: job \"a\": size is missing"));
}

#[test]
fn every_key_that_is_listed_is_read() {
    for key in KEYS {
        let value = match key {
            "rw" | "readwrite" => "read",
            "ioengine" => "null",
            "fallocate" => "none",
            "kb_base" => "1000",
            "name" | "directory" | "filename" | "description" => "x",
            "bs" | "blocksize" => "4096",
            "size" => "65536",
            _ => "1",
        };
        let text = format!("[a]\nsize=1m\nruntime=1\n{key}={value}\n");
        parse(&text).unwrap_or_else(|error| panic!("{key}: {error}"));
    }
    assert!(
        KEYS.iter()
            .all(|key| KEYS.iter().filter(|k| *k == key).count() == 1)
    );
}

#[test]
fn sizes_follow_kb_base_wherever_it_is_written() {
    let file = parse("[a]\nsize=16m\nkb_base=1000\nbs=4kib").unwrap();
    let spec = &file.groups[0][0].spec;
    assert_eq!((spec.size, spec.block), (Bytes(16_000_000), Bytes(4096)));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_lines_of_options_panic_and_errors_name_a_line_of_the_file(
        lines in prop::collection::vec(
            (prop::sample::select(KEYS.to_vec()), "(=[ -~é]{0,12})?"),
            0..12,
        ),
    ) {
        let mut text = "[global]\nsize=1m\n[job]\n".to_owned();
        for (key, value) in &lines {
            let _ = writeln!(text, "{key}{value}");
        }
        match parse(&text) {
            Ok(file) => prop_assert_eq!(file.groups.len(), 1),
            Err(error) => {
                prop_assert!((1..=lines.len() + 3).contains(&error.line));
                prop_assert!(!error.reason.contains('\n'));
            }
        }
    }

    #[test]
    fn a_file_that_is_read_is_valid(
        depth in 1_u32..5000, jobs in 0_u32..2000, block in 0_u64..20_000_000, mix in 0_u32..200,
        rw in prop::sample::select(Rw::ALL.to_vec()), direct in 0..2,
    ) {
        let text = format!(
            "[j]\nsize=1g\nioengine=io_uring\niodepth={depth}\nnumjobs={jobs}\nbs={block}\n\
             rwmixread={mix}\nrw={}\ndirect={direct}\n",
            rw.name()
        );
        if let Ok(file) = parse(&text) {
            use crate::Parameters;
            prop_assert_eq!(file.groups[0][0].spec.validate(), Ok(()));
        }
    }
}
