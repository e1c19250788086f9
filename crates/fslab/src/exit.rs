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
