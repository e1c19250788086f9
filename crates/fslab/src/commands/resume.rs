//! `fslab resume`.

use lab::Interrupt;

use crate::cli::ResumeArgs;
use crate::commands::{finish, tool};
use crate::terminal::RunTerminal;

pub(crate) fn run(args: &ResumeArgs) -> anyhow::Result<u8> {
    let interrupt = Interrupt::on_signals()?;
    let run = record::Run::load(&args.run).map_err(lab::Error::from)?;
    let terminal = RunTerminal::new(run.remaining().len(), args.format);
    terminal.foresee(&run.plan, &run.remaining());
    let finished = lab::resume(&args.run, &tool(), &terminal, &interrupt)?;
    let lost = terminal.finish();
    finish(&finished, args.format, lost)
}
