//! `fslab trace record`; the module of `fslab trace report`.

pub(crate) mod report;

use std::fmt::Write as _;
use std::time::Duration;

use lab::Interrupt;
use lab::trace_command::{Recorded, Request, record, shell_code};
use probe::capture::{Mask, Summary};

use crate::cli::RecordArgs;
use crate::{exit, out};

/// Ends as the command did; 0 without one.
pub(crate) fn run_record(args: &RecordArgs) -> anyhow::Result<u8> {
    let mask = match &args.actions {
        Some(names) => Mask::parse(names).map_err(lab::Error::from)?,
        None => Mask::default(),
    };
    let time = match args.seconds.map(Duration::try_from_secs_f64) {
        None => None,
        Some(Ok(time)) if !time.is_zero() => Some(time),
        Some(_) => {
            let why = "--seconds: not a time; give a number above 0, as in 10 or 0.5";
            return Err(lab::Error::Preflight(why.into()).into());
        }
    };
    let request = Request {
        devices: args.devices.clone(),
        out: args.out.clone(),
        mask,
        buffer: args.buffer.get(),
        time,
        command: args.command.clone(),
    };
    let recorded = record(&request, &Interrupt::on_signals()?)?;
    out::print(&text(&recorded.traces))?;
    for trace in &recorded.traces {
        warn(trace);
    }
    Ok(code(&recorded))
}

fn code(recorded: &Recorded) -> u8 {
    let Some(status) = recorded.command else {
        return exit::OK;
    };
    if !status.success() {
        out::say(&format!("the command ended with {status}"));
    }
    shell_code(status)
}

/// blktrace's closing summary, of what was really counted (blktrace.c, `show_stats`).
fn text(traces: &[Summary]) -> String {
    let mut text = String::new();
    for trace in traces {
        let _ = writeln!(text, "=== {} ===", trace.device);
        for cpu in &trace.cpus {
            let lost = match cpu.lost {
                0 => String::new(),
                lost => format!(" (dropped {lost})"),
            };
            let _ = writeln!(
                text,
                "  CPU{:3}: {:20} events{lost}, {:8} KiB data",
                cpu.cpu,
                cpu.events,
                cpu.bytes.div_ceil(1024)
            );
        }
        let _ = writeln!(
            text,
            "  Total:  {:20} events (dropped {}), {:8} KiB data",
            trace.events,
            trace.lost,
            (trace.bytes + 1024) >> 10
        );
    }
    text
}

fn warn(trace: &Summary) {
    let device = &trace.device;
    if trace.lost > 0 {
        let whose = if trace.lost_is_shared {
            " of all devices together"
        } else {
            ""
        };
        out::say(&format!(
            "{device}: {} events{whose} were lost ({:.2} %), an analysis of this trace is \
             degraded; ask for a larger --buffer or fewer --actions",
            trace.lost,
            trace.lost_percent()
        ));
    }
    if trace.broken_pages > 0 {
        out::say(&format!(
            "{device}: {} pages of the kernel's buffer could not be read, their events are \
             missing; please report this kernel's release, {}",
            trace.broken_pages, trace.kernel
        ));
    }
    if trace.traces_itself {
        out::say(&format!(
            "{device}: the trace was written to the device itself and is part of it; choose a \
             folder on another device"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::capture::{Cpu, FORMAT};

    fn trace(device: &str, lost: u64) -> Summary {
        let cpu = |cpu, events, lost| Cpu {
            cpu,
            events,
            bytes: events * 48,
            lost,
        };
        Summary {
            format: FORMAT,
            device: device.into(),
            number: "8:0".into(),
            way: "blk tracer".into(),
            clock: "mono".into(),
            kernel: "6.18.0".into(),
            seconds: 1.5,
            actions: "all".into(),
            buffer: 8 << 20,
            cpus: vec![cpu(0, 1_234, 0), cpu(1, 99_999, lost)],
            events: 101_233,
            bytes: 101_233 * 48,
            lost,
            lost_is_shared: false,
            broken_pages: 0,
            degraded: lost > 0,
            traces_itself: false,
        }
    }

    #[test]
    fn the_closing_summary_is_blktraces() {
        insta::assert_snapshot!(text(&[trace("sda", 0), trace("md0", 77)]));
    }
}
