//! Options of `fslab kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DocumentFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// List the kernels that guests can run, and their capabilities
    List(KernelListArgs),
    /// Download a Debian kernel into the cache; no package of this machine is changed
    Fetch(KernelFetchArgs),
    /// Copy a kernel that you built into the cache
    Add(KernelAddArgs),
    /// Boot kernels once and report which run on this machine; the answers are kept
    Probe(KernelProbeArgs),
}

/// Where kernels are kept.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Cache of kernels [default: $FSLAB_CACHE, $XDG_CACHE_HOME/fslab, or ~/.cache/fslab]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

/// Where kernels come from.
#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    /// URL of a Debian mirror, the folder that has dists/ [default: the one this machine's apt uses]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
    /// Search this suite, as in sid (repeatable) [default: those that have the series]
    #[arg(long = "suite", value_name = "NAME")]
    pub(crate) suites: Vec<String>,
    /// Keyring to verify the archive with [default: the one in this machine's sources, or Debian's]
    #[arg(long, value_name = "FILE")]
    pub(crate) keyring: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KernelListArgs {
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// List the kernels that can be fetched
    #[arg(long)]
    pub(crate) available: bool,
    #[command(flatten)]
    pub(crate) mirror: MirrorArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct KernelFetchArgs {
    /// A series (6.1, 6.12-cloud, 7.x), a version (6.1.0-56-amd64), or uml for User-mode Linux
    #[arg(required = true, value_name = "VERSION")]
    pub(crate) versions: Vec<String>,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    #[command(flatten)]
    pub(crate) mirror: MirrorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KernelAddArgs {
    /// Name in the cache
    pub(crate) name: String,
    /// A vmlinux, a bzImage, or User-mode Linux's linux
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: PathBuf,
    /// Modules: lib/modules/RELEASE, or a build tree
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
    /// Configuration [default: the one in the image, if built with CONFIG_IKCONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KernelProbeArgs {
    /// A name of `fslab kernel list`, a series (6.1), uml or qemu for all of that kind [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Also boot kernels that have an answer already
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}
