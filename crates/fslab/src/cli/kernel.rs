//! Options of `fslab kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DocumentFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// List the kernels that guests can run, and what each can do
    List(KernelListArgs),
    /// Bring a kernel of Debian into the cache; the machine's own packages stay as they are
    Fetch(KernelFetchArgs),
    /// Copy a kernel that you built into the cache
    Add(KernelAddArgs),
    /// Boot kernels once and report which run on this machine; the answers are kept
    Probe(KernelProbeArgs),
}

/// Where kernels are kept.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// The cache of kernels [default: $FSLAB_CACHE, $XDG_CACHE_HOME/fslab, or ~/.cache/fslab]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

/// Where kernels come from.
#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    /// A mirror of Debian, with dists/ below it [default: the one this machine's apt uses]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
    /// Look into this suite, as in sid (repeatable) [default: those that have the series]
    #[arg(long = "suite", value_name = "NAME")]
    pub(crate) suites: Vec<String>,
    /// The keys that sign the archive [default: those the machine's sources name, or Debian's]
    #[arg(long, value_name = "FILE")]
    pub(crate) keyring: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KernelListArgs {
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// List what could be fetched instead
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
    /// What to call it
    pub(crate) name: String,
    /// A vmlinux, a bzImage, or User-mode Linux's linux
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: PathBuf,
    /// Its modules: lib/modules/RELEASE, or a build tree
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
    /// Its configuration [default: the one in the image, where CONFIG_IKCONFIG put it]
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
    /// Boot also what has an answer already
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}
