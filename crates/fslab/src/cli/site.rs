//! `fslab site` and `fslab serve` on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// What the pages are about.
#[derive(Debug, Args)]
pub(crate) struct PagesArgs {
    /// Where the runs are: a folder of runs, or a store (an SQLite file, or postgresql:///DATABASE?host=FOLDER)
    #[arg(long, value_name = "DIR|STORE", default_value = record::folder::RUNS)]
    pub(crate) from: String,
    /// Also compare two sides, each as `fslab compare` takes it (repeatable)
    #[arg(long, num_args = 2, value_names = ["SIDE", "SIDE"])]
    pub(crate) compare: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SiteArgs {
    /// Folder of the site: not there yet, empty, or a site, in which only what changed is made again
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) pages: PagesArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) pages: PagesArgs,
    /// Address and port; port 0 takes a free one. An address that others can reach needs --token-file
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4480")]
    pub(crate) listen: SocketAddr,
    /// Another name of this server, as in the address line of a browser (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// File with a token that clients must know; only its owner may read it
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}
