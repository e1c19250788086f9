//! Clients that take nothing, or more than their share: the others are answered all the same.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use site::serve::Limits;

use crate::common::{make, runs};
use crate::security::{Served, get};

/// Sends a request and takes nothing of its answer.
fn hold(served: &Served, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// A run whose files do not fit what the kernel keeps for a connection.
fn large() -> tempfile::TempDir {
    let runs = runs();
    let dir = runs.path().join("stopped");
    fs::create_dir_all(dir.join("telemetry")).unwrap();
    for name in ["report.txt", "telemetry/trial-0001.tele"] {
        fs::File::create(dir.join(name))
            .unwrap()
            .set_len(64 << 20)
            .unwrap();
    }
    let log = fs::OpenOptions::new()
        .append(true)
        .open(dir.join("events.jsonl"));
    let note = serde_json::json!({ "event": "note", "message": "x".repeat(60_000) });
    let mut log = std::io::BufWriter::new(log.unwrap());
    let count = fs::read_to_string(dir.join("events.jsonl"))
        .unwrap()
        .lines()
        .count();
    for seq in count..count + 200 {
        let mut line = note.clone();
        line["seq"] = seq.into();
        line["at"] = "2026-01-01T00:00:00Z".into();
        writeln!(log, "{line}").unwrap();
    }
    log.flush().unwrap();
    runs
}

/// One address of each kind, by the pages of the site and the run with large files.
fn addresses(served: &Served, runs: &Path) -> Vec<String> {
    let site = tempfile::tempdir().unwrap();
    make(runs, site.path()).unwrap();
    let kinds = crate::common::files(site.path());
    let mut of_kind = std::collections::BTreeMap::new();
    for path in kinds.keys().filter(|path| !path.starts_with('.')) {
        let kind = path
            .rsplit_once('/')
            .map_or(path.as_str(), |(folder, _)| folder);
        let kind = kind.split('/').next().unwrap_or(kind).to_owned();
        of_kind.entry(kind).or_insert_with(|| format!("/{path}"));
    }
    let hash = |run: &str| {
        let log = fs::read_to_string(runs.join(run).join("events.jsonl")).unwrap();
        record::id_of_line(log.lines().next().unwrap().as_bytes())[..16].to_owned()
    };
    // A page of progress, and the events of a log, are made of its lines each time: those of a small run.
    let (hash, small) = (hash("stopped"), hash("run-2"));
    let mut all: Vec<String> = of_kind.into_values().collect();
    all.extend([
        format!("/run/{hash}.html"),
        format!("/live/{small}.html"),
        format!("/events/{small}"),
        format!("/file/{hash}/log"),
        format!("/file/{hash}/report"),
        format!("/file/{hash}/telemetry/1"),
        "/none".to_owned(),
    ]);
    for path in &all {
        let status = hold_status(served, path);
        assert_eq!(status, if path == "/none" { 404 } else { 200 }, "{path}");
    }
    all
}

/// The status of an answer that may have no end.
fn hold_status(served: &Served, path: &str) -> u16 {
    begun(hold(served, path)).1
}

/// The connection once its answer has begun, and the answer's status.
fn begun(mut stream: TcpStream) -> (TcpStream, u16) {
    let mut begin = [0; 12];
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream.read_exact(&mut begin).unwrap();
    let status = std::str::from_utf8(&begin[9..]).unwrap().parse().unwrap();
    (stream, status)
}

#[test]
fn clients_that_take_nothing_hold_up_no_one_else() {
    let runs = large();
    let served = Served::start(runs.path());
    for path in addresses(&served, runs.path()) {
        let held: Vec<TcpStream> = (0..60).map(|_| hold(&served, &path)).collect();
        for beside in ["/", "/series/index.html", "/none"] {
            let since = Instant::now();
            let status = get(&served, beside).status;
            assert_eq!(
                status,
                if beside == "/none" { 404 } else { 200 },
                "beside {path}"
            );
            let took = since.elapsed();
            assert!(
                took < Duration::from_secs(15),
                "{beside} took {took:?} beside {path}"
            );
        }
        drop(held);
    }
}

#[test]
fn files_beyond_their_limit_are_refused_and_come_free_again() {
    let runs = large();
    let limits = Limits {
        files: 2,
        idle_time: Duration::from_secs(10),
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let log = fs::read_to_string(runs.path().join("stopped/events.jsonl")).unwrap();
    let hash = record::id_of_line(log.lines().next().unwrap().as_bytes())[..16].to_owned();
    let path = format!("/file/{hash}/report");
    let held = [hold(&served, &path), hold(&served, &path)].map(|stream| {
        let (stream, status) = begun(stream);
        assert_eq!(status, 200);
        stream
    });
    let refused = get(&served, &path);
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("10"));
    // Those that take nothing are cut off, and the next one gets the whole file.
    let since = Instant::now();
    while get(&served, &path).status != 200 {
        assert!(since.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let whole = get(&served, &path);
    assert_eq!(whole.body.len(), 64 << 20);
    for mut stream in held {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64 << 20, "{}", rest.len());
    }
}

#[test]
fn one_client_does_not_get_all_connections() {
    let runs = runs();
    let limits = Limits {
        connections: 8,
        of_one_client: 6,
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| TcpStream::connect(served.address).unwrap())
        .collect();
    // Another address of this machine.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let connected = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind("127.0.0.2:0".parse().unwrap())?;
        socket.connect(served.address).await?.into_std()
    });
    let mut stream = connected.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    drop(silent);
}
