//! `fslab check`: `fslab check --passes DEVICE`. It never writes; --passes prints a line when a pass begins and two when it has ended.
//!
//! ```text
//! pass 3: inodes and what they map
//! pass 3: took 1.234567 s, user 2.1, system 0.2
//! pass 3: read 12345678 bytes, 17 requests, 3 seeks over 4096 bytes
//! ```
//!
//! Passes are named as the reference program of the format names its own, with one before or after them where `fslab check` has more. Bytes and
//! requests are what it asked for; seeks are those of its requests in their order.

use fskind::Kind;

use super::checker::{Checker, Event, Of, OutputSummary};
use super::report::Verdict;

/// `fslab check` of a format.
pub(super) struct FslabCheck {
    kind: Kind,
    /// Its passes in their order; [`Event::Begins`] counts them from 1.
    passes: &'static [&'static str],
}

/// ext2, ext3 and ext4, in e2fsck's passes.
pub(super) static EXT: FslabCheck = FslabCheck {
    kind: Kind::Ext4,
    passes: &["0", "1", "2", "3", "4", "5", "after", "paths"],
};

/// XFS, in the phases of xfs_repair.
pub(super) static XFS: FslabCheck = FslabCheck {
    kind: Kind::Xfs,
    passes: &["1", "2", "3", "4", "5", "6", "7", "end", "own"],
};

/// OCFS2, in the passes of fsck.ocfs2.
pub(super) static OCFS2: FslabCheck = FslabCheck {
    kind: Kind::Ocfs2,
    passes: &[
        "start", "0a", "0b", "0c", "1", "1b", "2", "3", "4a", "4b", "5", "own",
    ],
};

impl Checker for FslabCheck {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn program(&self) -> &'static str {
        "fslab"
    }

    fn package(&self) -> &'static str {
        "fslab"
    }

    fn version_option(&self) -> &'static str {
        "--version"
    }

    fn arguments(&self) -> &'static [&'static str] {
        &["check", "--passes"]
    }

    /// Later ones are left out where there is nothing to do in them.
    fn passes(&self) -> u8 {
        let last = match self.kind {
            Kind::Xfs => "7",
            Kind::Ocfs2 => "4b",
            _ => "5",
        };
        self.number(last).unwrap_or(1)
    }

    fn label(&self, pass: u8) -> String {
        let at = usize::from(pass).wrapping_sub(1);
        self.passes
            .get(at)
            .map_or_else(|| pass.to_string(), ToString::to_string)
    }

    fn read(&self, line: &str) -> Option<Event> {
        let rest = line.trim_end().strip_prefix("pass ")?;
        let (name, words) = rest.split_once(": ")?;
        let pass = self.number(name)?;
        let of = Of::Pass(pass);
        if let Some(times) = words.strip_prefix("took ") {
            return took(of, times);
        }
        if let Some(read) = words.strip_prefix("read ") {
            return seeks(of, read);
        }
        Some(Event::Begins {
            pass,
            title: words.to_owned(),
        })
    }

    /// 20 ms for the line's way to us, and 5 %.
    fn tolerance(&self, seconds: f64) -> Option<f64> {
        Some(0.020 + 0.05 * seconds)
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        let (verdict, words) = match code {
            0 if summary.passes => (Verdict::Clean, "no errors"),
            0 => (Verdict::Operational, "it began no pass"),
            // As the reference program of the format ends.
            1 | 4 => (Verdict::Errors, "errors found"),
            8 => (Verdict::Operational, "operational error"),
            16 => (Verdict::Operational, "usage or syntax error"),
            32 => (Verdict::Operational, "cancelled by request"),
            _ => (
                Verdict::Operational,
                "not a code that fslab check documents",
            ),
        };
        (verdict, format!("exit code {code}: {words}"))
    }
}

impl FslabCheck {
    fn number(&self, name: &str) -> Option<u8> {
        let at = self.passes.iter().position(|pass| *pass == name)?;
        u8::try_from(at + 1).ok()
    }
}

/// `1.234567 s, user 2.1, system 0.2`.
fn took(of: Of, words: &str) -> Option<Event> {
    let (real, rest) = words.split_once(" s, user ")?;
    let (user, system) = rest.split_once(", system ")?;
    let seconds = |text: &str| {
        let found = text.parse::<f64>().ok();
        found.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
    };
    Some(Event::Took {
        of,
        real: seconds(real)?,
        cpu: Some((seconds(user)?, seconds(system)?)),
    })
}

/// `12345678 bytes, 17 requests, 3 seeks over 4096 bytes`.
fn seeks(of: Of, words: &str) -> Option<Event> {
    let (_, rest) = words.split_once(" requests, ")?;
    let (count, bytes) = rest.strip_suffix(" bytes")?.split_once(" seeks over ")?;
    Some(Event::Seeks {
        of,
        count: count.parse().ok()?,
        bytes: bytes.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_begins_ends_and_says_what_it_read() {
        let begins = XFS.read("pass 3: inodes and what they map");
        let title = "inodes and what they map".to_owned();
        assert_eq!(begins, Some(Event::Begins { pass: 3, title }));
        let took = EXT.read("pass 2: took 0.500000 s, user 0.4, system 0.1");
        let of = Of::Pass(3);
        let (real, cpu) = (0.5, Some((0.4, 0.1)));
        assert_eq!(took, Some(Event::Took { of, real, cpu }));
        let read = OCFS2.read("pass 0a: read 12 bytes, 17 requests, 3 seeks over 4096 bytes");
        let of = Of::Pass(2);
        let (count, bytes) = (3, 4096);
        assert_eq!(read, Some(Event::Seeks { of, count, bytes }));
    }

    #[test]
    fn other_lines_are_ignored() {
        for line in [
            "",
            "pass 9: nothing",
            "pass 3",
            "pass 3: took -1 s, user 0, system 0",
            "pass 3: took inf s, user 0, system 0",
            "pass 3: read 1 bytes, x requests, y seeks over 1 bytes",
            "clean: 3 inodes",
        ] {
            assert_eq!(XFS.read(line), None, "{line}");
        }
    }

    #[test]
    fn a_check_that_began_nothing_is_not_clean() {
        let summary = |passes| OutputSummary {
            passes,
            ..OutputSummary::default()
        };
        let verdict = |code, passes| XFS.judge(code, summary(passes)).0;
        assert_eq!(verdict(0, true), Verdict::Clean);
        assert_eq!(verdict(0, false), Verdict::Operational);
        assert_eq!(verdict(1, true), Verdict::Errors);
        assert_eq!(EXT.judge(4, summary(true)).0, Verdict::Errors);
        assert_eq!(verdict(8, false), Verdict::Operational);
    }
}
