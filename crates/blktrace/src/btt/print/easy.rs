//! The tables in words that a program reads (btt -X): a line begins with what it is.

use std::fmt::Write;

use super::super::average::{Average, Interval, seconds};
use super::super::engine::Engine;
use super::super::seek::SeekSummary;
use super::merges::merged;
use super::plugs::{plugged, unplugged};
use super::shown::Shown;

pub(in crate::btt) fn easy(engine: &Engine) -> String {
    let mut text = String::new();
    for interval in Interval::ALL[3..13].iter().copied() {
        let average = engine.all.of(interval);
        if let Some(mean) = average.mean_seconds() {
            let (min, max) = (seconds(average.min), seconds(average.max));
            let name = interval.name();
            let _ = writeln!(text, "{name} {min:.9} {mean:.9} {max:.9} {}", average.n);
        }
    }
    let devices = Shown::of(engine);
    merges(&mut text, &devices);
    let as_btt = engine.options.as_btt;
    for Shown { device, plain, .. } in &devices {
        seeks(&mut text, "QSK", plain, &device.q2q.summary(), as_btt);
    }
    for Shown { device, plain, .. } in &devices {
        seeks(&mut text, "DSK", plain, &device.d2d.summary(), as_btt);
    }
    for Shown { device, plain, .. } in &devices {
        if device.plugs.unplugs > 0 {
            let (plugs, share) = (&device.plugs, plugged(device));
            let (n, t) = (plugs.unplugs, plugs.timer_unplugs);
            let _ = writeln!(text, "PLG {plain} {n} {t} {share:.9}");
        }
    }
    for Shown { device, plain, .. } in &devices {
        let (task, timer) = unplugged(device);
        let _ = writeln!(text, "UPG {plain} {task:.9} {timer:.9}");
    }
    for Shown { device, plain, .. } in &devices {
        if device.queued > 0 && !device.stacked {
            let mean = device.active_sum as f64 / device.raised() as f64;
            let _ = writeln!(text, "ARQ {plain} {mean:.9}");
        }
    }
    text
}

fn merges(text: &mut String, devices: &[Shown<'_>]) {
    for Shown { device, plain, .. } in devices {
        if let Some(m) = merged(device) {
            let ratio = m.queued as f64 / m.issued as f64;
            let Average {
                min, max, total, ..
            } = m.blocks;
            let _ = writeln!(
                text,
                "DMI {plain} {} {} {ratio:.9} {min} {} {max} {total}",
                m.queued,
                m.issued,
                total / m.issued
            );
        }
    }
}

fn seeks(text: &mut String, word: &str, plain: &str, seeks: &SeekSummary, as_btt: bool) {
    if seeks.count == 0 {
        return;
    }
    let median = if as_btt {
        seeks.btt_median
    } else {
        seeks.median
    };
    let _ = write!(
        text,
        "{word} {plain} {} {:.9} {median} {} {}",
        seeks.count,
        seeks.mean,
        seeks.modes.first().copied().unwrap_or(0),
        seeks.mode_count
    );
    for mode in seeks.modes.iter().skip(1) {
        let _ = write!(text, " {mode}");
    }
    text.push('\n');
}
