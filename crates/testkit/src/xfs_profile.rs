//! The files of the XFS that tests forge.

/// A profile of `fslab forge xfs` with every form of directory, fork and attribute. `fragmented` of the larger files are cut into pieces of
/// `pieces` blocks: 0.9 in pieces of `1-2` make trees of two levels in each group of 100 MB.
pub fn every_form(fragmented: f64, pieces: &str) -> String {
    format!(
        r#"
    files = 6000
    per_directory = [["3-9", 40], ["20-60", 20], ["200-300", 6], ["900-1200", 3]]
    file_size = [["0", 1], ["1-9k", 9], ["40k-90k", 1]]
    [directories]
    fan_out = 6
    [names]
    length = "9-30"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    special = 0.02
    [attributes]
    inode = 0.05
    block = 0.05
    [ageing]
    freed = 0.02
    fragmented = {fragmented:.1}
    pieces = "{pieces}"
    gaps = 0.9
    free = "1-3"
"#
    )
}
