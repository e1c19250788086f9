//! Exit codes: documented constants (docs/exit-codes.md).

/// Success.
pub(crate) const OK: u8 = 0;
/// Input or output failed outside any measurement.
pub(crate) const TROUBLE: u8 = 1;
/// The command line, the study or the output folder is wrong; nothing was touched.
pub(crate) const USAGE: u8 = 2;
/// `compare --fail-on`: a regression, or something not shown.
pub(crate) const REGRESSION: u8 = 3;
/// `crash`: an image was damaged, or could not be recovered.
pub(crate) const CRASH_DAMAGED: u8 = 4;
/// `check`: no verdict (fsck's operational error).
pub(crate) const FSCK_OPERATIONAL: u8 = 8;
/// `check`: the command line is wrong.
pub(crate) const FSCK_USAGE: u8 = 16;
/// `check`: a signal stopped it.
pub(crate) const FSCK_CANCELLED: u8 = 32;
/// `bisect-step`: the commit is bad.
pub(crate) const BISECT_BAD: u8 = 1;
/// `bisect-step`: the commit cannot be tested.
pub(crate) const BISECT_SKIP: u8 = 125;
/// `bisect-step`: git has to stop.
pub(crate) const BISECT_STOP: u8 = 255;
/// The safety gate refused a device; nothing was touched.
pub(crate) const REFUSED: u8 = 5;
/// The run stopped before its last trial and can be resumed.
pub(crate) const INCOMPLETE: u8 = 6;
/// A trial failed, or its measurements are invalid.
pub(crate) const INVALID: u8 = 7;
/// Stopped by SIGINT, SIGTERM or SIGHUP; everything was undone.
pub(crate) const INTERRUPTED: u8 = 130;
/// The reader of stdout closed the pipe, as after SIGPIPE.
pub(crate) const CLOSED_PIPE: u8 = 141;

/// The codes of a command, as its manual page lists them; docs/exit-codes.md says more. The command is named by its words:
/// `fslab check`.
pub(crate) fn meanings(command: &str) -> &'static [(u8, &'static str)] {
    match command {
        "fslab check" => OF_CHECK,
        "fslab crash" => OF_CRASH,
        _ => OF_OTHERS,
    }
}

const OF_OTHERS: &[(u8, &str)] = &[
    (OK, "Success."),
    (
        TROUBLE,
        "Input or output failed outside of any measurement.",
    ),
    (
        USAGE,
        "The command line, the study or the output folder is wrong, or a program or kernel is missing. Nothing was changed.",
    ),
    (
        REFUSED,
        "A device, or a folder of a run, is not safe to use. Nothing was changed.",
    ),
    (
        INCOMPLETE,
        "The run stopped before its last trial; fslab resume continues it.",
    ),
    (
        INVALID,
        "A trial failed, or its measurements are invalid; fslab show gives the reasons.",
    ),
    (
        INTERRUPTED,
        "Stopped by SIGINT, SIGTERM or SIGHUP; everything mounted was undone.",
    ),
    (CLOSED_PIPE, "The reader of stdout closed the pipe."),
];

const OF_CHECK: &[(u8, &str)] = &[
    (OK, "The filesystem is clean."),
    (4, "The filesystem has errors."),
    (
        FSCK_OPERATIONAL,
        "No verdict, for the reason on stderr; or e2fsck would have stopped early without having found an error.",
    ),
    (12, "Errors, and e2fsck would have stopped early."),
    (
        FSCK_USAGE,
        "The command line is wrong, or asks for a repair.",
    ),
    (FSCK_CANCELLED, "Stopped by SIGINT, SIGTERM or SIGHUP."),
    (CLOSED_PIPE, "The reader of stdout closed the pipe."),
];

const OF_CRASH: &[(u8, &str)] = &[
    (OK, "Every image was clean after recovery."),
    (
        USAGE,
        "There is no log or no such mark, a program is missing, or the command line is wrong.",
    ),
    (
        CRASH_DAMAGED,
        "An image was damaged, or could not be recovered.",
    ),
    (
        INVALID,
        "An image is without a verdict, or there is no image to check.",
    ),
    (INTERRUPTED, "Stopped by a signal; nothing is left."),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes in the first column of the tables below a heading of docs/exit-codes.md.
    fn documented(heading: &str) -> Vec<u8> {
        let text = include_str!("../../../docs/exit-codes.md");
        let section = text.split_once(heading).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let first = |line: &str| line.strip_prefix("| ")?.split(' ').next()?.parse().ok();
        section.lines().filter_map(first).collect()
    }

    #[test]
    fn the_manual_pages_list_the_documented_codes() {
        for (heading, command) in [
            ("# Exit codes\n", "fslab run"),
            ("## `fslab check`\n", "fslab check"),
            ("## `fslab crash`\n", "fslab crash"),
        ] {
            let listed: Vec<u8> = meanings(command).iter().map(|(code, _)| *code).collect();
            assert_eq!(listed, documented(heading), "{command}");
        }
    }
}
