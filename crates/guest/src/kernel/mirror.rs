//! Where packages come from: the mirrors that this machine's apt already uses.
//!
//! No host is written down here. A machine that fetches its packages from somewhere (a company's
//! mirror, a proxy, a folder) is set up to do so, and kernels come from the same place.

use std::fs;
use std::path::Path;

use super::error::Error;

/// The mirrors of the archive and of its security updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    pub(crate) main: String,
    pub(crate) security: String,
}

impl Mirrors {
    /// From what was named on the command line. Security updates lie beside the archive, as
    /// `debian-security` beside `debian`, and else in the same place.
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
        Ok(Self { main, security })
    }

    /// From the sources below `etc_apt`.
    pub(crate) fn of_machine(etc_apt: &Path) -> Result<Self, Error> {
        let mut files = vec![etc_apt.join("sources.list")];
        if let Ok(folder) = fs::read_dir(etc_apt.join("sources.list.d")) {
            files.extend(folder.flatten().map(|entry| entry.path()));
        }
        files.sort();
        let mut sources = Vec::new();
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            match file.extension().and_then(|end| end.to_str()) {
                Some("list") => sources.extend(one_line(&text)),
                Some("sources") => sources.extend(stanzas(&text)),
                _ => {}
            }
        }
        let of_debian = |source: &&Source| is_debian(&source.url, "debian");
        let main = sources.iter().find(of_debian).ok_or(Error::NoMirror)?;
        let mirrors = Self::named(&main.url)?;
        let security = sources
            .iter()
            .find(|source| is_debian(&source.url, "debian-security"));
        Ok(match security {
            Some(security) => Self {
                security: security.url.trim_end_matches('/').to_owned(),
                ..mirrors
            },
            None => mirrors,
        })
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

struct Source {
    url: String,
}

/// Mirrors keep the archive's last name, whatever they are called.
fn is_debian(url: &str, name: &str) -> bool {
    url.trim_end_matches('/').rsplit('/').next() == Some(name)
}

/// `deb [options] URL SUITE COMPONENT..` (sources.list(5), one-line style).
fn one_line(text: &str) -> Vec<Source> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim().strip_prefix("deb ")?.trim_start();
            let line = match line.strip_prefix('[') {
                Some(options) => options.split_once(']')?.1,
                None => line,
            };
            let url = line.split_whitespace().next()?;
            Some(Source {
                url: url.to_owned(),
            })
        })
        .collect()
}

/// `Types:`, `URIs:` and so on (sources.list(5), deb822 style).
fn stanzas(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for stanza in text.split("\n\n") {
        let field = |name: &str| {
            stanza
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        let deb = field("Types").is_some_and(|types| types.split(' ').any(|t| t == "deb"));
        let enabled = field("Enabled").is_none_or(|value| value != "no");
        if deb && enabled {
            let urls = field("URIs").unwrap_or_default().split_whitespace();
            sources.extend(urls.map(|url| Source {
                url: url.to_owned(),
            }));
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> Result<Mirrors, Error> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        Mirrors::of_machine(dir.path())
    }

    #[test]
    fn both_styles_of_sources_are_read() {
        let want = Mirrors {
            main: "http://mirror.example/debian".into(),
            security: "https://other.example/x/debian-security".into(),
        };
        let lines = "# deb http://no.example/debian x main\n\
                     deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ bookworm main\n\
                     deb https://other.example/x/debian-security bookworm-security main\n";
        assert_eq!(machine(&[("sources.list", lines)]).unwrap(), want);
        let stanza = "Types: deb deb-src\nURIs: http://mirror.example/debian\nSuites: bookworm\n\n\
                      Types: deb\nURIs: https://other.example/x/debian-security\nSuites: y\n";
        let vendor = "deb https://vendor.example/apt stable main\n";
        let files = [
            ("sources.list.d/debian.sources", stanza),
            ("sources.list.d/a.list", vendor),
        ];
        assert_eq!(machine(&files).unwrap(), want);
    }

    #[test]
    fn a_machine_without_debian_says_so() {
        let error = machine(&[("sources.list", "deb http://x.example/ubuntu noble main\n")]);
        assert!(error.unwrap_err().to_string().contains("--mirror URL"));
        let off = "Types: deb\nURIs: http://m.example/debian\nEnabled: no\n";
        machine(&[("sources.list.d/d.sources", off)]).unwrap_err();
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
