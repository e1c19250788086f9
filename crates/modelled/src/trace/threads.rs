//! Which threads are the kernel's. A trace has their names only.

/// How names of kernel threads begin that submit requests which others wait for, or writeback. Those that serve clients of their
/// own and wait themselves (nfsd, loop) are as good as processes.
const NAMES: [&str; 22] = [
    "kworker/",
    "jbd2/",
    "kjournald",
    "xfsaild/",
    "xfs-",
    "xfsbufd",
    "xfslogd",
    "xfssyncd",
    "btrfs-cleaner",
    "btrfs-transacti",
    "f2fs_ckpt",
    "f2fs_discard",
    "f2fs_flush",
    "f2fs_gc",
    "gfs2_",
    "jfsCommit",
    "ocfs2cmt",
    "segctord",
    "dmcrypt_write",
    "flush-",
    "pdflush",
    "kswapd",
];

/// Whether a thread of this name (up to a NUL) is the kernel's.
pub(super) fn is_kernel(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let begins = |begin: &str| name.starts_with(begin.as_bytes());
    NAMES.iter().copied().any(begins) || is_array(name)
}

/// md's own thread: `md0_raid5`.
fn is_array(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"md") else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b"_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_threads_are_known_by_name() {
        for name in [
            "kworker/u8:1\0\0",
            "jbd2/sda1-8",
            "xfsaild/dm-0",
            "md127_raid6",
            "flush-8:0",
            "kswapd0",
        ] {
            assert!(is_kernel(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "fio",
            "md5sum",
            "md_raid",
            "jbd2",
            "xfs_repair",
            "btrfs",
            "\0kworker/0",
        ] {
            assert!(!is_kernel(name.as_bytes()), "{name}");
        }
        assert!(!is_kernel(b"\xff\xfe"));
    }
}
