//! `fslab new`.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use study::template::{kinds, template};

use crate::cli::NewArgs;
use crate::{exit, out};

pub(crate) fn run(args: &NewArgs) -> anyhow::Result<u8> {
    let path = file(&args.name);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let usage = |message: String| anyhow::Error::from(lab::Error::Preflight(message));
    let kind = &args.workload;
    let text = template(&stem, kind)
        .ok_or_else(|| {
            usage(format!(
                "--workload {}: no such kind of workload ({}{})",
                words::quoted(kind),
                words::hint(kind, kinds()),
                kinds().collect::<Vec<_>>().join(", ")
            ))
        })?
        .map_err(usage)?;
    let name = out::path(&path);
    let mut file = File::create_new(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => usage(format!(
            "{name}: exists already and is not overwritten; choose another name, or remove it first"
        )),
        _ => usage(format!(
            "{name}: cannot be written: {error}; choose another folder"
        )),
    })?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| {
            anyhow::anyhow!("{name}: cannot be written: {error}; choose another folder")
        })?;
    out::print(&format!(
        "{name}: written. Next:\n  \
         fslab plan {name} --profile quick    what would run, and how long it takes\n  \
         fslab run {name} --profile quick     runs it\n"
    ))?;
    Ok(exit::OK)
}

/// A name is a file in the working directory; a path with `.toml` is itself.
fn file(name: &Path) -> PathBuf {
    if name
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("toml"))
    {
        return name.to_owned();
    }
    let mut path = name.as_os_str().to_owned();
    path.push(".toml");
    path.into()
}
