//! Kernels by version, in a cache.
//!
//! [`Cache::fetch`] brings a kernel from the distribution's own archive through a private apt
//! folder: the host's package lists, configuration and installed packages are neither read for
//! versions nor changed, and apt checks the signatures. [`Cache::add`] takes a kernel that somebody built.
//! Either way the cache then holds, below `kernels/NAME/`:
//!
//! ```text
//! kernel.json        what it is and what it can do (Kernel)
//! vmlinux            the ELF image, out of the bzImage (or `linux`, for User-mode Linux)
//! config             the build's configuration, where there is one
//! modules/           modules, decompressed, as kernel/fs/ext4/ext4.ko
//! modules.json       what they are called and what they depend on (Modules)
//! ```
//!
//! What stands above uses this much of it:
//!
//! ```text
//! Cache::open(root: Option<&Path>) -> Result<Cache, Error>          // None: $XDG_CACHE_HOME/fslab or ~/.cache/fslab
//! Cache::root(&self) -> &Path
//! Cache::kernels(&self) -> Result<Vec<Kernel>, Error>               // newest last
//! Cache::kernel(&self, name: &str) -> Result<Kernel, Error>         // "6.1.0-56-amd64", or a series: "6.1", "6.12-cloud", "uml"
//! Cache::fetch(&self, wanted: &Wanted, &FetchOptions, say: &mut dyn FnMut(&str)) -> Result<Fetched, Error>
//! Cache::add(&self, name: &str, &Added, say) -> Result<Kernel, Error>
//!
//! Kernel { name, release, form: Form::{Vmlinux,Uml}, source, image: PathBuf (absolute), config: Option<PathBuf>,
//!          capabilities: Capabilities, bytes, .. }
//! Kernel::version(&self) -> [u32; 3]                                // 6.1.176, as far as the release says it
//! Kernel::has(&self, capability: &str) -> bool                      // "ext4", "ocfs2", "raid5", "dm-delay", "null_blk", "blktrace", ..
//! Kernel::modules_for(&self, capabilities: &[&str]) -> Result<Vec<String>, Error>   // modules to load for them; built-in ones need none
//! Kernel::load_order(&self, modules: &[&str]) -> Result<Vec<ModuleFile>, Error>     // dependencies first, soft ones too
//! ModuleFile { name: String, path: PathBuf }                        // decompressed, on the host
//! ```

mod add;
mod apt;
mod cache;
mod capabilities;
mod collect;
mod compression;
mod config;
mod deb;
mod error;
mod fetch;
mod host;
mod image;
mod keep;
mod mirror;
mod modinfo;
mod modules;
mod packages;
mod record;
mod suites;
mod wanted;

pub use add::Added;
pub use cache::Cache;
pub use capabilities::{CAPABILITIES, Capabilities, Capability, Has};
pub use error::Error;
pub use fetch::{FetchOptions, Fetched};
pub use host::Host;
pub use modules::ModuleFile;
pub use packages::{Offer, newest};
pub use record::{Form, Kernel, Source};
pub use wanted::Wanted;
