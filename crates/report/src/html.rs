//! One self-contained page: nothing is fetched, and everything but the time series works without
//! JavaScript.
//!
//! All text of a run (its name, levels, messages of failed trials) comes from outside and is
//! escaped: by minijinja in the template, by [`words::escape_xml`] in blocks and drawings, and by the script, which
//! sets text only as text. A content security policy forbids every request.

mod blocks;
mod growth_plot;
mod names;
mod page;
mod plot;
mod telemetry;

use minijinja::Environment;

use crate::Report;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("../templates/page.html");
const CSS: &str = concat!(
    include_str!("../assets/page.css"),
    include_str!("../assets/growth.css"),
    include_str!("../assets/scan.css")
);
const JS: &str = include_str!("../assets/page.js");
const UPLOT_JS: &str = include_str!("../vendor/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../vendor/uplot/uPlot.min.css");
const UPLOT_VERSION: &str = "1.6.32";

/// The report as a page.
pub(crate) fn print(report: &Report<'_>) -> Result<String> {
    let failed = |source| Error::Template {
        name: "page.html",
        source,
    };
    let mut environment = Environment::new();
    environment
        .add_template("page.html", PAGE)
        .map_err(failed)?;
    let mut view = page::view(report)?;
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
