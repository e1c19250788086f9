//! The report as one self-contained page: nothing is fetched, and there is no script.

use minijinja::Environment;
use serde_json::{Value, json};

use super::Subject;
use super::plot::plots;
use super::view::{Table, facts, tables};
use crate::error::{Error, Result};

const PAGE: &str = include_str!("../../templates/trace.html");
const CSS: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/trace.css")
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
    let view = json!({
        "css": CSS,
        "name": subject.analysis.name,
        "facts": facts.map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>(),
        "doubts": subject.doubts(),
        "plots": plots.collect::<Vec<_>>(),
        "tables": tables(subject).iter().map(of_table).collect::<Vec<_>>(),
    });
    let page = environment.get_template("trace.html").map_err(failed)?;
    page.render(minijinja::value::Serde(&view)).map_err(failed)
}

fn of_table(table: &Table) -> Value {
    json!({
        "title": table.title, "words": table.words, "heads": table.heads, "rows": table.rows,
        "note": table.note,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use fixtures::block_trace::Forge;

    #[test]
    fn a_page_holds_what_the_text_holds_and_fetches_nothing() {
        let (analysis, names) = (analysis(&Forge::hostile(7, 3000)), names());
        let subject = subject(&analysis, &names);
        let page = html(&subject).unwrap();
        for table in tables(&subject) {
            assert!(
                page.contains(&table.title.replace('/', "&#x2f;")),
                "{}",
                table.title
            );
            let cells = table.rows.iter().flatten().filter(|cell| cell.len() > 3);
            for cell in cells.filter(|cell| cell.chars().all(|c| c.is_ascii_digit() || c == '.')) {
                assert!(page.contains(cell.as_str()), "{cell}");
            }
        }
        assert_eq!(page.matches("<svg").count(), plots(&subject).len());
        for forbidden in ["http:", "https:", "<script", "src=", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn names_from_the_trace_are_inert() {
        let mut analysis = analysis(&Forge::plain(1, 200));
        analysis.processes[0].name = "<img src=x onerror=alert(1)>".into();
        analysis.name = "</title><b>".into();
        let mut names = names();
        names.insert(8 << 20, "sda\"><i>".into());
        let page = html(&subject(&analysis, &names)).unwrap();
        for markup in ["<img", "</title><b>", "<i>"] {
            assert!(!page.contains(markup), "{markup}");
        }
    }
}
