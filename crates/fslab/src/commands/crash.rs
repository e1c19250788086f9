//! `fslab crash`.

use std::time::Duration;

use blockio::log_writes::Boundary;
use lab::Interrupt;
use lab::crash::{Base, From, Recover, Request};

use crate::cli::crash::{BoundaryArg, CrashArgs, RecoverArg};
use crate::cli::{DocumentFormat, LiveFormat};
use crate::terminal::RunTerminal;
use crate::{exit, out};

pub(crate) fn run(args: &CrashArgs) -> anyhow::Result<u8> {
    let request = request(args);
    let terminal = RunTerminal::new(1, LiveFormat::Text);
    let interrupt = Interrupt::on_signals()?;
    let scratch = args.scratch.as_deref();
    let crash = lab::crash::run_in_scratch(&request, scratch, &terminal, &interrupt);
    drop(terminal);
    let crash = crash?;
    match args.format {
        DocumentFormat::Text => out::print(&::report::crash_text(&crash, 78))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&crash)?)?,
    }
    Ok(if crash.damaged > 0 {
        exit::CRASH_DAMAGED
    } else if crash.unjudged > 0 || crash.judged == 0 {
        exit::INVALID
    } else {
        exit::OK
    })
}

fn request(args: &CrashArgs) -> Request {
    let size = args.blank.map_or(0, study::Bytes::get);
    let base = args.base.clone().map_or(Base::Blank(size), Base::Image);
    let mark = args.from_mark.clone().map(From::Mark);
    Request {
        log: args.log.clone().into(),
        base,
        filesystem: args.filesystem.clone(),
        from: mark.unwrap_or(From::Entry(args.from_entry)),
        until: None,
        boundary: match args.boundaries {
            BoundaryArg::Flush => Boundary::Flush,
            BoundaryArg::Fua => Boundary::Fua,
            BoundaryArg::Write => Boundary::Write,
        },
        most: args.most,
        recover: match args.recover {
            Some(RecoverArg::Mount) => Recover::Mount,
            Some(RecoverArg::E2fsck) => Recover::E2fsck,
            Some(RecoverArg::None) => Recover::Nothing,
            None => Recover::usual(&args.filesystem),
        },
        timeout: Duration::from_secs(args.timeout),
        keep: args.keep.clone(),
    }
}
