//! One self-contained page: nothing is fetched, and everything but the time series works without
//! JavaScript.
//!
//! All text of a run (its name, levels, messages of failed trials) comes from outside and is
//! escaped: by minijinja in the template, by [`plot::escape`] in drawings, and by the script, which
//! sets text only as text. A content security policy forbids every request.

mod crash;
mod grid;
mod grid_plot;
mod growth;
mod growth_plot;
mod io;
mod members;
mod names;
mod plot;
mod scan;
mod telemetry;
mod view;

use minijinja::Environment;

use crate::error::{Error, Result};
use crate::{Format, Report};

const PAGE: &str = include_str!("../../templates/page.html");
const GROWTH: &str = include_str!("../../templates/growth.html");
const CRASH: &str = include_str!("../../templates/crash.html");
const MEMBERS: &str = include_str!("../../templates/members.html");
const SCAN: &str = include_str!("../../templates/scan.html");
const IO: &str = include_str!("../../templates/io.html");
const CSS: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/growth.css"),
    include_str!("../../assets/scan.css")
);
const JS: &str = include_str!("../../assets/page.js");
const UPLOT_JS: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../../vendor/uplot/uPlot.min.css");
const UPLOT_VERSION: &str = "1.6.32";

/// The HTML format.
#[derive(Clone, Copy, Debug)]
pub struct Html;

impl Format for Html {
    fn render(&self, report: &Report<'_>) -> Result<String> {
        let failed = |source| Error::Template {
            name: "page.html",
            source,
        };
        let mut environment = Environment::new();
        environment
            .add_template("page.html", PAGE)
            .map_err(failed)?;
        for (name, text) in [
            ("growth.html", GROWTH),
            ("io.html", IO),
            ("scan.html", SCAN),
            ("crash.html", CRASH),
            ("members.html", MEMBERS),
        ] {
            environment.add_template(name, text).map_err(failed)?;
        }
        let mut view = view::page(report)?;
        for (name, text) in [
            ("css", CSS),
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
}

/// JSON inside a script element: no `<` can end the element or open a comment.
fn inert_json(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
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
