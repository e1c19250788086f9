//! `/proc/stat`: CPU time by state, in jiffies, and the `avg-cpu` line computed from it.

/// Names of the columns of a `cpu` line, in the kernel's order.
pub const FIELD_NAMES: [&str; 10] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];

/// One `cpu` line: jiffies by state, in the order of [`FIELD_NAMES`]. `guest` is inside `user`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times(pub [u64; 10]);

impl Times {
    /// Parses what follows the label. Old kernels have as few as four columns.
    pub fn parse(text: &str) -> Option<Times> {
        let mut fields = [0; 10];
        let mut count = 0;
        for (slot, word) in fields.iter_mut().zip(text.split_ascii_whitespace()) {
            *slot = word.parse().ok()?;
            count += 1;
        }
        (count >= 4).then_some(Times(fields))
    }

    /// All jiffies; guest time is not added again.
    pub fn total(&self) -> u64 {
        self.0[..8]
            .iter()
            .fold(0, |sum, &field| sum.saturating_add(field))
    }

    /// Jiffies not idle and not waiting for I/O.
    pub fn busy(&self) -> u64 {
        let idle = self.0[3].saturating_add(self.0[4]);
        self.total().saturating_sub(idle)
    }

    /// What passed between two samples. idle and iowait are known to step back on some kernels
    /// (Documentation/filesystems/proc.rst): a step back counts as 0.
    #[must_use]
    pub fn delta(&self, later: &Times) -> Times {
        let mut out = [0; 10];
        for (slot, (before, after)) in out.iter_mut().zip(self.0.iter().zip(later.0)) {
            *slot = after.saturating_sub(*before);
        }
        Times(out)
    }
}

/// The lines of `/proc/stat` that speak of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// All CPUs together.
    pub all: Times,
    /// By CPU number; a CPU that is offline has no line.
    pub each: Vec<(u32, Times)>,
}

/// Parses `/proc/stat`. `None` without a `cpu` line.
pub fn parse(text: &str) -> Option<Stat> {
    let mut all = None;
    let mut each = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else {
            break;
        };
        let (label, fields) = rest.split_once(' ')?;
        if label.is_empty() {
            all = Times::parse(fields);
        } else {
            each.push((label.parse().ok()?, Times::parse(fields)?));
        }
    }
    Some(Stat { all: all?, each })
}

/// iostat's `avg-cpu` line: percent of all CPU time of the interval, all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Average {
    /// user.
    pub user: f64,
    /// nice.
    pub nice: f64,
    /// sys + irq + softirq, as iostat has it (iostat.c `write_cpu_stat`); top prints the three apart.
    pub system: f64,
    /// iowait.
    pub iowait: f64,
    /// steal.
    pub steal: f64,
    /// idle.
    pub idle: f64,
}

impl Average {
    /// Percentages of a delta; all 0 when no jiffy passed.
    pub fn of(delta: &Times) -> Average {
        let total = delta.total();
        if total == 0 {
            return Average::default();
        }
        let percent = |jiffies: u64| 100.0 * jiffies as f64 / total as f64;
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = delta.0;
        Average {
            user: percent(user),
            nice: percent(nice),
            system: percent(system.saturating_add(irq).saturating_add(softirq)),
            iowait: percent(iowait),
            steal: percent(steal),
            idle: percent(idle),
        }
    }
}

/// top's summary line: percent of all CPU time, irq and softirq apart from system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// us, sy, ni, id, wa, hi, si, st: the order in which top prints them.
    pub percent: [f64; 8],
}

impl Summary {
    /// Percentages of a delta; all 0 when no jiffy passed.
    pub fn of(delta: &Times) -> Summary {
        let total = delta.total().max(1);
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = delta.0;
        let ordered = [user, system, nice, idle, iowait, irq, softirq, steal];
        Summary {
            percent: ordered.map(|jiffies| 100.0 * jiffies as f64 / total as f64),
        }
    }

    /// As procps 3 printed it: `Cpu(s):  0.0%us, 13.1%sy, ...`.
    pub fn classic(&self) -> String {
        self.line("Cpu(s):", "%")
    }

    /// As procps 4 prints it: `%Cpu(s):  0.0 us, 13.1 sy, ...`.
    pub fn modern(&self) -> String {
        self.line("%Cpu(s):", " ")
    }

    fn line(&self, head: &str, mark: &str) -> String {
        let names = ["us", "sy", "ni", "id", "wa", "hi", "si", "st"];
        let parts: Vec<String> = self
            .percent
            .iter()
            .zip(names)
            .map(|(value, name)| format!("{value:>5.1}{mark}{name}"))
            .collect();
        format!("{head}{}", parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_real_file_parse() {
        let stat = parse(include_str!("../tests/data/small/proc/stat")).unwrap();
        assert_eq!(stat.all.0[0], 34_849);
        assert_eq!(stat.each.len(), 2);
        assert_eq!(stat.each[1].0, 1);
        assert_eq!(
            stat.all.busy(),
            34_849 + 7_336 + 128 + 75,
            "busy is all but idle and iowait"
        );
    }

    /// The 2008 mail's read run: top showed 13.1 sy, 0.2 hi, 1.2 si, 0.6 wa, 84.8 id over the same
    /// load for which iostat printed 14.50 system, 0.57 iowait, 84.92 idle.
    #[test]
    fn system_is_sys_with_irq_and_softirq() {
        let delta = Times([0, 0, 131, 848, 6, 2, 12, 0, 0, 0]);
        let average = Average::of(&delta);
        assert!((average.system - 14.5).abs() < 0.05, "{average:?}");
        let sum = average.user + average.system + average.iowait + average.idle;
        assert!((sum - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_summary_line_is_that_of_the_2008_mail() {
        let summary = Summary::of(&Times([0, 0, 131, 848, 6, 2, 12, 0, 0, 0]));
        assert_eq!(
            summary.classic(),
            "Cpu(s):  0.0%us, 13.1%sy,  0.0%ni, 84.9%id,  0.6%wa,  0.2%hi,  1.2%si,  0.0%st"
        );
        assert!(summary.modern().starts_with("%Cpu(s):  0.0 us, 13.1 sy,"));
        assert_eq!(Summary::of(&Times::default()), Summary::default());
    }

    #[test]
    fn one_saturated_cpu_of_eight_is_an_eighth() {
        let average = Average::of(&Times([100, 0, 0, 700, 0, 0, 0, 0, 0, 0]));
        assert_eq!(average.user, 12.5);
    }

    #[test]
    fn a_step_back_of_iowait_counts_as_nothing() {
        let d = Times([0, 0, 0, 0, 9, 0, 0, 0, 0, 0]).delta(&Times([1, 0, 0, 0, 8, 0, 0, 0, 0, 0]));
        assert_eq!(d.0[..5], [1, 0, 0, 0, 0]);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(text in "(cpu[0-9]{0,3}|[0-9]{1,20}| |\n|[a-z])*") {
            if let Some(stat) = parse(&text) {
                let _ = (stat.all.busy(), Average::of(&stat.all));
            }
        }
    }
}
