//! Vendored files are what their README says they are.

use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn uplot_is_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/uplot");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut checked = 0;
    for line in readme.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", file, sum, ""] = cells.as_slice() else {
            continue;
        };
        if sum.len() != 64 {
            continue;
        }
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let hex = Sha256::digest(&bytes)
            .iter()
            .fold(String::new(), |hex, b| format!("{hex}{b:02x}"));
        assert_eq!(hex, *sum, "{file}");
        checked += 1;
    }
    assert_eq!(checked, 3, "README.md lists the three files");
    assert!(readme.contains("1.6.32"));
}
