//! Options of `fslab forge damage`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ForgeDamageArgs {
    /// The image, written in place
    #[arg(required_unless_present = "list")]
    pub(crate) image: Option<PathBuf>,
    /// Make this case (repeatable); `--list` prints them
    #[arg(long, value_name = "NAME", conflicts_with = "random")]
    pub(crate) case: Vec<String>,
    /// Change so many fields of metadata at random
    #[arg(long, value_name = "N")]
    pub(crate) random: Option<u32>,
    /// Seed of the random changes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Leave checksums as they are, instead of making them fit what is changed
    #[arg(long)]
    pub(crate) stale_checksums: bool,
    /// Print all cases, and touch nothing
    #[arg(long, conflicts_with_all = ["case", "random"])]
    pub(crate) list: bool,
}
