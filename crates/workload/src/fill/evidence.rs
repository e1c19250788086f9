//! What shows that a fill's numbers mean what they say.

use crate::Evidence;

/// Pages swapped in since boot, all of the machine; `None` where the kernel does not say.
pub(crate) fn pages_swapped_in() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    let line = text.lines().find(|line| line.starts_with("pswpin "))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// That nothing was swapped in since `before`: in 2012 fs_mark's table of names pushed the machine
/// into swap, and the fill's rate with it.
pub(crate) fn no_swap_in(before: Option<u64>) -> Evidence {
    let during = before
        .zip(pages_swapped_in())
        .map(|(before, after)| after.saturating_sub(before));
    Evidence {
        name: "no_swap_in".into(),
        holds: during.map(|pages| pages == 0),
        detail: during.map_or_else(
            || "/proc/vmstat has no pswpin here".into(),
            |pages| format!("{pages} pages were swapped in while it ran"),
        ),
    }
}

/// Whether a walk found what was created.
pub(crate) fn counts_agree(
    created: super::count::Counts,
    walked: super::count::Counts,
) -> Evidence {
    Evidence {
        name: "counts_agree".into(),
        holds: Some(created == walked),
        detail: format!(
            "created {} files in {} directories; counted by reading the directories: {} \
             files, {} directories",
            created.files, created.directories, walked.files, walked.directories
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::count::Counts;
    use super::*;

    #[test]
    fn swap_and_counts_are_judged() {
        assert_eq!(no_swap_in(None).holds, None);
        if let Some(now) = pages_swapped_in() {
            assert_eq!(no_swap_in(Some(now + 1)).holds, Some(true));
        }
        let (a, b) = (
            Counts {
                files: 2,
                directories: 1,
            },
            Counts {
                files: 3,
                directories: 1,
            },
        );
        assert_eq!(counts_agree(a, a).holds, Some(true));
        assert_eq!(counts_agree(a, b).holds, Some(false));
    }
}
