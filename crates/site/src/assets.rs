//! Style sheets and scripts of the site. Their names have a hash of their content, so that a page of an older build keeps its own
//! and a browser may keep them for ever.

use std::sync::OnceLock;

use crate::hash::Hash;

/// A style sheet or a script.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asset {
    /// Its file name: `page-0123456789abcdef.css`.
    pub name: String,
    /// Its media type.
    pub media: &'static str,
    /// Its content.
    pub body: &'static str,
}

/// Which asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Styles of all pages.
    PageCss,
    /// Styles of uPlot.
    UplotCss,
    /// Copies and saves tables.
    ReaderJs,
    /// The filter above a list.
    FilterJs,
    /// Progress of a run.
    #[cfg(feature = "serve")]
    LiveJs,
    /// uPlot.
    UplotJs,
    /// Time series of a report.
    SeriesJs,
}

/// Styles of the site's own pages.
const SITE_CSS: &str = include_str!("../assets/site.css");

/// Styles of all pages.
fn page_css() -> &'static str {
    static CSS: OnceLock<String> = OnceLock::new();
    CSS.get_or_init(|| format!("{}\n{SITE_CSS}", report::assets::CSS))
}

/// Styles for a page that has them in itself.
pub(crate) fn inline_css() -> &'static str {
    page_css()
}

const KINDS: &[Kind] = &[
    Kind::PageCss,
    Kind::UplotCss,
    Kind::ReaderJs,
    Kind::FilterJs,
    #[cfg(feature = "serve")]
    Kind::LiveJs,
    Kind::UplotJs,
    Kind::SeriesJs,
];

fn made(kind: Kind) -> Asset {
    const STYLE: &str = "text/css; charset=utf-8";
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    let (stem, end, media, body) = match kind {
        Kind::PageCss => ("page", "css", STYLE, page_css()),
        Kind::UplotCss => ("uplot", "css", STYLE, report::assets::UPLOT_CSS),
        Kind::ReaderJs => ("reader", "js", SCRIPT, report::assets::READER_JS),
        Kind::FilterJs => ("filter", "js", SCRIPT, include_str!("../assets/filter.js")),
        #[cfg(feature = "serve")]
        Kind::LiveJs => ("live", "js", SCRIPT, include_str!("../assets/live.js")),
        Kind::UplotJs => ("uplot", "js", SCRIPT, report::assets::UPLOT_JS),
        Kind::SeriesJs => ("series", "js", SCRIPT, report::assets::SERIES_JS),
    };
    Asset {
        name: format!("{stem}-{}.{end}", Hash::of(body)),
        media,
        body,
    }
}

/// All of them.
pub(crate) fn all() -> &'static [Asset] {
    static ALL: OnceLock<Vec<Asset>> = OnceLock::new();
    ALL.get_or_init(|| KINDS.iter().map(|kind| made(*kind)).collect())
}

/// Those that a folder of static pages needs: all but what only a server's pages have.
pub(crate) fn of_folder() -> impl Iterator<Item = &'static Asset> {
    all()
        .iter()
        .filter(|asset| !asset.name.starts_with("live-"))
}

/// One of them.
pub(crate) fn asset(kind: Kind) -> &'static Asset {
    let at = KINDS.iter().position(|known| *known == kind).unwrap_or(0);
    &all()[at]
}

/// The one of that file name.
pub(crate) fn named(name: &str) -> Option<&'static Asset> {
    all().iter().find(|asset| asset.name == name)
}
