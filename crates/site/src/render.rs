//! Templates, and what every page has: styles, scripts, policy, links to the lists.

use std::os::unix::fs::MetadataExt;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use report::Linked;
use serde_json::{Value, json};

use crate::address::Address;
use crate::assets::{self, Kind};
use crate::error::Error;
use crate::hash::Hash;

/// What a page may load: the site's own files and nothing else. No inline script or style is run.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// The same for a page that is alone: nothing at all is loaded.
const POLICY_ALONE: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const TEMPLATES: &[(&str, &str)] = &[
    ("base.html", include_str!("../templates/base.html")),
    ("runs.html", include_str!("../templates/runs.html")),
    ("failed.html", include_str!("../templates/failed.html")),
    ("context.html", include_str!("../templates/context.html")),
    ("studies.html", include_str!("../templates/studies.html")),
    ("study.html", include_str!("../templates/study.html")),
    ("series.html", include_str!("../templates/series.html")),
    (
        "comparisons.html",
        include_str!("../templates/comparisons.html"),
    ),
    (
        "comparison.html",
        include_str!("../templates/comparison.html"),
    ),
    ("live.html", include_str!("../templates/live.html")),
];

/// Bytes of time series in a report of a folder of static pages. All trials are drawn; the more there are, the fewer points each
/// has.
const SERIES_BYTES: usize = 32 << 10;
/// Bytes of the sections of a report there, above which it leaves out what is elsewhere. 1,000 runs are to stay below 200 MB.
const CONTENT_BYTES: usize = 128 << 10;

/// Makes pages.
#[derive(Debug)]
pub(crate) struct Renderer {
    environment: Environment<'static>,
    tool: String,
    /// Differs between builds of fslab whose pages may differ.
    pub version: String,
    /// Whether a server shows the pages, so that there are pages of progress.
    pub serving: bool,
}

impl Renderer {
    /// For this fslab (`fslab 0.1.0 (0123456789ab)`).
    ///
    /// # Errors
    /// A defect in a template.
    pub(crate) fn new(tool: &str) -> Result<Renderer, Error> {
        let mut environment = Environment::new();
        // As in blocks of reports. minijinja's own writes every slash of a link as a character reference.
        environment.set_formatter(|out, state, value| {
            match (state.auto_escape(), value.as_str()) {
                (AutoEscape::Html, Some(text)) if !value.is_safe() => {
                    Ok(out.write_str(&words::escape_xml(text))?)
                }
                _ => minijinja::escape_formatter(out, state, value),
            }
        });
        for (name, text) in TEMPLATES {
            environment
                .add_template(name, text)
                .map_err(|source| template(name, source))?;
        }
        // A version names a commit, and builds from changed sources have the same.
        let program = std::env::current_exe().and_then(|path| path.metadata());
        let program = program.map_or(String::new(), |found| {
            format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec())
        });
        Ok(Renderer {
            environment,
            tool: tool.to_owned(),
            version: Hash::of(&format!("{tool}\n{program}")).to_string(),
            serving: false,
        })
    }

    /// The same for a server.
    #[cfg(feature = "serve")]
    pub(crate) fn serving(mut self) -> Renderer {
        self.serving = true;
        self
    }

    /// A page of the site.
    ///
    /// # Errors
    /// A defect in a template.
    pub(crate) fn page(
        &self,
        name: &str,
        address: &Address,
        title: &str,
        view: Value,
    ) -> Result<String, Error> {
        let root = address.root();
        let file = |kind| format!("{root}{}", Address::Asset(assets::asset(kind)).path());
        let part = match address {
            Address::Studies | Address::Study(_) | Address::Series(..) => "series",
            Address::Comparisons | Address::Comparison(_) => "compare",
            _ => "runs",
        };
        let frame = json!({
            "root": root,
            "part": part,
            "policy": POLICY,
            "style": file(Kind::PageCss),
            "reader": file(Kind::ReaderJs),
            "filter": file(Kind::FilterJs),
            "serving": self.serving,
        });
        self.framed(name, frame, title, view)
    }

    /// A page that is alone: styles and scripts are in it.
    ///
    /// # Errors
    /// A defect in a template.
    pub(crate) fn alone(&self, name: &str, title: &str, view: Value) -> Result<String, Error> {
        let frame = json!({ "alone": true, "policy": POLICY_ALONE });
        self.framed(name, frame, title, view)
    }

    fn framed(&self, name: &str, frame: Value, title: &str, view: Value) -> Result<String, Error> {
        let mut all = frame;
        if let (Some(all), Value::Object(view)) = (all.as_object_mut(), view) {
            all.extend(view);
            all.insert("title".to_owned(), title.into());
            all.insert("tool".to_owned(), self.tool.as_str().into());
        }
        report::show_controls(&mut all);
        if let Some(all) = all.as_object_mut() {
            all.insert("css".to_owned(), assets::inline_css().into());
            all.insert("js".to_owned(), report::assets::READER_JS.into());
        }
        let page = self
            .environment
            .get_template(name)
            .map_err(|source| template(name, source))?;
        page.render(Serde(&all))
            .map_err(|source| template(name, source))
    }

    /// The same for the page of a report, whose template is the report's own. `links`: more links above its heading.
    pub(crate) fn report(&self, address: &Address, links: Vec<(String, String)>) -> Linked {
        let root = address.root();
        let file = |kind| format!("{root}{}", Address::Asset(assets::asset(kind)).path());
        let link = |to: Address, text: &str| (format!("{root}{}", to.path()), text.to_owned());
        let mut all = vec![
            link(Address::Runs, "Runs"),
            link(Address::Studies, "Series"),
            link(Address::Comparisons, "Comparisons"),
        ];
        all.extend(links);
        let most = |bytes| if self.serving { usize::MAX } else { bytes };
        Linked {
            styles: [Kind::UplotCss, Kind::PageCss].map(file).into(),
            scripts: vec![file(Kind::ReaderJs)],
            series_scripts: [Kind::UplotJs, Kind::SeriesJs].map(file).into(),
            links: all,
            policy: POLICY.to_owned(),
            series_bytes: most(SERIES_BYTES),
            content_bytes: most(CONTENT_BYTES),
        }
    }
}

fn template(name: &str, source: minijinja::Error) -> Error {
    Error::Template {
        name: name.to_owned(),
        source,
    }
}

/// `2026-11-23 22:54`, UTC.
pub(crate) fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
