//! mke2fs as a reference.

/// Features whose every combination is laid out as mke2fs lays it out, or refused as mke2fs refuses it.
pub const FEATURES: &[&str] = &[
    "^has_journal",
    "^flex_bg",
    "^resize_inode",
    "meta_bg",
    "^sparse_super",
    "sparse_super2",
    "^metadata_csum",
    "^64bit",
    "^extent",
    "bigalloc",
    "orphan_file",
    "uninit_bg",
    "fast_commit",
    "mmp",
    "quota",
    "project",
    "inline_data",
    "ea_inode",
    "large_dir",
    "metadata_csum_seed",
    "stable_inodes",
    "encrypt",
    "casefold",
    "verity",
];
