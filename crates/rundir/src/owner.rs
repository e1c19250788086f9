//! Who may change a file: as root, only root and the caller may.

use rustix::fs::Stat;
use rustix::process::{geteuid, getuid};

/// Why root must not act on a file with this status; `None` when it may, or when this process is not root.
pub(crate) fn distrust(stat: &Stat) -> Option<(String, &'static str)> {
    if !geteuid().is_root() {
        return None;
    }
    judge(stat.st_uid, stat.st_mode, getuid().as_raw())
}

fn judge(owner: u32, mode: u32, caller: u32) -> Option<(String, &'static str)> {
    if owner != 0 && owner != caller {
        return Some((
            format!("it belongs to user {owner}, and root acts on its own folders only"),
            "run fslab as that user, or check what is in it and chown it to root",
        ));
    }
    // A POSIX ACL that lets others write shows as the group's write bit (acl(5), the mask).
    let who = match mode & 0o022 {
        0 => return None,
        0o020 => "its group",
        0o002 => "everyone",
        _ => "its group and everyone",
    };
    Some((
        format!("{who} may write it (mode {:04o})", mode & 0o7777),
        "check what is in it, then chmod -R go-w the folder",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_trusts_root_and_the_caller_and_no_one_else() {
        for (owner, mode, caller, words) in [
            (0, 0o40755, 0, None),
            (1000, 0o40700, 1000, None),
            (0, 0o40755, 1000, None),
            (1000, 0o40755, 0, Some("belongs to user 1000")),
            (0, 0o40775, 0, Some("its group may write it (mode 0775)")),
            (
                0,
                0o41777,
                0,
                Some("its group and everyone may write it (mode 1777)"),
            ),
            (0, 0o100_646, 0, Some("everyone may write it")),
        ] {
            let judged = judge(owner, mode, caller).map(|(why, _)| why);
            match words {
                None => assert_eq!(judged, None, "{owner} {mode:o}"),
                Some(words) => assert!(judged.unwrap().contains(words), "{owner} {mode:o}"),
            }
        }
    }
}
