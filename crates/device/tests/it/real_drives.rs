//! Modelled response times against those of four real drives.
//!
//! `FSLAB_DISKSIM` names a folder with DiskSim's validation data (`NAME.trace`, `.diskspecs`, `.model`,
//! `.seek`), which are not part of this project.

use std::path::{Path, PathBuf};

use device::disksim::{self, Comparison, Files};

const DRIVES: [&str; 4] = ["atlas10k", "cheetah9LP", "barracuda", "atlas_III"];

fn compare(folder: &Path, drive: &'static str) -> Comparison {
    let read = |end: &str| {
        let path = folder.join(format!("{drive}.{end}"));
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let (specs, model, seek) = (read("diskspecs"), read("model"), read("seek"));
    let files = Files {
        specs: &specs,
        model: &model,
        seek: &seek,
    };
    disksim::compare(drive, files, &read("trace")).expect("files of DiskSim")
}

#[test]
fn means_are_within_10_percent_and_demerits_within_15_on_three_of_four_real_drives() {
    let Some(folder) = std::env::var_os("FSLAB_DISKSIM").map(PathBuf::from) else {
        testkit::skip!("FSLAB_DISKSIM does not name the folder of DiskSim's validation data");
        return;
    };
    let rows = DRIVES.map(|drive| (drive, compare(&folder, drive)));
    for row in &rows {
        println!("{row:.3?}");
    }
    let means = rows.iter().filter(|(_, row)| row.mean_is_met()).count();
    let demerits = rows.iter().filter(|(_, row)| row.demerit_is_met()).count();
    assert!(
        means >= 3 && demerits >= 3,
        "means {means}, demerits {demerits}"
    );
}
