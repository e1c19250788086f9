//! `fslab show`.

use crate::cli::{ShowArgs, ShowFormat};
use crate::{exit, out};

pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<u8> {
    let run = record::Run::load(&args.run).map_err(lab::Error::from)?;
    match args.format {
        ShowFormat::Text => {
            let options = ::report::Options {
                part: ::report::Part::Summary,
                ..::report::Options::default()
            };
            let summary = ::report::render(&run, Some(&args.run), &options);
            let summary = summary.map_err(lab::Error::from)?;
            out::print(&format!("{summary}\n\n{}", record::show::render(&run)))?;
        }
        ShowFormat::Json => {
            let options = ::report::Options {
                format: ::report::Format::Json,
                ..::report::Options::default()
            };
            out::print(
                &::report::render(&run, Some(&args.run), &options).map_err(lab::Error::from)?,
            )?;
        }
        ShowFormat::Csv => out::print(&record::show::csv(&run))?,
    }
    Ok(exit::OK)
}
