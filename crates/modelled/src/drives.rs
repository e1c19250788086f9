//! Modelled response times beside those of real drives.
//!
//! DiskSim 4.0 was published with traces of SCSI drives that have the response time of each request. Four of these drives are rebuilt from what
//! a data sheet has and the command time ([`device::disksim`]); nothing is fitted. The data are not part of this project.

use std::fmt::Write as _;
use std::path::Path;

use device::disksim::{self, Files};
use serde::Serialize;

use crate::error::Error;

/// The drives, by the names of their files.
pub const NAMES: [&str; 4] = ["atlas10k", "cheetah9LP", "barracuda", "atlas_III"];
/// Longest of their files, in bytes; the traces have a few MB.
const LARGEST: u64 = 256 << 20;
/// Drives that have to meet each target.
const ENOUGH: usize = 3;

/// A drive; times in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drive {
    /// The name of its files.
    pub name: &'static str,
    /// Mean of reads, modelled.
    pub modelled_reads_ms: f64,
    /// Mean of reads of the drive.
    pub reads_ms: f64,
    /// Mean of all requests, modelled.
    pub modelled_ms: f64,
    /// Mean of all requests of the drive.
    pub all_ms: f64,
    /// Root of the mean square distance of the two distributions (Ruemmler and Wilkes 1994).
    pub demerit_ms: f64,
    /// Whether the mean is within 10 %.
    pub mean_is_met: bool,
    /// Whether the demerit is within 15 % of the drive's mean.
    pub demerit_is_met: bool,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drives {
    /// Always `modelled`.
    pub timing: &'static str,
    /// In the order of [`NAMES`].
    pub drives: Vec<Drive>,
}

impl Drives {
    /// Compares the drives whose files are in a folder: `NAME.trace`, `.diskspecs`, `.model`, `.seek`.
    ///
    /// # Errors
    /// A file is missing, or not DiskSim's.
    pub fn compare(folder: &Path) -> Result<Drives, Error> {
        let drives = NAMES.into_iter().map(|name| drive(folder, name));
        Ok(Drives {
            timing: "modelled",
            drives: drives.collect::<Result<_, _>>()?,
        })
    }

    /// How many have a mean, and how many a demerit within its bound.
    pub fn met(&self) -> (usize, usize) {
        let count = |is_met: fn(&Drive) -> bool| self.drives.iter().filter(|d| is_met(d)).count();
        (count(|d| d.mean_is_met), count(|d| d.demerit_is_met))
    }

    /// Whether three of four meet both.
    pub fn is_met(&self) -> bool {
        let (means, demerits) = self.met();
        means >= ENOUGH && demerits >= ENOUGH
    }

    /// As text, at most 100 columns wide.
    pub fn text(&self) -> String {
        let (means, demerits) = self.met();
        let verdict = if self.is_met() { "met" } else { "missed" };
        let all = self.drives.len();
        let mut out = format!(
            "Response times of {all} drives (modelled): the mean is within 10 % on {means}, the demerit within\n\
             15 % of the mean on {demerits} (target {ENOUGH} each): {verdict}.\n\n"
        );
        let _ = writeln!(
            out,
            "{:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8}",
            "", "reads,", "reads,", "all,", "all,", "", "demerit,", "of the"
        );
        let _ = writeln!(
            out,
            "{:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8}",
            "", "model ms", "real ms", "model ms", "real ms", "error %", "ms", "mean %"
        );
        for drive in &self.drives {
            let _ = writeln!(
                out,
                "{:<12} {:>8.2} {:>8.2} {:>9.2} {:>8.2} {:>+8.1} {:>8.2} {:>8.1}",
                drive.name,
                drive.modelled_reads_ms,
                drive.reads_ms,
                drive.modelled_ms,
                drive.all_ms,
                100.0 * (drive.modelled_ms / drive.all_ms - 1.0),
                drive.demerit_ms,
                100.0 * drive.demerit_ms / drive.all_ms,
            );
        }
        out
    }
}

fn drive(folder: &Path, name: &'static str) -> Result<Drive, Error> {
    let read = |end: &str| {
        let path = folder.join(format!("{name}.{end}"));
        input::text(&path, LARGEST).map_err(|error| {
            let path = path.display();
            Error::Measured(format!(
                "{path}: {error}; name the folder of DiskSim's validation data"
            ))
        })
    };
    let (specs, model, seek) = (read("diskspecs")?, read("model")?, read("seek")?);
    let files = Files {
        specs: &specs,
        model: &model,
        seek: &seek,
    };
    let found = disksim::compare(name, files, &read("trace")?);
    let found = found.map_err(|why| {
        let path = folder.join(name);
        let path = path.display();
        Error::Measured(format!(
            "{path}: {why}; name the folder of DiskSim's validation data"
        ))
    })?;
    Ok(Drive {
        name,
        modelled_reads_ms: found.modelled_reads,
        reads_ms: found.real_reads,
        modelled_ms: found.modelled,
        all_ms: found.real,
        demerit_ms: found.demerit,
        mean_is_met: found.mean_is_met(),
        demerit_is_met: found.demerit_is_met(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `FSLAB_DISKSIM` names the folder of the data.
    #[test]
    fn means_are_within_10_percent_and_demerits_within_15_on_three_of_four_real_drives() {
        let Some(folder) = std::env::var_os("FSLAB_DISKSIM") else {
            testkit::skip!("FSLAB_DISKSIM does not name the folder of DiskSim's validation data");
            return;
        };
        let drives = Drives::compare(Path::new(&folder)).unwrap();
        println!("{}", drives.text());
        let (means, demerits) = drives.met();
        assert!(
            means >= 3 && demerits >= 3,
            "means {means}, demerits {demerits}"
        );
    }

    #[test]
    fn a_folder_without_the_data_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let error = Drives::compare(folder.path()).unwrap_err();
        assert!(error.is_usage());
        let text = error.to_string();
        assert!(
            text.contains("atlas10k.diskspecs: ") && text.contains("DiskSim"),
            "{text}"
        );
    }

    #[test]
    fn the_table_begins_with_the_verdict() {
        let drive = |name, modelled_ms, demerit_ms| Drive {
            name,
            modelled_reads_ms: modelled_ms + 1.0,
            reads_ms: 6.0,
            modelled_ms,
            all_ms: 5.0,
            demerit_ms,
            mean_is_met: modelled_ms < 5.5,
            demerit_is_met: demerit_ms < 0.75,
        };
        let mut drives = Drives {
            timing: "modelled",
            drives: vec![
                drive(NAMES[0], 4.8, 0.3),
                drive(NAMES[1], 5.2, 0.7),
                drive(NAMES[2], 5.1, 0.5),
                drive(NAMES[3], 6.0, 1.2),
            ],
        };
        assert!(drives.is_met());
        insta::assert_snapshot!(drives.text());
        drives.drives[0].demerit_is_met = false;
        assert_eq!((drives.met(), drives.is_met()), ((3, 2), false));
    }
}
