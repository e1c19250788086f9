//! Where a store is: a file, or a database of a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Error;

/// The file of the store that is not named, in the folder of the runs.
const FILE: &str = "store.sqlite";

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database: the URL as libpq reads it.
    Server(String),
}

impl Location {
    /// The store that is not named: `fslab-runs/store.sqlite` in the working directory.
    pub fn usual() -> Location {
        Location::File(Path::new(record::folder::RUNS).join(FILE))
    }

    /// The file; none of a server's database.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Location::File(path) => Some(path),
            Location::Server(_) => None,
        }
    }
}

/// `postgresql://...`, `sqlite:PATH` or a path.
impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Location, Error> {
        let wrong = |why: &str| Error::Url {
            url: without_password(text),
            why: why.to_owned(),
        };
        if text.starts_with("postgresql://") || text.starts_with("postgres://") {
            return Ok(Location::Server(text.to_owned()));
        }
        let path = match text.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(wrong(&format!(
                    "{scheme} is no store; a store is a path, sqlite:PATH or postgresql:///DATABASE?host=FOLDER"
                )));
            }
            _ => text,
        };
        if path.is_empty() {
            return Err(wrong(
                "it names no file; name one, as in sqlite:runs.sqlite",
            ));
        }
        Ok(Location::File(path.into()))
    }
}

/// A password is never printed.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(f),
            Location::Server(url) => f.write_str(&without_password(url)),
        }
    }
}

fn without_password(url: &str) -> String {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let mut plain = url.to_owned();
    if let Some((scheme, rest)) = url.split_once("://") {
        let end = rest.find('/').unwrap_or(rest.len());
        if let Some((user, host)) = rest[..end].rsplit_once('@') {
            let user = user.split(':').next().unwrap_or(user);
            plain = format!("{scheme}://{user}@{host}{}", &rest[end..]);
        }
    }
    let kept: Vec<&str> = query
        .split('&')
        .filter(|part| !part.is_empty() && !part.starts_with("password="))
        .collect();
    if !kept.is_empty() {
        plain.push('?');
        plain.push_str(&kept.join("&"));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_path_or_a_url() {
        let of = |text: &str| text.parse::<Location>().map_err(|e| e.to_string());
        let file = |path: &str| Ok(Location::File(path.into()));
        assert_eq!(of("a/b.sqlite"), file("a/b.sqlite"));
        assert_eq!(of("sqlite:b"), file("b"));
        assert_eq!(of("sqlite:///tmp/b"), file("/tmp/b"));
        assert_eq!(of("a:b"), file("a:b"));
        let url = "postgresql:///db?host=/run/pg";
        assert_eq!(of(url), Ok(Location::Server(url.into())));
        let message = of("mysql://x/y").unwrap_err();
        assert!(message.contains("mysql is no store"), "{message}");
        for empty in ["", "sqlite:", "sqlite://"] {
            of(empty).unwrap_err();
        }
    }

    #[test]
    fn no_password_is_printed() {
        for url in [
            "postgresql://fslab:secret@db.example/lab?sslmode=disable",
            "postgresql://fslab@db.example/lab?sslmode=disable&password=secret",
        ] {
            let shown = Location::Server(url.into()).to_string();
            assert_eq!(shown, "postgresql://fslab@db.example/lab?sslmode=disable");
        }
        let plain = "postgresql:///db?host=/run/pg";
        assert_eq!(Location::Server(plain.into()).to_string(), plain);
    }
}
