//! What `--estimate` says there is to read, against what a check reads. Bytes are the same on every machine, unlike seconds.

use blockio::Mode;
use check::forecast::Forecast;
use check::{Checker as _, Options, xfs};

use super::volume::{Forged, forged, report, tools};

/// Sixty thousand files, most of them in large directories, as on a server of small files.
const LARGE: &str = r#"
    files = 60000
    per_directory = [["20-60", 20], ["900-1200", 50]]
    file_size = [["0", 1], ["1-9k", 9], ["40k-90k", 1]]
    [names]
    length = "9-30"
"#;

/// As many in small directories, as in a tree of sources, with attributes and links.
const SMALL: &str = r#"
    files = 60000
    per_directory = [["3-9", 20], ["20-60", 20]]
    file_size = [["0", 1], ["1-9k", 9], ["40k-90k", 1]]
    [directories]
    fan_out = 6
    [names]
    length = "4-40"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    [attributes]
    inode = 0.05
"#;

/// What a check reads is at most this many times the estimate, and at least its inverse.
const FACTOR: f64 = 1.5;

fn forecast(image: &Forged) -> Forecast {
    let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
    let checker = xfs::Checker::default();
    checker.forecast(&*source, &Options::default()).unwrap()
}

#[test]
fn a_check_reads_what_was_estimated() {
    if !tools() {
        return;
    }
    for (features, profile) in [("", LARGE), ("rmapbt", SMALL), ("nocrc", SMALL)] {
        let image = forged("2G", features, profile);
        let estimate = forecast(&image);
        let found = report(&image.image, 2);
        let tables = estimate.table_bytes as f64 * (1.0 - estimate.sample.holes);
        let all = tables + (estimate.directory_bytes + estimate.bitmap_bytes) as f64;
        let ratio = found.total.bytes as f64 / all;
        let of_passes = found.passes.iter().map(|pass| (pass.pass, pass.bytes));
        let of_passes: Vec<(&str, u64)> = of_passes.collect();
        eprintln!("{features}: {all} bytes estimated, {ratio:.2} of that read: {of_passes:?}");
        let ratios = 1.0 / FACTOR..FACTOR;
        assert!(
            ratios.contains(&ratio),
            "{features}: {ratio:.2}, {of_passes:?}, {estimate:?}"
        );
        let inodes = found.inventory.unwrap().files.inodes;
        assert_eq!(estimate.inodes, inodes, "{features}");
    }
}
