//! Kernels by version, in a cache.
//!
//! [`Cache::fetch`] brings a kernel from the distribution's own archive through a private apt
//! folder: the host's package lists, configuration and installed packages are neither read for
//! versions nor changed, and apt checks the signatures. [`Cache::add`] takes a kernel that was built by hand.
//! Either way the cache then holds, below `kernels/NAME/`:
//!
//! ```text
//! kernel.json        what it is and where it came from
//! vmlinux            the ELF image, out of the bzImage (or `linux`, for User-mode Linux)
//! config             the build's configuration, where there is one
//! modules/           modules, decompressed, as kernel/fs/ext4/ext4.ko
//! modules.json       what they are called and what they depend on
//! ```
//!
//! What a kernel can do ([`Kernel::has`]) is not stored: it is derived from the configuration and the
//! modules each time, so that a newer fslab knows more of an old cache.

mod add;
mod apt;
mod cache;
mod capabilities;
mod compression;
mod config;
mod deb;
mod error;
mod fetch;
mod host;
mod image;
mod import;
mod install;
mod installed;
mod kernel_spec;
mod libraries;
mod mirror;
mod modinfo;
mod modules;
mod packages;
mod record;
mod release;
mod suites;

pub use add::Added;
pub use cache::Cache;
pub use capabilities::{CAPABILITIES, Capabilities, Capability, Has};
pub use error::Error;
pub use fetch::{FetchOptions, Fetched};
pub use host::Host;
pub use kernel_spec::KernelSpec;
pub use modules::ModuleFile;
pub use packages::{Offer, newest};
pub use record::{Form, Kernel, Source};
