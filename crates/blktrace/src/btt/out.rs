//! A file that is made when something is written to it, and what is gathered before a line is.

use std::fmt;
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// A file that is made when something is written to it.
pub(super) struct Out {
    path: PathBuf,
    /// Beside its place until it is whole.
    file: Option<BufWriter<NamedTempFile>>,
    failure: Option<io::Error>,
}

impl Out {
    pub(super) fn new(folder: &Path, name: &str) -> Out {
        Out {
            path: folder.join(name),
            file: None,
            failure: None,
        }
    }

    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        if self.failure.is_none()
            && let Err(error) = self.try_line(line)
        {
            self.failure = Some(error);
        }
    }

    fn try_line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::with_capacity(
                1 << 15,
                tempfile::Builder::new()
                    .permissions(Permissions::from_mode(0o666))
                    .tempfile_in(self.path.parent().unwrap_or(Path::new(".")))?,
            )),
        };
        file.write_fmt(line)
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let whole = match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.file.take().map_or(Ok(()), |file| {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(&self.path)?;
                Ok(())
            }),
        };
        match whole {
            Ok(()) => Ok(()),
            Err(source) => Err(Error::File {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

/// Requests and blocks of a second.
pub(super) struct Rate {
    pub(super) requests: Out,
    pub(super) mebibytes: Out,
    second: Option<u64>,
    count: u64,
    sectors: u64,
}

impl Rate {
    pub(super) fn new(folder: &Path, name: &str) -> Rate {
        Rate {
            requests: Out::new(folder, &format!("{name}_iops_fp.dat")),
            mebibytes: Out::new(folder, &format!("{name}_mbps_fp.dat")),
            second: None,
            count: 0,
            sectors: 0,
        }
    }

    pub(super) fn add(&mut self, time: u64, sectors: u32) {
        let now = time / 1_000_000_000;
        if self.second.is_some_and(|second| now > second) {
            self.emit();
        }
        self.second.get_or_insert(now);
        self.count += 1;
        self.sectors += u64::from(sectors);
    }

    pub(super) fn emit(&mut self) {
        if let Some(second) = self.second.take() {
            let mebibytes = self.sectors as f64 * 512.0 / (1024.0 * 1024.0);
            self.requests
                .line(format_args!("{second} {}\n", self.count));
            self.mebibytes
                .line(format_args!("{second} {mebibytes:.6}\n"));
            (self.count, self.sectors) = (0, 0);
        }
    }
}

/// Means of some seconds.
pub(super) struct Periodic {
    pub(super) out: Out,
    first: Option<f64>,
    last: f64,
    count: u64,
    sum: f64,
}

impl Periodic {
    pub(super) fn new(out: Out) -> Periodic {
        Periodic {
            out,
            first: None,
            last: 0.0,
            count: 0,
            sum: 0.0,
        }
    }

    pub(super) fn add(&mut self, period: f64, time: u64, ns: u64) {
        let (now, latency) = (time as f64 / 1e9, ns as f64 / 1e9);
        if self.first.is_some_and(|first| now - first >= period) {
            self.emit();
        }
        if self.first.is_none() {
            self.first = Some(now);
        }
        self.last = now;
        self.count += 1;
        self.sum += latency;
    }

    pub(super) fn emit(&mut self) {
        if let Some(first) = self.first.take() {
            let middle = first + (self.last - first) / 2.0;
            let mean = self.sum / self.count as f64;
            self.out.line(format_args!("{middle:.6} {mean:.6}\n"));
            (self.count, self.sum) = (0, 0.0);
        }
    }
}
