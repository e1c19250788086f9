//! Parameters of the check after a workload.

use fskind::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FilesystemKind;

/// The program that checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Checker {
    /// The filesystem's own: e2fsck, xfs_repair, btrfs check, fsck.ocfs2, fsck.f2fs.
    #[default]
    Own,
    /// `fslab check`, which checks ext2, ext3, ext4, OCFS2 and XFS.
    Fslab,
}

impl Checker {
    /// `own`, `fslab`.
    pub const fn name(self) -> &'static str {
        match self {
            Checker::Own => "own",
            Checker::Fslab => "fslab",
        }
    }

    /// Whether it checks filesystems of this kind.
    pub fn knows(self, kind: FilesystemKind) -> bool {
        let family = kind.family();
        self == Checker::Own || matches!(family, Family::Ext | Family::Ocfs2 | Family::Xfs)
    }

    /// Whether it is the filesystem's own.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub fn is_own(&self) -> bool {
        *self == Checker::Own
    }
}

impl std::str::FromStr for Checker {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Checker::Own, Checker::Fslab]
            .into_iter()
            .find(|checker| checker.name() == text)
            .ok_or(())
    }
}

/// The check that follows a workload: the filesystem is unmounted and its own checker timed,
/// read-only (`e2fsck -fn -tt`, `xfs_repair -n -v`, `btrfs check --readonly`,
/// `fsck.ocfs2 -fn -tt`, `fsck.f2fs -f --dry-run`), or `fslab check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckSpec {
    /// The program that checks: the filesystem's own, or `fslab check`.
    #[schemars(title = "program that checks")]
    #[serde(skip_serializing_if = "Checker::is_own")]
    pub checker: Checker,
    /// Seconds after which the checker and everything it started is killed, and the trial failed.
    #[schemars(title = "number of seconds", range(min = 0.001, max = 10_000_000.0))]
    pub timeout_seconds: f64,
    /// Drop caches before it, and prove it.
    pub cold: bool,
    /// More arguments for e2fsck, before the device.
    #[schemars(title = "list of words")]
    pub e2fsck: Vec<String>,
    /// More arguments for xfs_repair.
    #[schemars(title = "list of words")]
    pub xfs_repair: Vec<String>,
    /// More arguments for btrfs check.
    #[schemars(title = "list of words")]
    pub btrfs: Vec<String>,
    /// More arguments for fsck.ocfs2.
    #[schemars(title = "list of words")]
    pub fsck_ocfs2: Vec<String>,
    /// More arguments for fsck.f2fs.
    #[schemars(title = "list of words")]
    pub fsck_f2fs: Vec<String>,
}

impl CheckSpec {
    /// The command that checks a filesystem of this kind, before its device: `e2fsck -fn -tt`, `fslab check`.
    pub fn command(&self, kind: FilesystemKind) -> String {
        let program = match self.checker {
            Checker::Own => kind.properties().checker.command(),
            Checker::Fslab => "fslab check".to_owned(),
        };
        let extra = self.extra(kind).iter().map(|word| format!(" {word}"));
        program + &extra.collect::<String>()
    }

    /// The extra arguments of the checker of this kind; `fslab check` has none.
    pub fn extra(&self, kind: FilesystemKind) -> &[String] {
        if self.checker == Checker::Fslab {
            return &[];
        }
        match kind.family() {
            Family::Ext => &self.e2fsck,
            Family::Xfs => &self.xfs_repair,
            Family::Btrfs => &self.btrfs,
            Family::Ocfs2 => &self.fsck_ocfs2,
            Family::F2fs => &self.fsck_f2fs,
        }
    }
}

impl Default for CheckSpec {
    fn default() -> Self {
        CheckSpec {
            checker: Checker::Own,
            timeout_seconds: 86_400.0,
            cold: true,
            e2fsck: Vec::new(),
            xfs_repair: Vec::new(),
            btrfs: Vec::new(),
            fsck_ocfs2: Vec::new(),
            fsck_f2fs: Vec::new(),
        }
    }
}
