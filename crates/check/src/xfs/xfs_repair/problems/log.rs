//! The log.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    LOG:
    LOG_EXTERNAL = 0x0180 1 "XFS-LOG-EXTERNAL" Stop Metadata "sb 0: log is on another device and none was given";
    LOG_NO_HEAD = 0x0181 1 "XFS-LOG-NO-HEAD" Error Metadata "log: head or tail of the log cannot be found (no record header, torn headers)";
    LOG_DIRTY = 0x0182 1 "XFS-LOG-DIRTY" Error Metadata "log: head is not tail: there are transactions to replay";
    LOG_BEHIND = 0x0183 7 "XFS-LOG-BEHIND" Error Metadata "log, any metadata: V5: the largest LSN seen in metadata is not before the log's current position (printed last)";
}
