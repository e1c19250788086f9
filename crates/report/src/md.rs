//! GitHub Markdown: the sections of a report, for an issue or a README.

mod blocks;

use study::Clock;

use crate::Report;
use crate::doc::Section;
use crate::facts::Answer;
use crate::model::{Mark, clock_meaning};
use crate::options::Part;
use crate::sections::{answer, basis, causes, measured, tables};
use crate::sentences::{begun, few, method, order, trials};
use crate::units;

/// The report as Markdown.
pub(crate) fn print(report: &Report<'_>) -> String {
    let title = format!("# {}\n\n", escape(&report.title()));
    let printed =
        |sections: Vec<Section<'_>>| -> String { sections.iter().map(blocks::print).collect() };
    let of_tables = || measured(report).into_iter().chain(tables(report)).collect();
    match report.options.part {
        Part::Summary => title + &printed(answer(report)),
        Part::Tables => title + &printed(of_tables()),
        Part::Why => title + &printed(causes(report)),
        Part::Evidence => title + &printed(basis(report)),
        Part::First if report.options.is_pivot() => printed(tables(report)),
        Part::First if report.options.table.is_some() => printed(of_tables()),
        Part::Full | Part::First | Part::GnuTime => {
            let mut sections = of_tables();
            sections.extend(causes(report));
            sections.extend(basis(report));
            title + &printed(answer(report)) + &head(report) + &printed(sections) + &legend(report)
        }
    }
}

/// A section of a document.
pub(crate) fn section(section: &Section<'_>) -> String {
    blocks::print(section)
}

fn head(report: &Report<'_>) -> String {
    let run = report.run;
    let mut out = String::new();
    let mut rows = vec![
        (
            "study",
            format!("{}, profile {}", run.plan.study, run.plan.profile),
        ),
        ("question", run.plan.question.clone()),
        (
            "repeats",
            report
                .published
                .map_or_else(|| "nothing published".to_owned(), |p| p.document.citation()),
        ),
        ("run", run.name.clone()),
        ("begun", begun(report)),
        ("trials", trials(report)),
        ("order", order(report)),
        ("tool", run.tool.clone()),
        ("target", run.target.clone()),
    ];
    if let Some(tags) = record::tags::line(&run.tags) {
        rows.push(("tags", tags));
    }
    for fact in &report.machine {
        rows.push((
            fact.name,
            match &fact.answer {
                Answer::Known(text, _) => text.clone(),
                Answer::Absent(reason) => format!("absent: {reason}"),
            },
        ));
    }
    for variant in &report.variants {
        for (served, _) in &variant.seen {
            rows.push((
                "filesystem",
                format!(
                    "{}: driver {}; {}{}",
                    variant.name,
                    served.driver,
                    served.options,
                    match served.asked.as_str() {
                        "" => String::new(),
                        asked => format!(" (asked for -o {asked})"),
                    }
                ),
            ));
        }
    }
    out.push_str("| | |\n|---|---|\n");
    for (name, text) in rows {
        out.push_str(&format!("| {name} | {} |\n", escape(&text)));
    }
    out.push('\n');
    out
}

/// What marks, clocks and units mean.
fn legend(report: &Report<'_>) -> String {
    let tag = report.timing.as_ref();
    let tag = tag.map_or(String::new(), |tag| format!(" [{tag}]"));
    let marks = Mark::ALL.map(|m| format!("`{}` {}", m.sign(), m.meaning()));
    let clocks = [Clock::Original, Clock::Fsync, Clock::Syncfs];
    let clocks = clocks.map(|c| format!("{} {}", c.mark(), clock_meaning(c)));
    format!(
        "## Legend{tag}\n\n{}\n\nMarks: {}; `~` not a difference that counts (`~c`: the correction for several comparisons took it); `+` better, `-` worse \
         than the base.\n\nClocks: {}.\n\nA difference counts when its interval clears {:.0} % and its p \
         holds after Benjamini-Hochberg over the table; {}. n below 5: {}.\n",
        units::legend(report.run),
        marks.join("; "),
        clocks.join("; "),
        report.run.plan.band * 100.0,
        method(report),
        few(report)
    )
}

/// Text that cannot end a table cell, start markup or open a tag.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
