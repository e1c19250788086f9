//! Pages of many runs for a browser: a folder of static pages ([`build()`]), or the same pages from a read-only server
//! (`serve`, feature `serve`).
//!
//! A site has a list of runs, the report of each, their contexts, the history of each study with nominated steps, and
//! comparisons. Both ways of showing it share everything: [`library`] reads the runs, [`units`] makes the pages of one run, one
//! study or one comparison, and a page has one address ([`address`]) that is its path in the folder and in the URL. So a
//! folder that was built and a server cannot differ, and links are relative and work from `file://`, below any URL and from
//! the server.
//!
//! Four rules:
//!
//! - **Nothing of a run is trusted.** A log may come from anyone. No name of a run, study or tag is ever part of a path: files are
//!   named by hashes. All text is escaped by the templates, control characters are shown as escapes, and a content security
//!   policy allows only the site's own scripts and styles, no inline ones.
//! - **Pages need no network and no script.** Lists can be filtered without a script, through pages for each study, kernel,
//!   machine and tag. Charts are SVG made here.
//! - **Only what changed is made again.** A unit has the stamps of all that it is made of; the manifest keeps them
//!   ([`manifest`]).
//! - **A build that is killed leaves a whole site.** Files are replaced by renaming; pages come before the lists that link to
//!   them, and what is no longer linked is removed last ([`publish`]).
//!
//! Rejected: a new folder swapped in whole by renameat2 (not on every filesystem, not for a mount point, and the folder of a web
//! server is often one), data fetched as JSON (a browser refuses that from `file://`), a framework in the browser.
//!
//! A writer's lock is never taken, not even for a moment: whether a run is being written is read from `/proc/locks`.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

pub mod address;
mod assets;
mod chart;
mod error;
mod facts;
mod groups;
pub mod hash;
mod library;
mod manifest;
mod pages;
mod publish;
mod render;
#[cfg(feature = "serve")]
pub mod serve;
mod units;
mod writer;

pub use error::Error;
pub use library::{Opener, Origin};
pub use publish::{Build, Built, build};

use ::compare::Compared;

/// The page of a comparison, self-contained: nothing is fetched.
///
/// # Errors
/// A defect in a template.
pub fn comparison_page(compared: &Compared, tool: &str) -> Result<String, Error> {
    pages::comparison::alone(&render::Renderer::new(tool)?, compared)
}
