//! Compares the verdict on OCFS2 images with that of fsck.ocfs2 -fn: the exit, and each code with its number.
//! `cargo run -p check --example ocfs2_differential -- [-v] IMAGE...`
//!
//! One line for each image that differs, a count at the end; exit code 1 where any differs.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use blockio::Mode;
use check::frame::verdict::Exit;
use check::{Checker as _, Options, Silent, ocfs2};
use testkit::fsck_ocfs2::{self, Ended};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (mut images, mut verbose) = (Vec::new(), false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "-v" => verbose = true,
            _ => images.push(argument),
        }
    }
    let mut differ = 0;
    for image in &images {
        if !compare(Path::new(image), verbose)? {
            differ += 1;
        }
    }
    println!("{} images, {differ} differ", images.len());
    Ok(ExitCode::from(u8::from(differ > 0)))
}

fn compare(image: &Path, verbose: bool) -> Result<bool, Box<dyn Error>> {
    let opened = blockio::open(image, Mode::Buffered)?;
    let report = ocfs2::Checker.check(&*opened.source, &Options::default(), &Silent)?;
    let own = report.reference_run.unwrap_or_default();
    let reference =
        fsck_ocfs2::run(image).ok_or("fsck.ocfs2 is not installed: apt-get install ocfs2-tools")?;
    let ended = match own.exit {
        Exit::Complete => Ended::Code(0),
        Exit::Code(code) => Ended::Code(code.into()),
        Exit::Endless => Ended::Endless,
    };
    let codes: BTreeMap<String, u64> = own
        .codes
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect();
    let same = ended == reference.ended && codes == reference.codes;
    if !same || verbose {
        println!(
            "{}: {}: ours {ended:?} {codes:?} at {:?}, fsck.ocfs2 {:?} {:?}",
            image.display(),
            if same { "same" } else { "DIFFERS" },
            own.ends_at,
            reference.ended,
            reference.codes
        );
    }
    if verbose {
        for finding in &report.findings.list {
            println!(
                "  {} {:?} {:?} {:?} {:?}",
                finding.problem.name, finding.place, finding.found, finding.expected, finding.note
            );
        }
        for line in reference
            .text
            .lines()
            .filter(|line| !line.starts_with("  "))
        {
            println!("  | {line}");
        }
    }
    Ok(same)
}
