//! Where packages come from: the mirrors that this machine's apt already uses.
//!
//! No host is written down here. A machine that fetches its packages from somewhere (a company's
//! mirror, a proxy, a folder) is set up to do so, and kernels come from the same place. apt is asked
//! for its sources: it reads its own files in all the forms they may have.

use std::path::PathBuf;

use super::error::Error;

/// The mirrors of the archive and of its security updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    pub(crate) main: String,
    pub(crate) security: String,
    /// The keys that the machine's sources name for it.
    pub(crate) signed_by: Option<PathBuf>,
}

impl Mirrors {
    /// From what was named on the command line. Security updates are next to the archive, as
    /// `debian-security` next to `debian`, or else in the same place.
    pub(crate) fn named(url: &str) -> Result<Self, Error> {
        let known = ["http:", "https:", "file:", "mirror+file:"];
        let plain = |c: char| c.is_ascii_graphic() && !"[]#\"".contains(c);
        if !known.iter().any(|scheme| url.starts_with(scheme)) || !url.chars().all(plain) {
            return Err(Error::BadMirror {
                text: url.to_owned(),
            });
        }
        let main = url.trim_end_matches('/').to_owned();
        let security = match main.strip_suffix("/debian") {
            Some(above) => format!("{above}/debian-security"),
            None => main.clone(),
        };
        Ok(Self {
            main,
            security,
            signed_by: None,
        })
    }

    /// From the targets of the machine's sources, `URL|KEYRING` a line, as apt-get(8) indextargets prints
    /// them.
    pub(crate) fn of_targets(targets: &str) -> Result<Self, Error> {
        let sources = || {
            targets
                .lines()
                .map(|line| line.split_once('|').unwrap_or((line, "")))
        };
        let first = |name: &str| sources().find(|(url, _)| is_debian(url, name));
        let (main, keys) = first("debian").ok_or(Error::NoMirror)?;
        // Where none is named, apt prints the placeholder itself; it may also be an embedded key.
        let signed_by = Some(PathBuf::from(keys)).filter(|keys| keys.is_absolute());
        let mirrors = Self {
            signed_by,
            ..Self::named(main)?
        };
        Ok(match first("debian-security") {
            Some((url, _)) => Self {
                security: Self::named(url)?.main,
                ..mirrors
            },
            None => mirrors,
        })
    }

    /// A line of apt's configuration: it fetches as a user without rights, who cannot read a person's own
    /// folders. A mirror that is a folder is read with the caller's rights.
    pub(crate) fn sandbox(&self) -> &'static str {
        if self.main.starts_with("file:") {
            "APT::Sandbox::User \"root\";\n"
        } else {
            ""
        }
    }

    /// The mirror that has a suite.
    pub(crate) fn of_suite(&self, suite: &str) -> &str {
        if suite.ends_with("-security") {
            &self.security
        } else {
            &self.main
        }
    }
}

/// Mirrors keep the archive's last name, whatever they are called; so do lists of mirrors, which cloud
/// images have (`mirror+file:/etc/apt/mirrors/debian.list`).
fn is_debian(url: &str, name: &str) -> bool {
    let last = url.trim_end_matches('/').rsplit('/').next();
    last.is_some_and(|last| last.strip_suffix(".list").unwrap_or(last) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mirror_of_each_is_taken() {
        let targets = "https://vendor.example/apt/|/usr/share/keyrings/vendor.gpg\n\
                       http://mirror.example/debian/|/k.gpg\n\
                       http://second.example/debian/|/l.gpg\n\
                       https://other.example/x/debian-security/|$(SIGNED_BY)\n";
        let want = Mirrors {
            main: "http://mirror.example/debian".into(),
            security: "https://other.example/x/debian-security".into(),
            signed_by: Some("/k.gpg".into()),
        };
        assert_eq!(Mirrors::of_targets(targets).unwrap(), want);
        let cloud = "mirror+file:/etc/apt/mirrors/debian.list/|$(SIGNED_BY)\n\
                     mirror+file:/etc/apt/mirrors/debian-security.list/|$(SIGNED_BY)\n";
        let found = Mirrors::of_targets(cloud).unwrap();
        assert_eq!(
            found.of_suite("sid"),
            "mirror+file:/etc/apt/mirrors/debian.list"
        );
        assert_eq!(
            found.of_suite("sid-security"),
            "mirror+file:/etc/apt/mirrors/debian-security.list"
        );
        assert_eq!(found.signed_by, None);
    }

    #[test]
    fn a_machine_without_debian_says_so() {
        for targets in [
            "",
            "http://x.example/ubuntu/|\n",
            "http://x.example/debian-security/|\n",
        ] {
            let error = Mirrors::of_targets(targets).unwrap_err();
            assert!(error.to_string().contains("--mirror URL"), "{error}");
        }
    }

    #[test]
    fn a_named_mirror_has_its_security_updates_beside_it() {
        let mirrors = Mirrors::named("file:/srv/debian/").unwrap();
        assert_eq!(mirrors.of_suite("bookworm"), "file:/srv/debian");
        assert_eq!(
            mirrors.of_suite("bookworm-security"),
            "file:/srv/debian-security"
        );
        let flat = Mirrors::named("http://m.example/all").unwrap();
        assert_eq!(flat.security, "http://m.example/all");
        for bad in [
            "",
            "/srv/debian",
            "ftp://x",
            "http://x/ trusted=yes",
            "http://x\ny",
        ] {
            Mirrors::named(bad).unwrap_err();
        }
    }
}
