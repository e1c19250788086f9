//! Wrong input to every command: the arguments, the first line of stderr, the exit code.

use crate::common;

use std::fmt::Write as _;

use common::{Scratch, example_run, run_in, stderr};

/// A row for each way to be wrong. `tiny.toml` is a study, `example` a run, `disk.img` an ext4 filesystem,
/// `btrfs.img` has btrfs's magic, `noise` is no filesystem, `writes.log` is of dm-log-writes, `version.log` of a version that is not
/// known.
const ROWS: &[&str] = &[
    // The program.
    "rnu",
    "studys",
    "--no-such-option",
    "bench thruput --dir .",
    "trace reprot x",
    // Studies.
    "run jurnal",
    "run no-such-thing.toml",
    "run .",
    "run",
    "run tiny.toml --profile quik",
    "plan tiny.toml --set iozone.threads=0",
    "plan tiny.toml --set iozone.sise=4m",
    "plan tiny.toml --set blcks=3",
    "plan tiny.toml --set mout=noatime",
    "plan tiny.toml --set run.blocks",
    "plan tiny.toml --set =3",
    "plan tiny.toml --set filesystem.fast.mkfs=-Ofast_commit",
    "plan tiny.toml --set filesystem.ext4.mont=noatime",
    "plan tiny.toml --set iozone.size=64q",
    "plan tiny.toml --filter filesystm=ext4",
    "plan tiny.toml --filter filesystem=ext5",
    "plan tiny.toml --blocks 0",
    "plan tiny.toml --order random",
    "plan tiny.toml --dir no-such-thing",
    "plan tiny.toml --device /dev/sda",
    "plan tiny.toml --kernel no-such-kernel --cache cache",
    "plan table.toml",
    "plan metric.toml",
    "plan kind.toml",
    "studies jornal",
    "metrics fil",
    "new",
    "new Mine",
    "new tiny",
    "new mine --workload fil",
    "new no-such-thing/mine.toml",
    // Runs.
    "list no-such-thing",
    "show no-such-thing",
    "show tiny.toml",
    "report no-such-thing",
    "report example --format pdf",
    "report example --metric speed --row filesystem",
    "report example --table no-such-table",
    "report example --filter filesystem=ext5",
    "report example -o no-such-thing/report.html",
    "explain no-such-thing",
    "resume no-such-thing",
    "clean no-such-thing",
    // Workloads alone.
    "bench throughput --dir no-such-thing",
    "bench throughput --dir . -t 0",
    "bench fill -d . -S 9",
    "bench stream --dir . --flush often",
    "bench mix --dir . --rwmixread 200",
    "bench",
    "bench --dir .",
    "bench --fio-job no-such-thing",
    "bench --fio-job job.fio",
    "bench --fio-job job.fio mix --dir .",
    "bench fsck no-such-thing",
    "bench fsck disk.img --type ext5",
    // Filesystems.
    "check",
    "check no-such-thing",
    "check .",
    "check btrfs.img",
    "check disk.img -y",
    "check disk.img --brief --costs",
    "check disk.img --threads 0",
    "check disk.img --memory 64q",
    "check disk.img --offset 1t",
    "check --estimate no-such-thing",
    "check --estimate btrfs.img",
    "check --estimate noise",
    "forge ext4 new.img --size 20Q",
    "forge damage no-such-thing --random 1",
    "layout no-such-thing",
    "crash no-such-thing",
    // Traces, kernels, the machine.
    "trace record no-such-thing -o t --seconds 1",
    "trace report no-such-thing",
    "replay no-such-thing --device 7k500",
    "replay sda --device 7k50",
    "replay sda",
    "replay sda --device 7k500 --cpu fast",
    "replay . --device 7k500",
    "replay writes.log --device 7k500",
    "replay writes.log --device 7k500 --mode saturate --traced 8,0",
    "replay writes.log sda --device 7k500 --mode saturate",
    "replay version.log --device 7k500 --mode saturate",
    "device show no-such-thing",
    "device check btrfs.img",
    "device check .",
    "device list --devices-file no-such-thing",
    "device check --studies --streams no-such-thing",
    "device check --studies --streams noise",
    "device check --streams noise",
    "plan journal --devices-file no-such-thing",
    "plan journal --devices-file noise",
    "plan journal --set device=['plain','model:7k500']",
    "check disk.img --device no-such-thing",
    "check disk.img --device 7k500 --format csv",
    "kernel fetch no-such-series --cache cache",
    "kernel add mine --kernel no-such-thing --cache cache",
    "context --dir no-such-thing",
    "context --format xml",
    "doctor extra",
];

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    example_run(&scratch);
    let text = std::fs::read_to_string(study).unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(scratch.join(name), text).unwrap();
    let table = "\n[[table]]\ntitle = \"T\"\ncolumns = \"filesystm\"\nrows = [{ phase = \"raed\", metric = \"throughput\", label = \"x\", unit = \"MB/s\" }]\n";
    let job = "; a job\n[global]\nsize=1m\n\n[trims]\nrw=randread\nverify=crc32c\n";
    write("job.fio", job.as_bytes());
    write("table.toml", (text.clone() + table).as_bytes());
    let metric = table
        .replace("filesystm", "filesystem")
        .replace("raed", "read")
        .replace("throughput", "thruoghput");
    write("metric.toml", (text.clone() + &metric).as_bytes());
    write(
        "kind.toml",
        text.replace("\"throughput\"", "\"thruput\"").as_bytes(),
    );
    let mut btrfs = vec![0; 1 << 20];
    btrfs[0x10040..][..8].copy_from_slice(b"_BHRfS_M");
    write("btrfs.img", &btrfs);
    write("noise", &vec![7; 1 << 20]);
    let mut log = fixtures::write_log::WriteLog::new(512);
    log.write(8, 4096, 0);
    let mut log = log.bytes();
    write("writes.log", &log);
    log[8] = 2;
    write("version.log", &log);
    let made = std::process::Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4"])
        .arg(scratch.join("disk.img"))
        .arg("16m")
        .status();
    assert!(made.unwrap().success());
    scratch
}

#[test]
fn every_wrong_input_has_its_message_and_its_code() {
    assert!(ROWS.len() >= 40);
    let scratch = scratch();
    let here = format!("{}/", scratch.path().display());
    let mut table = String::new();
    for row in ROWS {
        let args: Vec<&str> = row.split_whitespace().collect();
        let output = run_in(scratch.path(), &args);
        let text = stderr(&output).replace(&here, "");
        let line = text.lines().next().unwrap_or_default();
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code != 0),
            "{row}: {code:?}: {text}"
        );
        assert!(line.starts_with("fslab: "), "{row}: {text}");
        assert!(line.len() < 700, "{row}: {line}");
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("fslab: "))
                .count(),
            1,
            "{row}: {text}"
        );
        if !row.starts_with("check") {
            assert!(output.stdout.is_empty(), "{row}");
        }
        let _ = writeln!(table, "$ fslab {row}\n{}: {line}", code.unwrap_or(-1));
    }
    insta::assert_snapshot!(table);
    scratch.assert_nothing_left();
}
