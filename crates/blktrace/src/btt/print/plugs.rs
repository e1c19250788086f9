//! Plugs: how many, how long, and how many requests in each.

use std::fmt::Write;

use super::super::average::seconds;
use super::super::device::Device;
use super::shown::{Shown, section};

/// The share of the time that a device was plugged, %.
pub(super) fn plugged(device: &Device) -> f64 {
    100.0 * device.plugs.plugged / (seconds(device.end) - seconds(device.start))
}

/// Mean requests in a plug that a task opened, and in one that a timer did.
pub(super) fn unplugged(device: &Device) -> (f64, f64) {
    let mean = |sum: u64, count: u64| {
        if count > 0 {
            sum as f64 / count as f64
        } else {
            0.0
        }
    };
    let plugs = &device.plugs;
    (
        mean(plugs.requests, plugs.unplugs),
        mean(plugs.timer_requests, plugs.timer_unplugs),
    )
}

pub(super) fn plugs(text: &mut String, devices: &[Shown<'_>]) {
    section(text, "Plug Information");
    let titles = |first: &str| {
        format!(
            "{first:>10} | {:>10} {:>10}  | % Time Q Plugged\n",
            "# Plugs", "# Timer Us"
        )
    };
    let rule = "---------- | ---------- ----------  | ----------------\n";
    let _ = write!(text, "{}{rule}", titles("DEV"));
    let plugged_once = |shown: &&Shown<'_>| shown.device.plugs.unplugs > 0;
    let shown: Vec<&Shown<'_>> = devices.iter().filter(plugged_once).collect();
    let mut sums = (0, 0, 0.0);
    for Shown { device, name, .. } in &shown {
        let (plugs, share) = (&device.plugs, plugged(device));
        let _ = writeln!(
            text,
            "{:>10} | {:>10}({:>10}) | {share:>13.9}%",
            name, plugs.unplugs, plugs.timer_unplugs
        );
        sums = (
            sums.0 + plugs.unplugs,
            sums.1 + plugs.timer_unplugs,
            sums.2 + share,
        );
    }
    if shown.len() > 1 {
        let n = shown.len() as u64;
        let _ = writeln!(
            text,
            "{rule}{}{:>10} | {:>10}({:>10}) | {:>13.9}%",
            titles("Overall"),
            "Average",
            sums.0 / n,
            sums.1 / n,
            sums.2 / n as f64
        );
    }
    text.push('\n');
    unplugs(text, devices);
}

fn unplugs(text: &mut String, devices: &[Shown<'_>]) {
    let titles = |first: &str| format!("{first:>10} | {:>10}   {:>10}\n", "IOs/Unp", "IOs/Unp(to)");
    let rule = "---------- | ----------   ----------\n";
    let _ = write!(text, "{}{rule}", titles("DEV"));
    let (mut tasks, mut timers) = ((0, 0), (0, 0));
    for Shown { device, name, .. } in devices {
        let (task, timer) = unplugged(device);
        let _ = writeln!(text, "{name:>10} | {task:>10.1}   {timer:>10.1}");
        let plugs = &device.plugs;
        if plugs.requests > 0 && plugs.unplugs > 0 {
            tasks = (
                plugs.requests.wrapping_add(tasks.0),
                tasks.1 + plugs.unplugs,
            );
        }
        if plugs.timer_requests > 0 && plugs.timer_unplugs > 0 {
            timers = (
                plugs.timer_requests.wrapping_add(timers.0),
                timers.1 + plugs.timer_unplugs,
            );
        }
    }
    if tasks.1 + timers.1 > 0 {
        let mean = |(sum, n): (u64, u64)| if n > 0 { sum as f64 / n as f64 } else { 0.0 };
        let _ = writeln!(
            text,
            "{rule}{}{:>10} | {:>10.1}   {:>10.1}",
            titles("Overall"),
            "Average",
            mean(tasks),
            mean(timers)
        );
    }
    text.push('\n');
}
