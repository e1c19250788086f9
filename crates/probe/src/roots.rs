//! Where the kernel's file systems and the machine's settings are mounted.

use std::path::{Path, PathBuf};

/// Root folders, so that a test can put a made-up tree in the place of the machine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/etc`.
    pub etc: PathBuf,
    /// `/boot`.
    pub boot: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
            etc: PathBuf::from("/etc"),
            boot: PathBuf::from("/boot"),
            dev: PathBuf::from("/dev"),
        }
    }
}

impl Roots {
    /// All five roots as folders of one tree.
    pub fn under(tree: &Path) -> Self {
        Roots {
            proc: tree.join("proc"),
            sys: tree.join("sys"),
            etc: tree.join("etc"),
            boot: tree.join("boot"),
            dev: tree.join("dev"),
        }
    }

    /// The real path of a source as records name it: `/sys/block` becomes `<sys>/block`.
    /// A path outside the five roots is returned as it is.
    pub fn resolve(&self, source: &str) -> PathBuf {
        for (prefix, root) in [
            ("/proc/", &self.proc),
            ("/sys/", &self.sys),
            ("/etc/", &self.etc),
            ("/boot/", &self.boot),
            ("/dev/", &self.dev),
        ] {
            if let Some(rest) = source.strip_prefix(prefix) {
                return root.join(rest);
            }
        }
        PathBuf::from(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_resolve_below_their_root() {
        let roots = Roots::under(Path::new("/fixture"));
        assert_eq!(roots.resolve("/proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(roots.resolve("/sys/block"), Path::new("/fixture/sys/block"));
        assert_eq!(roots.resolve("/run/x"), Path::new("/run/x"));
    }
}
