//! A Debian package as the two archives it is: an ar with a tar inside (deb(5)).
//!
//! Read here and not with dpkg-deb, so that a machine needs no more than apt to fetch, and
//! a cache can be filled from packages that were carried in by hand.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::compression::Compression;
use super::error::{Doing as _, Error};

const MAGIC: &[u8; 8] = b"!<arch>\n";
const HEADER: usize = 60;
/// Most bytes that are read of a package's files: all modules of a kernel have less than 1 GB.
const LARGEST: u64 = 4 << 30;

/// One regular file of a package.
pub(crate) struct Entry<'a> {
    /// Its path without a leading `./` or `/`.
    pub(crate) path: PathBuf,
    /// Its contents.
    pub(crate) contents: &'a mut dyn Read,
}

/// Calls `each` for every regular file of a package, in the archive's order. Links, folders and
/// everything else are skipped; a path with `..` in it makes the package a broken one.
pub(crate) fn files(
    path: &Path,
    mut each: impl FnMut(Entry<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let broken = |why: String| Error::Package {
        path: path.to_owned(),
        why,
    };
    let data = data(path)?;
    let mut archive = tar::Archive::new(data);
    let entries = archive.entries().map_err(|e| broken(e.to_string()))?;
    for entry in entries {
        let mut entry =
            entry.map_err(|e| broken(format!("its data end early or are damaged: {e}")))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().map_err(|e| broken(e.to_string()))?;
        let Some(name) = plain(&name) else {
            return Err(broken(format!("it holds the path {}", name.display())));
        };
        each(Entry {
            path: name,
            contents: &mut entry,
        })?;
    }
    Ok(())
}

/// A relative path of plain names, or none.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// The tar stream of `data.tar*`.
fn data(path: &Path) -> Result<Box<dyn Read>, Error> {
    let broken = |why: String| Error::Package {
        path: path.to_owned(),
        why,
    };
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).doing("open", path)?);
    let mut magic = [0; 8];
    file.read_exact(&mut magic)
        .map_err(|e| broken(format!("too short: {e}")))?;
    if &magic != MAGIC {
        return Err(broken("it does not begin as an ar archive".into()));
    }
    loop {
        let Some((name, size)) = member(&mut file).map_err(|e| broken(e.to_string()))? else {
            return Err(broken("it holds no data.tar".into()));
        };
        if name.starts_with("data.tar") {
            let inner = file.take(size);
            let data = Compression::of_name(&name).reader(inner);
            let data = data.map_err(|e| broken(format!("{name}: {e}")))?;
            return Ok(Box::new(data.take(LARGEST)));
        }
        // Members begin at even offsets.
        file.seek(SeekFrom::Current(size.next_multiple_of(2) as i64))
            .map_err(|e| broken(e.to_string()))?;
    }
}

/// Name and bytes of the next member, or none at the end.
fn member(file: &mut impl Read) -> io::Result<Option<(String, u64)>> {
    let bad = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut header = [0; HEADER];
    let mut got = 0;
    while got < HEADER {
        match file.read(&mut header[got..])? {
            0 if got == 0 => return Ok(None),
            0 => return Err(bad("a member's header is cut off")),
            n => got += n,
        }
    }
    if &header[58..] != b"`\n" {
        return Err(bad("a member's header does not end as one"));
    }
    let text = |range: std::ops::Range<usize>| {
        String::from_utf8_lossy(&header[range])
            .trim_end()
            .to_owned()
    };
    let size: u64 = text(48..58)
        .parse()
        .map_err(|_| bad("a member's size is no number"))?;
    Ok(Some((text(0..16).trim_end_matches('/').to_owned(), size)))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// A package with these files, its data compressed as `name` says.
    pub(crate) fn package(name: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, contents) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(contents.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            // As dpkg writes them; set_path would take the leading ./ away.
            let raw = format!("./{path}");
            header.as_gnu_mut().unwrap().name[..raw.len()].copy_from_slice(raw.as_bytes());
            header.set_cksum();
            tar.append(&header, *contents).unwrap();
        }
        let tar = tar.into_inner().unwrap();
        let data = match Compression::of_name(name) {
            Compression::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(1);
                let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                io::Write::write_all(&mut xz, &tar).unwrap();
                xz.finish().unwrap()
            }
            Compression::Zstd => ruzstd::encoding::compress_to_vec(
                tar.as_slice(),
                ruzstd::encoding::CompressionLevel::Fastest,
            ),
            _ => tar,
        };
        let mut deb = MAGIC.to_vec();
        for (name, data) in [
            ("debian-binary", b"2.0\n".as_slice()),
            ("control.tar", b"odd"),
            (name, &data),
        ] {
            deb.extend(
                format!(
                    "{name:<16}0           0     0     100644  {:<10}`\n",
                    data.len()
                )
                .bytes(),
            );
            deb.extend(data);
            if data.len() % 2 == 1 {
                deb.push(b'\n');
            }
        }
        deb
    }

    fn listed(deb: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.deb");
        fs::write(&path, deb).unwrap();
        let mut list = Vec::new();
        files(&path, |entry| {
            let mut data = Vec::new();
            entry.contents.read_to_end(&mut data).unwrap();
            list.push((entry.path.display().to_string(), data));
            Ok(())
        })?;
        Ok(list)
    }

    #[test]
    fn files_come_out_whatever_the_compression() {
        let big = vec![7_u8; 100_000];
        let want: [(&str, &[u8]); 2] = [("boot/config-1", b"CONFIG_X=y"), ("lib/big", &big)];
        for name in ["data.tar", "data.tar.xz", "data.tar.zst"] {
            let got = listed(&package(name, &want)).unwrap();
            let got: Vec<(&str, &[u8])> = got.iter().map(|(p, d)| (p.as_str(), &d[..])).collect();
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn broken_packages_say_how() {
        let whole = package("data.tar.xz", &[("a", &vec![1; 50_000])]);
        for (deb, says) in [
            (b"".to_vec(), "too short"),
            (
                b"<html>404 not found</html>".to_vec(),
                "does not begin as an ar",
            ),
            (whole[..300].to_vec(), "end early or are damaged"),
            (package("other.tar", &[]), "no data.tar"),
            (
                package("data.tar", &[("../../etc/passwd", b"x")]),
                "it holds the path",
            ),
        ] {
            let error = listed(&deb).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(error.contains("some.deb: not a Debian package"), "{error}");
        }
    }
}
