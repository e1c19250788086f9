//! `fslab explain`.

use crate::cli::{ClockArg, DocumentFormat, ExplainArgs};
use crate::{exit, out};

pub(crate) fn run(args: ExplainArgs) -> anyhow::Result<u8> {
    let run = record::Run::load(&args.run).map_err(lab::Error::from)?;
    let remaining = run.remaining().len();
    if remaining > 0 && !args.partial {
        let dir = out::path(&args.run);
        out::say(&format!(
            "fslab: {dir}: {remaining} of {} still to run; go on with `fslab resume {dir}`, or explain the finished \
             trials with --partial",
            words::plural(run.trials.len() as u64, "trial")
        ));
        return Ok(exit::INCOMPLETE);
    }
    let filters: Vec<_> = args
        .filter
        .iter()
        .map(|text| ::report::Options::parse_filter(text))
        .collect::<Result<_, _>>()
        .map_err(lab::Error::from)?;
    let options = ::explain::Options {
        factors: args.factor,
        base: args.base,
        filter: filters.concat(),
        phase: args.phase,
        metric: args.metric,
        clock: args.clock.map(|clock| match clock {
            ClockArg::Original => study::Clock::Original,
            ClockArg::Fsync => study::Clock::Fsync,
            ClockArg::Syncfs => study::Clock::Syncfs,
        }),
        ..::explain::Options::default()
    };
    let explained = ::explain::explain(&run, Some(&args.run), &options)?;
    match args.format {
        DocumentFormat::Text => out::print(&::explain::render(&explained))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&explained)?)?,
    }
    Ok(exit::OK)
}
