//! The report as one self-contained page: nothing is fetched. Its only script copies and saves tables.

use minijinja::Environment;
use serde_json::json;

use super::Subject;
use super::plot::plots;
use super::view::{facts, sections};
use crate::error::{Error, Result};
use crate::html::{READER_JS, link, section, show_controls};

const PAGE: &str = include_str!("../../templates/trace.html");
const CSS: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/trace.css"),
    include_str!("../../assets/print.css")
);

/// The report as a page.
///
/// # Errors
/// None that a trace could cause: the template is a part of the program.
pub fn html(subject: &Subject<'_>) -> Result<String> {
    let failed = |source| Error::Template {
        name: "trace.html",
        source,
    };
    let mut environment = Environment::new();
    environment
        .add_template("trace.html", PAGE)
        .map_err(failed)?;
    let facts = facts(subject).into_iter();
    let plots = plots(subject).into_iter().map(
        |plot| json!({"title": plot.title, "unit": plot.unit, "svg": plot.svg, "note": plot.note}),
    );
    let sections = sections(subject);
    let mut view = json!({
        "name": subject.analysis.name,
        "facts": facts.map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>(),
        "doubts": subject.doubts(),
        "verdict": subject.verdict(),
        "plots": plots.collect::<Vec<_>>(),
        "nav": sections.iter().map(link).collect::<Vec<_>>(),
        "sections": sections.iter().map(section).collect::<String>(),
    });
    show_controls(&mut view);
    view["css"] = CSS.into();
    view["reader_js"] = READER_JS.into();
    let page = environment.get_template("trace.html").map_err(failed)?;
    page.render(minijinja::value::Serde(&view)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use crate::doc::Block;
    use fixtures::block_trace::Forge;

    #[test]
    fn a_page_holds_what_the_text_holds_and_fetches_nothing() {
        let (analysis, names) = (analysis(&Forge::hostile(7, 3000)), names());
        let subject = subject(&analysis, &names);
        let page = html(&subject).unwrap();
        for part in sections(&subject) {
            assert!(
                page.contains(&words::escape_xml(&part.title)),
                "{}",
                part.title
            );
            for block in &part.blocks {
                let Block::Table(sheet) = block else { continue };
                let cells = sheet.rows.iter().flat_map(|row| &row.cells);
                let cells = cells.map(|cell| cell.lines.concat());
                let figure = |cell: &String| cell.chars().all(|c| c.is_ascii_digit() || c == '.');
                for cell in cells.filter(|cell| cell.len() > 3).filter(figure) {
                    assert!(page.contains(cell.as_str()), "{cell}");
                }
            }
        }
        assert_eq!(page.matches("<svg").count(), plots(&subject).len());
        for forbidden in ["http:", "https:", "src=", "url(", "fetch("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("<script").count(), 1, "the reader's alone");
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn names_from_the_trace_are_inert() {
        let mut analysis = analysis(&Forge::plain(1, 200));
        analysis.processes[0].name = "<img src=x onerror=alert(1)>".into();
        analysis.name = "</title><b>\u{1b}[2J\u{9b}\r".into();
        let mut names = names();
        names.insert(8 << 20, "sda\"><i>".into());
        let page = html(&subject(&analysis, &names)).unwrap();
        for markup in ["<img", "</title><b>", "<i>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    }
}
