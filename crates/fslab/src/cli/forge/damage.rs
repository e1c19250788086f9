//! Options of `fslab forge damage`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ForgeDamageArgs {
    /// Image to damage, modified in place
    #[arg(required_unless_present = "list")]
    pub(crate) image: Option<PathBuf>,
    /// Apply this case (repeatable); see --list
    #[arg(long, value_name = "NAME", conflicts_with = "random")]
    pub(crate) case: Vec<String>,
    /// Change N random metadata fields
    #[arg(long, value_name = "N")]
    pub(crate) random: Option<u32>,
    /// Seed of the random changes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Do not update checksums after the changes
    #[arg(long)]
    pub(crate) stale_checksums: bool,
    /// List all cases and exit
    #[arg(long, conflicts_with_all = ["case", "random"])]
    pub(crate) list: bool,
}
