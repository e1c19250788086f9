//! The layouts: sysstat 9 and 12, procps 3.2 and 4.

use crate::cpu::{Average, Summary, Times};
use crate::diskstats::Counters;
use crate::iostat::{CLASSIC_HEADER, Classic, MODERN_HEADER, Modern};
use crate::tasks::time_plus;

use super::task::{Busy, Task, Users};
use super::{Machine, Snapshot};

fn average(cpu: &Times) -> [String; 2] {
    let a = Average::of(cpu);
    [
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle".into(),
        format!(
            "         {:7.2} {:7.2} {:7.2} {:7.2} {:7.2} {:7.2}",
            a.user, a.nice, a.system, a.iowait, a.steal, a.idle
        ),
    ]
}

fn iostat(
    cpu: &Times,
    header: &str,
    disks: &[(&str, Counters)],
    row: impl Fn(&str, &Counters) -> String,
) -> Vec<String> {
    let mut lines = Vec::from(average(cpu));
    lines.extend([String::new(), header.to_owned()]);
    lines.extend(disks.iter().map(|(name, delta)| row(name, delta)));
    lines
}

pub(super) fn iostat_classic(cpu: &Times, disks: &[(&str, Counters)], seconds: f64) -> Vec<String> {
    iostat(cpu, CLASSIC_HEADER, disks, |name, delta| {
        Classic::of(delta, seconds).row(name)
    })
}

pub(super) fn iostat_modern(cpu: &Times, disks: &[(&str, Counters)], seconds: f64) -> Vec<String> {
    iostat(cpu, MODERN_HEADER, disks, |name, delta| {
        Modern::of(delta, seconds).row(name)
    })
}

/// `up 2 days, 20:08` / `up 6:19` / `up 17 min`, as top has it (procps whattime.c).
fn uptime(seconds: f64) -> String {
    let minutes = (seconds / 60.0) as u64;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    let days = match days {
        0 => String::new(),
        1 => "1 day, ".into(),
        n => format!("{n} days, "),
    };
    if hours == 0 {
        format!("{days}{minutes} min")
    } else {
        format!("{days}{hours:2}:{minutes:02}")
    }
}

fn first_lines(look: &Snapshot) -> [String; 2] {
    let Machine {
        uptime_s,
        load,
        users,
        ..
    } = look.machine;
    let time = look.at.to_zoned(jiff::tz::TimeZone::system());
    let plural = if users == 1 { "" } else { "s" };
    let count = |states: &str| {
        look.tasks
            .iter()
            .filter(|task| states.contains(task.state))
            .count()
    };
    [
        format!(
            "top - {} up {}, {users:2} user{plural},  load average: {:.2}, {:.2}, {:.2}",
            time.strftime("%H:%M:%S"),
            uptime(uptime_s),
            load[0],
            load[1],
            load[2]
        ),
        format!(
            "Tasks: {:3} total, {:3} running, {:3} sleeping, {:3} stopped, {:3} zombie",
            look.tasks.len(),
            count("R"),
            count("SDIP"),
            count("Tt"),
            count("ZX")
        ),
    ]
}

pub(super) fn top_classic(
    look: &Snapshot,
    cpu: &Times,
    busy: &[Busy<'_>],
    users: &Users,
) -> Vec<String> {
    let m = &look.machine;
    let mut lines = Vec::from(first_lines(look));
    lines.extend([
        Summary::of(cpu).classic(),
        format!(
            "Mem:  {:8}k total, {:8}k used, {:8}k free, {:8}k buffers",
            m.total,
            m.total.saturating_sub(m.free),
            m.free,
            m.buffers
        ),
        format!(
            "Swap: {:8}k total, {:8}k used, {:8}k free, {:8}k cached",
            m.swap_total,
            m.swap_total.saturating_sub(m.swap_free),
            m.swap_free,
            m.cached
        ),
        String::new(),
        "  PID USER      PR  NI  VIRT  RES  SHR S %CPU %MEM    TIME+  COMMAND".into(),
    ]);
    let shown = busy.iter().filter(|b| b.percent >= 0.5);
    lines.extend(shown.map(|Busy { task, percent }| {
        format!(
            "{:5} {:<8.8} {:>3} {:3} {:>5} {:>4} {:>4} {} {percent:4.0} {:4.1} {:>9}  {}",
            task.pid,
            users.name(task.uid),
            priority(task.priority, "RT"),
            task.nice,
            scaled(task.virtual_kib, 5),
            scaled(task.resident_kib, 4),
            scaled(task.shared_kib, 4),
            task.state,
            share(task, m),
            time_plus(task.cpu_ns),
            task.comm
        )
    }));
    lines
}

pub(super) fn top_modern(
    look: &Snapshot,
    cpu: &Times,
    busy: &[Busy<'_>],
    users: &Users,
) -> Vec<String> {
    let m = &look.machine;
    let mib = |kib: u64| kib as f64 / 1024.0;
    let mut lines = Vec::from(first_lines(look));
    lines.extend([
        Summary::of(cpu).modern(),
        format!(
            "MiB Mem : {:8.1} total, {:8.1} free, {:8.1} used, {:8.1} buff/cache",
            mib(m.total),
            mib(m.free),
            mib(m.total.saturating_sub(m.available)),
            mib(m.buffers + m.cached)
        ),
        format!(
            "MiB Swap: {:8.1} total, {:8.1} free, {:8.1} used. {:8.1} avail Mem",
            mib(m.swap_total),
            mib(m.swap_free),
            mib(m.swap_total.saturating_sub(m.swap_free)),
            mib(m.available)
        ),
        String::new(),
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND".into(),
    ]);
    let shown = busy.iter().filter(|b| b.percent >= 0.05);
    lines.extend(shown.map(|Busy { task, percent }| {
        format!(
            "{:7} {:<8.8} {:>3} {:3} {:>7} {:>6} {:>6} {} {percent:5.1} {:5.1} {:>9} {}",
            task.pid,
            users.name(task.uid),
            priority(task.priority, "rt"),
            task.nice,
            scaled(task.virtual_kib, 7),
            scaled(task.resident_kib, 6),
            scaled(task.shared_kib, 6),
            task.state,
            share(task, m),
            time_plus(task.cpu_ns),
            task.comm
        )
    }));
    lines
}

/// Real-time tasks at the highest priority have -100, which top writes in letters.
fn priority(value: i64, real_time: &str) -> String {
    if value <= -100 {
        real_time.to_owned()
    } else {
        value.to_string()
    }
}

/// %MEM.
fn share(task: &Task, machine: &Machine) -> f64 {
    100.0 * task.resident_kib as f64 / machine.total.max(1) as f64
}

/// KiB where the column has room, else m, g or t, with one decimal where that has room
/// (top.c `scale_mem`).
fn scaled(kib: u64, width: usize) -> String {
    let plain = kib.to_string();
    if plain.len() <= width {
        return plain;
    }
    let mut value = kib as f64;
    for unit in ["m", "g", "t", "p"] {
        value /= 1024.0;
        for text in [format!("{value:.1}{unit}"), format!("{value:.0}{unit}")] {
            if text.len() <= width {
                return text;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_are_those_of_the_messages() {
        assert_eq!(
            uptime(2.0 * 86400.0 + 20.0 * 3600.0 + 8.0 * 60.0),
            "2 days, 20:08"
        );
        assert_eq!(uptime(6.0 * 3600.0 + 19.0 * 60.0 + 59.0), " 6:19");
        assert_eq!(uptime(17.0 * 60.0), "17 min");
        assert_eq!(uptime(86400.0), "1 day, 0 min");
    }

    #[test]
    fn memory_is_scaled_to_its_column() {
        assert_eq!(scaled(18808, 5), "18808");
        assert_eq!(scaled(188_080, 5), "184m");
        assert_eq!(scaled(4796, 4), "4796");
        assert_eq!(scaled(47960, 4), "47m");
        assert_eq!(scaled(66_114_888, 5), "63.1g");
    }
}
