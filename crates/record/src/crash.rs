//! What a power cut at chosen moments of a trial would have left, as judged afterwards from a log of its writes; or
//! what one that came during the trial has left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A crash check. Numbers of entries count from 0, in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crash {
    /// Kind of filesystem.
    pub filesystem: String,
    /// Who wrote the log: `QEMU (blklogwrites)`, `dm-log-writes`; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub writer: String,
    /// Bytes of the device.
    pub device_bytes: u64,
    /// Bytes that the log's entries take.
    pub log_bytes: u64,
    /// Entries of the log.
    pub entries: u64,
    /// The first entry after which a power cut was tried.
    pub from: u64,
    /// After what: `flush`, `fua` (flush or FUA) or `write`; `cut` where the power was cut during the trial.
    pub boundary: String,
    /// Such moments in the log.
    pub boundaries: u64,
    /// Of these, judged: all, or evenly spread ones.
    pub judged: u64,
    /// The recovery before the judgement: `mount`, `e2fsck -p` or `none`.
    pub recovery: String,
    /// The checker as it ran, without its device (`e2fsck -fn -tt`), and its version.
    pub checker: [String; 2],
    /// Images that were clean after recovery.
    pub clean: u64,
    /// Images that would not be recovered, or that the checker found damaged.
    pub damaged: u64,
    /// Images without a verdict: the checker did not do its work.
    pub unjudged: u64,
    /// The first images that were not clean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damages: Vec<CrashDamage>,
    /// How far the checker and `fslab check` agreed, where both judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<CrashAgreement>,
    /// The cut during the trial; none: moments of a log were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<PowerCut>,
    /// Wall seconds of all of it.
    pub seconds: f64,
    /// What a reader must know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A power cut while the trial ran, and what became of what had been synced before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerCut {
    /// What cut it and how: `dm-flakey (drop_writes)`.
    pub by: String,
    /// The phase in which it came, or after which.
    pub phase: String,
    /// Seconds from the beginning of that phase; none: it came after the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seconds: Option<f64>,
    /// Files, folders and symlinks that were synced before and not touched between that and the cut.
    pub promised: u64,
    /// Bytes of these files.
    pub promised_bytes: u64,
    /// Of these files, how many were read before and after, every byte; the others by their sizes alone.
    pub read: u64,
    /// Of the promised ones, those that are as they were after recovery; none: it could not be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// The first that are not, each with what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Whether a file written and synced after the cut is gone after recovery, which shows that there was a cut; none: it could not be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<bool>,
    /// The result of the sync of that file: `succeeded`, or its error.
    pub sync_after: String,
}

impl PowerCut {
    /// Promised ones that are not as they were.
    pub fn missing(&self) -> u64 {
        self.kept
            .map_or(0, |kept| self.promised.saturating_sub(kept))
    }
}

/// An image that was not clean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrashDamage {
    /// The last entry that is in it.
    pub entry: u64,
    /// The last mark before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Why it would not be recovered; none: it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// How the checker ended (`exit code 4: errors left uncorrected`).
    pub checker: String,
    /// Its first lines that report errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// The exit code of `fslab check` on the same image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_exit: Option<u8>,
    /// Names of the problems it found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_problems: Vec<String>,
}

/// How often the checker and `fslab check` gave the same exit code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrashAgreement {
    /// On the image as the power cut left it: agreed, compared. `fslab check` reads it from the log without a copy.
    pub before: [u64; 2],
    /// On the recovered image: agreed, compared.
    pub after: [u64; 2],
    /// The first that differ, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}
