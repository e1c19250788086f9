//! fsck.ocfs2's lines.
//!
//! As the tool prints them with its statistics on: MB are 2^20 bytes rounded up, the rate is (disk + cache +
//! write) by real time, as all 22 published rows with more than 60 MB have it; times from 100 s on in minutes.

use super::{Cost, Pass, Set};

/// `I/O read disk/cache: ...` and `Times real: ...`.
pub(crate) fn lines(cost: &Cost) -> [String; 2] {
    [
        format!(
            "  I/O read disk/cache: {}MB / {}MB, write: 0MB, rate: {:.2}MB/s",
            mib(cost.disk),
            mib(cost.cache),
            cost.with_cache / MIB
        ),
        format!(
            "  Times real: {}, user: {}, sys: {}",
            clock(cost.real),
            clock(cost.user),
            clock(cost.system)
        ),
    ]
}

const MIB: f64 = 1_048_576.0;

/// MiB, rounded up.
fn mib(bytes: f64) -> String {
    format!("{:.0}", (bytes / MIB).ceil())
}

fn clock(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.3}s");
    }
    let minutes = (seconds / 60.0).floor();
    format!("{minutes:.0}m{:.3}s", seconds - minutes * 60.0)
}

impl Set {
    /// `  Cache size: 1017MB`.
    pub(crate) fn cache_line(&self) -> String {
        format!("  Cache size: {}MB", mib(self.cache_size))
    }

    /// All passes together.
    pub(crate) fn whole(&self) -> Option<&Pass> {
        self.passes.iter().find(|pass| pass.name == "all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_those_of_the_message() {
        let pass_0a = Cost {
            disk: 66.0 * MIB,
            cache: 0.3 * MIB,
            real: 97.072,
            user: 0.423,
            system: 0.28,
            with_cache: 66.0 * MIB / 97.072,
            ..Cost::default()
        };
        assert_eq!(
            lines(&pass_0a),
            [
                "  I/O read disk/cache: 66MB / 1MB, write: 0MB, rate: 0.68MB/s",
                "  Times real: 97.072s, user: 0.423s, sys: 0.280s"
            ]
        );
        assert_eq!(clock(1299.972), "21m39.972s");
    }
}
