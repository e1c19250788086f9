//! `fslab layout`.

use layout::report::{Ask, Format, report};

use crate::cli::{LayoutArgs, LayoutFormat};
use crate::{exit, out};

pub(crate) fn run(args: &LayoutArgs) -> anyhow::Result<u8> {
    let answer = report(
        &args.paths,
        Ask {
            format: match args.format {
                LayoutFormat::Text => Format::Text,
                LayoutFormat::Filefrag => Format::Filefrag,
                LayoutFormat::Filefrag141 => Format::Filefrag141,
                LayoutFormat::XfsBmap => Format::XfsBmap,
                LayoutFormat::Json => Format::Json,
            },
            summary: args.summary,
            free: args.free,
            sync: args.sync,
            block_size: args.block_size,
            hex: args.hex,
            unwritten: args.unwritten,
            threads: args.threads.map_or(0, usize::from),
        },
    );
    out::print_bytes(&answer.text)?;
    for problem in &answer.problems {
        out::say(&format!("fslab: {}", out::line(problem)));
    }
    let omitted = answer.problem_count - answer.problems.len() as u64;
    if omitted > 0 {
        out::say(&format!("fslab: and {omitted} more that could not be read"));
    }
    Ok(if answer.problem_count == 0 {
        exit::OK
    } else {
        exit::TROUBLE
    })
}
