//! Files of a run: its log, its report as text, a trial's telemetry. A file is named by run, kind and number of the trial, never by
//! a path, and opened below the run's folder without following links (`rundir`).

use std::fs::File;
use std::io::Read;

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::body::Body;

/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// A file of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `events.jsonl`.
    Log,
    /// `report.txt`.
    Report,
    /// `telemetry/trial-NNNN.tele`, by the number in its name.
    Telemetry(u32),
}

impl Kind {
    /// Reads `log`, `report`, `telemetry/1`.
    pub(super) fn parse(parts: &[&str]) -> Option<Kind> {
        Some(match parts {
            ["log"] => Kind::Log,
            ["report"] => Kind::Report,
            ["telemetry", number] if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Kind::Telemetry(number.parse().ok()?)
            }
            _ => return None,
        })
    }

    /// Its path below the run's folder.
    pub(super) fn path(self) -> String {
        match self {
            Kind::Log => record::folder::EVENTS.to_owned(),
            Kind::Report => "report.txt".to_owned(),
            Kind::Telemetry(number) => format!("telemetry/trial-{number:04}.tele"),
        }
    }
}

/// The file as plain text, whatever it is. Telemetry is saved and not shown.
///
/// A thread is held while a piece is read from the disk, and not while a client takes it: there are few threads, and pages are
/// made in them.
pub(super) fn response(
    file: File,
    length: u64,
    kind: Kind,
    slot: OwnedSemaphorePermit,
) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(2);
    // What is appended meanwhile does not belong to the answer, whose length is announced.
    let mut file = file.take(length);
    tokio::spawn(async move {
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; PIECE];
                let read = file.read(&mut piece);
                piece.truncate(read.unwrap_or(0));
                (file, piece)
            });
            let Ok((rest, piece)) = read.await else {
                break;
            };
            if piece.is_empty() || sender.send(Bytes::from(piece)).await.is_err() {
                break;
            }
            file = rest;
        }
        drop(slot);
    });
    let mut response = Response::new(Body::Pieces(receiver));
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if matches!(kind, Kind::Telemetry(_)) {
        let save = HeaderValue::from_static("attachment");
        headers.insert(header::CONTENT_DISPOSITION, save);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_kinds_are_files() {
        let parse = |text: &str| Kind::parse(&text.split('/').collect::<Vec<_>>());
        assert_eq!(parse("log").map(Kind::path), Some("events.jsonl".into()));
        let telemetry = parse("telemetry/7").map(Kind::path);
        assert_eq!(telemetry, Some("telemetry/trial-0007.tele".into()));
        for wrong in [
            "",
            "lock",
            "undo",
            "../log",
            "log/..",
            "telemetry",
            "telemetry/",
            "telemetry/-1",
            "telemetry/+1",
            "telemetry/99999999999",
            "telemetry/../../x",
            "telemetry/1/x",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
