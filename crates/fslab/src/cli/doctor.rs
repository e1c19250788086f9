//! Options of `fslab doctor`.

use clap::Args;

use super::DocumentFormat;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}
