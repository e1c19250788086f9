//! When there was activity, as points of a step plot.

use std::fmt::Write;

use super::super::average::seconds;
use super::super::engine::Engine;
use super::super::range::Regions;
use super::shown::Shown;

pub(in crate::btt) fn ranges(engine: &Engine) -> String {
    let mut text = String::from("# Total System\n");
    let mut base = 0.0_f32;
    if regions(&mut text, "Total System", &engine.regions, base) {
        base += 1.0;
    }
    if engine.devices.len() > 1 {
        text.push_str("# Per device\n");
        for Shown { device, .. } in &Shown::of(engine) {
            let (major, minor) = device.numbers();
            let name = format!("{major},{minor}");
            if regions(&mut text, &name, &device.regions, base) {
                base += 1.0;
            }
        }
    }
    text.push_str("# Per process\n");
    for process in engine.shown_processes() {
        regions(&mut text, &process.name, &process.regions, base);
        base += 1.0;
    }
    text
}

fn regions(text: &mut String, name: &str, regions: &Regions, base: f32) -> bool {
    if regions.is_empty() {
        return false;
    }
    for (what, ranges, base) in [
        ('q', &regions.queued, base),
        ('c', &regions.completed, base + 0.5),
    ] {
        let _ = writeln!(text, "# {name:>16} : {what} activity");
        let top = base + 0.4;
        for &(from, to) in ranges {
            for (time, height) in [(from, base), (from, top), (to, top), (to, base)] {
                let _ = writeln!(text, "{:>13.9} {height:>5.1}", seconds(time));
            }
        }
        text.push('\n');
    }
    true
}
