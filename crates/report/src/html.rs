//! One self-contained page: nothing is fetched, and everything but the time series and
//! the copies of tables works without JavaScript.
//!
//! All text of a run (its name, levels, messages of failed trials) comes from outside and is
//! escaped: by minijinja in the template, by [`words::escape_xml`] in blocks and drawings, and by the script, which
//! sets text only as text. A content security policy forbids every request.

mod axes;
mod blocks;
mod first_screen;
mod growth_plot;
mod histogram;
mod lean;
mod names;
mod page;
#[cfg(test)]
mod palette;
mod plot;
mod telemetry;

use std::borrow::Cow;

use minijinja::Environment;
use serde_json::{Value, json};

pub(crate) use page::link;

use crate::Report;
use crate::doc::Section;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("../templates/page.html");
const CSS: &str = concat!(
    include_str!("../assets/page.css"),
    include_str!("../assets/growth.css"),
    include_str!("../assets/latency.css"),
    include_str!("../assets/scan.css"),
    include_str!("../assets/print.css")
);
/// Copies and downloads tables and marks the section in view: on this page and on that of a trace.
pub(crate) const READER_JS: &str = include_str!("../assets/reader.js");
const JS: &str = include_str!("../assets/page.js");
const UPLOT_JS: &str = include_str!("../vendor/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../vendor/uplot/uPlot.min.css");
const UPLOT_VERSION: &str = "1.6.32";

/// Where a page that is one of many has its styles and scripts: in files beside it, which its content security policy demands.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    /// Addresses of the style sheets ([`assets::CSS`], [`assets::UPLOT_CSS`] and what else), relative to the page.
    pub styles: Vec<String>,
    /// Addresses of the scripts: [`assets::READER_JS`] and what else.
    pub scripts: Vec<String>,
    /// Addresses of the scripts that draw time series: [`assets::UPLOT_JS`], then [`assets::SERIES_JS`].
    pub series_scripts: Vec<String>,
    /// Links above the heading: address and text.
    pub links: Vec<(String, String)>,
    /// The content security policy.
    pub policy: String,
    /// About how many bytes the time series may take.
    pub series_bytes: usize,
    /// Bytes of sections above which a page leaves out what is elsewhere; it may still have more.
    pub content_bytes: usize,
}

/// Styles and scripts of the pages.
pub mod assets {
    /// Styles of a report, and of pages that look like one.
    pub const CSS: &str = super::CSS;
    /// Copies and saves tables, and marks the section in view.
    pub const READER_JS: &str = super::READER_JS;
    /// Draws the time series of a report with uPlot.
    pub const SERIES_JS: &str = super::JS;
    /// uPlot (MIT; its licence is its first line).
    pub const UPLOT_JS: &str = super::UPLOT_JS;
    /// Styles of uPlot.
    pub const UPLOT_CSS: &str = super::UPLOT_CSS;
}

/// The report as a self-contained page.
pub(crate) fn print(report: &Report<'_>) -> Result<String> {
    rendered(report, None)
}

/// The report as a page whose styles and scripts are files.
///
/// # Errors
/// A defect in a template or a value that JSON does not have.
pub fn linked(report: &Report<'_>, linked: &Linked) -> Result<String> {
    rendered(report, Some(linked))
}

fn rendered(report: &Report<'_>, linked: Option<&Linked>) -> Result<String> {
    let failed = |source| Error::Template {
        name: "page.html",
        source,
    };
    let mut environment = Environment::new();
    environment
        .add_template("page.html", PAGE)
        .map_err(failed)?;
    let mut view = page::view(report, linked)?;
    view.values_mut().for_each(show_controls);
    if let Some(linked) = linked {
        view.insert(
            "linked".to_owned(),
            json!({
                "styles": linked.styles,
                "scripts": linked.scripts,
                "series_scripts": linked.series_scripts,
                "links": linked.links,
                "policy": linked.policy,
            }),
        );
    }
    for (name, text) in [
        ("css", CSS),
        ("reader_js", READER_JS),
        ("js", JS),
        ("uplot_js", UPLOT_JS),
        ("uplot_css", UPLOT_CSS),
        ("uplot_version", UPLOT_VERSION),
    ] {
        view.insert(name.to_owned(), text.into());
    }
    let page = environment.get_template("page.html").map_err(failed)?;
    page.render(minijinja::value::Serde(&view)).map_err(failed)
}

/// A section of a page.
pub(crate) fn section(section: &Section<'_>) -> String {
    blocks::print(section)
}

/// JSON inside a script element: no `<` can end the element or open a comment.
pub fn inert_json(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
        // serde_json escapes only those below U+0020.
        .replace(|c: char| ('\u{7f}'..='\u{9f}').contains(&c), "\\ufffd")
}

/// Shows control characters of a run's texts as escapes, so that the page's source steers no terminal.
pub fn show_controls(view: &mut Value) {
    match view {
        Value::String(text) => {
            if let Cow::Owned(shown) = words::printable_lines(text) {
                *text = shown;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(show_controls),
        Value::Object(values) => values.values_mut().for_each(show_controls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_cannot_leave_its_element() {
        let text = super::inert_json(r#"{"a":"</script><!--"}"#);
        assert!(!text.contains('<'));
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"], "</script><!--");
    }
}
