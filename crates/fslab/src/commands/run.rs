//! `fslab run`.

use std::sync::Arc;

use lab::{Interrupt, Planned, Request};

use crate::cli::RunArgs;
use crate::commands::{finish, planned, tool};
use crate::terminal::RunTerminal;

pub(crate) fn run(args: RunArgs) -> anyhow::Result<u8> {
    let tags = record::tags::collect(&args.tag).map_err(lab::Error::Preflight)?;
    let Planned {
        mut plan,
        target,
        why,
    } = planned(&args.study, &args.target)?;
    let out = args
        .out
        .unwrap_or_else(|| record::folder::default_dir(&plan.study, jiff::Zoned::now().datetime()));
    plan.rerun_doubtful = args.rerun_doubtful;
    let interrupt = Interrupt::on_signals()?;
    let terminal = RunTerminal::new(plan.slots.len(), args.format);
    let request = Request {
        target,
        why,
        plan,
        command: std::env::args().collect(),
        tool: tool(),
        tags,
        node: None,
        part: None,
        facts: std::collections::BTreeMap::new(),
        noise: Arc::new(lab::noise::Host),
    };
    let finished = lab::start(&request, &out, &terminal, &interrupt)?;
    let lost = terminal.finish();
    finish(&finished, args.format, lost)
}
