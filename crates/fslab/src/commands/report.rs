//! `fslab report`.

use ::report::Part;

use crate::cli::{ClockArg, ReportArgs, ReportFormat, ReportPart};
use crate::exit;
use crate::out::Output;

pub(crate) fn run(args: ReportArgs) -> anyhow::Result<u8> {
    let output = Output::of(args.output.as_deref(), &[])?;
    let run = record::Run::load(&args.run).map_err(lab::Error::from)?;
    let filters: Vec<_> = args
        .filter
        .iter()
        .map(|text| ::report::Options::parse_filter(text))
        .collect::<Result<_, _>>()
        .map_err(lab::Error::from)?;
    let options = ::report::Options {
        format: match args.format {
            ReportFormat::Text => ::report::Format::Text,
            ReportFormat::Html => ::report::Format::Html,
            ReportFormat::Json => ::report::Format::Json,
            ReportFormat::Csv => ::report::Format::Csv,
            ReportFormat::SummaryCsv => ::report::Format::SummaryCsv,
            ReportFormat::Md => ::report::Format::Md,
        },
        part: match (args.full, args.only) {
            (true, _) => Part::Full,
            (false, None) => Part::First,
            (false, Some(ReportPart::Summary)) => Part::Summary,
            (false, Some(ReportPart::Tables)) => Part::Tables,
            (false, Some(ReportPart::Why)) => Part::Why,
            (false, Some(ReportPart::Evidence)) => Part::Evidence,
            (false, Some(ReportPart::GnuTime)) => Part::GnuTime,
        },
        rows: args.row,
        columns: args.col,
        table: args.table,
        filter: filters.concat(),
        metric: args.metric,
        clock: args.clock.map(|clock| match clock {
            ClockArg::Original => study::Clock::Original,
            ClockArg::Fsync => study::Clock::Fsync,
            ClockArg::Syncfs => study::Clock::Syncfs,
        }),
        width: args.width,
        base: args.base,
        ..::report::Options::default()
    };
    let text = ::report::render(&run, Some(&args.run), &options).map_err(lab::Error::from)?;
    output.text(&text)?;
    Ok(exit::OK)
}
