//! The layout of fsck.ocfs2's statistics.
//!
//! As they were printed in 2011, rate and times alike: MB are 2^20 bytes rounded up, the rate is (disk + cache +
//! write) by real time of the bytes before that, as all 22 published rows with more than 60 MB have it; times are plain seconds
//! however many there are. fsck.ocfs2 of today prints minutes and seconds, and another rate.

use super::{Cost, Group, MIB, Set, figure};

/// Columns of a line.
const WIDTH: usize = 78;

/// `I/O read disk/cache: ...` and `Times real: ...`; none of a pass that was not measured. What was not counted is `-`.
fn lines(cost: &Cost) -> Option<[String; 2]> {
    let (disk, real) = (cost.disk?, cost.real?);
    let seconds = |value: Option<f64>| figure(value, |value| format!("{value:.3}s"));
    let rate = cost.with_cache.or(cost.rate).unwrap_or(0.0);
    Some([
        format!(
            "  I/O read disk/cache: {}MB / {}, write: 0MB, rate: {:.2}MB/s",
            mib(disk),
            figure(cost.cache, |cache| format!("{}MB", mib(cache))),
            rate / MIB
        ),
        format!(
            "  Times real: {real:.3}s, user: {}, sys: {}",
            seconds(cost.user),
            seconds(cost.system)
        ),
    ])
}

/// MiB, rounded up.
fn mib(bytes: f64) -> String {
    format!("{:.0}", (bytes / MIB).ceil())
}

/// All passes of all sets, each set's first line with its name at the right.
pub(crate) fn listing(group: &Group) -> Vec<String> {
    let mut out = Vec::new();
    for set in &group.sets {
        let Some(lines) = set.pass("all").and_then(|pass| lines(&pass.middle)) else {
            continue;
        };
        let cache = figure(set.cache_size, |cache| format!("{}MB", mib(cache)));
        out.extend(with_name(&format!("  Cache size: {cache}"), set));
        out.extend(lines);
        out.push(String::new());
    }
    for row in group.rows() {
        let Some((_, first)) = row.first().filter(|(_, pass)| pass.name != "all") else {
            continue;
        };
        out.push(first.title.to_owned());
        for (set, pass) in &row {
            if let Some([io, times]) = lines(&pass.middle) {
                out.extend(with_name(&io, set));
                out.push(times);
            }
        }
        out.push(String::new());
    }
    out.pop();
    out
}

/// A line with the name of its set at the right; below it where there is no room.
fn with_name(line: &str, set: &Set) -> Vec<String> {
    let name = format!("({})", set.name);
    let used = line.chars().count() + name.chars().count();
    match WIDTH.checked_sub(used) {
        None | Some(0) => vec![line.to_owned(), format!("{name:>WIDTH$}")],
        Some(gap) => vec![format!("{line}{}{name}", " ".repeat(gap))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(disk: f64, cache: f64, times: [f64; 3]) -> Cost {
        Cost {
            disk: Some(disk),
            cache: Some(cache),
            real: Some(times[0]),
            user: Some(times[1]),
            system: Some(times[2]),
            with_cache: Some((disk + cache) / times[0]),
            ..Cost::default()
        }
    }

    #[test]
    fn the_lines_are_those_of_the_message() {
        let pass_0a = cost(65.7 * MIB, 0.3 * MIB, [97.072, 0.423, 0.28]);
        assert_eq!(
            lines(&pass_0a).unwrap(),
            [
                "  I/O read disk/cache: 66MB / 1MB, write: 0MB, rate: 0.68MB/s",
                "  Times real: 97.072s, user: 0.423s, sys: 0.280s"
            ]
        );
        let overall = cost(138_751.0 * MIB, 778.0 * MIB, [8154.586, 581.073, 111.422]);
        assert_eq!(
            lines(&overall).unwrap(),
            [
                "  I/O read disk/cache: 138751MB / 778MB, write: 0MB, rate: 17.11MB/s",
                "  Times real: 8154.586s, user: 581.073s, sys: 111.422s"
            ]
        );
    }

    #[test]
    fn what_was_not_measured_has_no_lines() {
        assert_eq!(lines(&Cost::default()), None);
        let idle = Cost {
            with_cache: None,
            ..cost(0.0, 0.0, [0.0, 0.0, 0.0])
        };
        assert!(lines(&idle).unwrap()[0].ends_with("rate: 0.00MB/s"));
        // e2fsck counts no cache.
        let uncounted = Cost {
            with_cache: None,
            cache: None,
            rate: Some(2.0 * MIB),
            ..cost(4.0 * MIB, 0.0, [2.0, 0.0, 0.0])
        };
        let [io, _] = lines(&uncounted).unwrap();
        assert_eq!(
            io,
            "  I/O read disk/cache: 4MB / -, write: 0MB, rate: 2.00MB/s"
        );
    }
}
