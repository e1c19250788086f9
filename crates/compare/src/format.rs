//! Formats of a comparison. All begin with the same answer ([`answer`]).

mod answer;
mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
pub mod phrase;
mod text;
mod xml;

pub use answer::{Answer, answer};

use crate::comparison::Compared;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of 78 columns.
    Text,
    /// One JSON document.
    Json,
    /// Markdown.
    Md,
    /// JUnit's XML: a test case for each figure of each cell.
    Junit,
    /// GitLab's Code Quality report: an entry for each figure that fails.
    Gitlab,
    /// Markdown for a GitHub job summary.
    Github,
}

/// Renders a comparison.
pub fn render(compared: &Compared, format: Format) -> String {
    match format {
        Format::Text => text::render(compared),
        Format::Json => json::render(compared),
        Format::Md => markdown::render(compared),
        Format::Junit => junit::render(compared),
        Format::Gitlab => gitlab::render(compared),
        Format::Github => github::render(compared),
    }
}
