//! The server on a loopback port, asked in ways that a browser would not.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use site::Origin;
use site::serve::guard::Token;
use site::serve::{Limits, Options, Server};

use crate::common::{TOOL, make, pages, run, runs, write_log};
use crate::pages::hostile;

const TOKEN: &str = "0123456789abcdef-token";

/// A server in a thread, until it is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(runs: &Path) -> Served {
        Served::with(runs, None, Limits::default())
    }

    pub(crate) fn with(runs: &Path, token: Option<&str>, limits: Limits) -> Served {
        let server = Server::bind(Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            hosts: vec!["lab.example.org".into()],
            token: token.map(|token| Token::parse(token).unwrap()),
            origin: Origin::Folder(runs.to_owned()),
            comparisons: Vec::new(),
            tool: TOOL.into(),
            limits,
        })
        .unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (address, asked) = (server.address(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            server.run(&|| asked.load(Ordering::Relaxed)).unwrap();
        });
        Served {
            address,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends bytes and reads the answer to the end of the connection.
fn raw(served: &Served, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // The server may close before it has read all.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn ask(served: &Served, method: &str, path: &str, headers: &str) -> Answer {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    raw(served, request.as_bytes())
}

pub(crate) fn get(served: &Served, path: &str) -> Answer {
    ask(served, "GET", path, "")
}

/// The hash in the address of a run's page.
fn first_run(served: &Served) -> String {
    let index = get(served, "/");
    let link = index.body.split("href=\"run/").nth(1).unwrap();
    link.split('.').next().unwrap().to_owned()
}

#[test]
fn the_server_shows_what_the_folder_has() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let served = Served::start(runs.path());
    for (path, page) in pages(site.path()) {
        let answer = get(&served, &format!("/{path}"));
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        // A server adds links to the log, and has no limit for time series.
        if !path.starts_with("run/") {
            assert_eq!(answer.body, page, "{path}");
        }
    }
    for path in ["/", "/series/", "/compare/"] {
        assert_eq!(get(&served, path).status, 200, "{path}");
    }
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let runs = runs();
    let served = Served::start(runs.path());
    let asset = get(&served, "/").body;
    let asset = asset
        .split("href=\"assets/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let log = format!("/file/{}/log", first_run(&served));
    for (path, status) in [
        ("/", 200),
        (format!("/assets/{asset}").as_str(), 200),
        ("/none", 404),
        (&log, 200),
    ] {
        let answer = get(&served, path);
        assert_eq!(answer.status, status, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(
            answer.header("referrer-policy"),
            Some("no-referrer"),
            "{path}"
        );
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(
            answer.header("cross-origin-resource-policy"),
            Some("same-origin"),
            "{path}"
        );
        assert!(
            answer.header("access-control-allow-origin").is_none(),
            "{path}"
        );
        assert!(answer.header("cache-control").is_some(), "{path}");
    }
    assert_eq!(
        get(&served, &log).header("content-type"),
        Some("text/plain; charset=utf-8")
    );
}

#[test]
fn other_methods_are_refused_and_head_has_no_body() {
    let runs = runs();
    let served = Served::start(runs.path());
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let answer = ask(&served, method, "/", "Content-Length: 3\r\n");
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    }
    let (full, head) = (get(&served, "/"), ask(&served, "HEAD", "/", ""));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), full.header("content-length"));
}

#[test]
fn other_names_of_the_server_are_refused() {
    let runs = runs();
    let served = Served::start(runs.path());
    let named = |host: &str| {
        raw(
            &served,
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(),
        )
        .status
    };
    for host in [
        "localhost",
        "127.0.0.1:4480",
        "[::1]:9",
        "lab.example.org",
        "LAB.example.org:443",
    ] {
        assert_eq!(named(host), 200, "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "169.254.169.254",
    ] {
        assert_eq!(named(host), 403, "{host}");
    }
    assert_eq!(raw(&served, b"GET / HTTP/1.1\r\n\r\n").status, 400);
    assert_eq!(raw(&served, b"GET / HTTP/1.0\r\n\r\n").status, 400);
    let absolute = b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(raw(&served, absolute).status, 403);
}

#[test]
fn no_path_leads_out_of_the_site() {
    let runs = runs();
    let secret = runs
        .path()
        .parent()
        .unwrap()
        .join(format!("secret-{}", std::process::id()));
    fs::write(&secret, "secret").unwrap();
    let served = Served::start(runs.path());
    let hash = first_run(&served);
    let name = secret.file_name().unwrap().to_str().unwrap().to_owned();
    let paths = [
        format!("/../{name}"),
        format!("/../../../../..{}", secret.display()),
        format!("/%2e%2e/{name}"),
        format!("/run/..%2f..%2f{name}"),
        format!("//{name}"),
        format!("/file/{hash}/../../{name}"),
        format!("/file/{hash}/%2e%2e/%2e%2e/{name}"),
        format!("/file/{hash}/telemetry/../../{name}"),
        format!("/file/{hash}/telemetry/..%2f..%2f{name}"),
        format!("/file/{hash}/lock"),
        format!("/file/{hash}/events.jsonl"),
        format!("/file/{hash}/"),
        "/file/../log".into(),
        "/file/0123456789abcdef/log".into(),
        "/events/0123456789abcdef".into(),
        "/live/0123456789abcdef.html".into(),
        "/.fslab-site.json".into(),
        "/index.html/..".into(),
        "/index.html%00".into(),
        "/etc/passwd".into(),
        "*".into(),
        "/assets/../index.html".into(),
        format!("/{}", "a/".repeat(2000)),
    ];
    for path in paths {
        let answer = get(&served, &path);
        assert!(
            matches!(answer.status, 400 | 404 | 414),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.body.contains("secret"), "{path}");
        assert!(
            !answer.body.contains(&name),
            "{path}: the answer repeats the path"
        );
    }
    fs::remove_file(&secret).unwrap();
}

#[test]
fn links_and_odd_files_in_a_run_are_not_read() {
    let runs = runs();
    let target = runs.path().join("target.txt");
    fs::write(&target, "secret\n").unwrap();
    for number in 1..=24 {
        let dir = runs.path().join(format!("run-{number}"));
        std::os::unix::fs::symlink(&target, dir.join("report.txt")).unwrap();
        fs::create_dir(dir.join("elsewhere")).unwrap();
        fs::write(dir.join("elsewhere/trial-0001.tele"), "secret\n").unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.join("telemetry")).unwrap();
    }
    let served = Served::start(runs.path());
    let index = get(&served, "/").body;
    let mut asked = 0;
    for link in index.split("href=\"run/").skip(1) {
        let hash = link.split('.').next().unwrap();
        for kind in ["report", "telemetry/1"] {
            assert_eq!(
                get(&served, &format!("/file/{hash}/{kind}")).status,
                404,
                "{kind}"
            );
            asked += 1;
        }
    }
    assert!(asked >= 48, "{asked}");
    // A log that became a link, and one that became a FIFO, after the list was made.
    let hash = |name: &str| {
        let log = fs::read_to_string(runs.path().join(name).join("events.jsonl")).unwrap();
        record::id_of_line(log.lines().next().unwrap().as_bytes())[..16].to_owned()
    };
    let (linked, fifo) = (hash("run-1"), hash("run-2"));
    let log = |name: &str| runs.path().join(name).join("events.jsonl");
    fs::remove_file(log("run-1")).unwrap();
    std::os::unix::fs::symlink(&target, log("run-1")).unwrap();
    fs::remove_file(log("run-2")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        log("run-2"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for hash in [linked, fifo] {
        for path in [format!("/file/{hash}/log"), format!("/events/{hash}")] {
            let answer = get(&served, &path);
            assert_eq!(answer.status, 404, "{path}");
            assert!(!answer.body.contains("secret"));
        }
    }
}

#[test]
fn files_of_a_run_are_plain_text_whatever_is_in_them() {
    let runs = tempfile::tempdir().unwrap();
    let dir = runs.path().join("run-1");
    run(1, 1000.0).write(&dir).unwrap();
    fs::write(dir.join("report.txt"), "<script>alert(1)</script>\n").unwrap();
    fs::create_dir(dir.join("telemetry")).unwrap();
    fs::write(dir.join("telemetry/trial-0007.tele"), vec![b'x'; 300_000]).unwrap();
    let served = Served::start(runs.path());
    let hash = first_run(&served);
    let report = get(&served, &format!("/file/{hash}/report"));
    assert_eq!(
        report.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(report.body, "<script>alert(1)</script>\n");
    let telemetry = get(&served, &format!("/file/{hash}/telemetry/7"));
    assert_eq!(telemetry.header("content-disposition"), Some("attachment"));
    assert_eq!(telemetry.body.len(), 300_000);
    assert_eq!(
        get(&served, &format!("/file/{hash}/telemetry/8")).status,
        404
    );
    let log = get(&served, &format!("/file/{hash}/log"));
    assert_eq!(
        log.body,
        fs::read_to_string(dir.join("events.jsonl")).unwrap()
    );
}

#[test]
fn hostile_names_are_text_on_served_pages() {
    let runs = hostile();
    let served = Served::start(runs.path());
    let index = get(&served, "/");
    assert_eq!(index.status, 200);
    let mut paths = vec![
        "/".to_owned(),
        "/series/index.html".into(),
        "/compare/index.html".into(),
    ];
    let run = first_run(&served);
    paths.extend([format!("/run/{run}.html"), format!("/live/{run}.html")]);
    for path in paths {
        let answer = get(&served, &path);
        assert_eq!(answer.status, 200, "{path}");
        for live in ["<script>window", "<img src=x", "</script><script>"] {
            assert!(!answer.body.contains(live), "{path}: {live}");
        }
        assert!(!answer.body.contains('\u{1b}'), "{path}");
    }
}

#[test]
fn a_token_is_wanted_for_everything() {
    let runs = runs();
    let served = Served::with(runs.path(), Some(TOKEN), Limits::default());
    for path in [
        "/",
        "/none",
        "/assets/x",
        "/?token=",
        "/?token=wrong",
        "/index.html",
    ] {
        let answer = get(&served, path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("run-1"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let bearer = |token: &str| {
        ask(
            &served,
            "GET",
            "/",
            &format!("Authorization: Bearer {token}\r\n"),
        )
        .status
    };
    assert_eq!(bearer(TOKEN), 200);
    assert_eq!(bearer("0123456789abcdef-tokeN"), 401);
    let answer = get(&served, &format!("/series/index.html?token={TOKEN}"));
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/series/index.html"));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains(TOKEN));
    let cookie = cookie.split(';').next().unwrap();
    let with = ask(
        &served,
        "GET",
        "/series/index.html",
        &format!("Cookie: {cookie}\r\n"),
    );
    assert_eq!(with.status, 200);
    assert_eq!(with.header("cache-control"), Some("no-store"));
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let runs = runs();
    let bind = |listen: &str, token: Option<&str>| {
        Server::bind(Options {
            listen: listen.parse().unwrap(),
            hosts: Vec::new(),
            token: token.map(|token| Token::parse(token).unwrap()),
            origin: Origin::Folder(runs.path().to_owned()),
            comparisons: Vec::new(),
            tool: TOOL.into(),
            limits: Limits::default(),
        })
    };
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = bind(listen, None).unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains("--token-file"),
            "{error}"
        );
    }
    assert!(bind("0.0.0.0:0", Some(TOKEN)).is_ok());
    let error = bind("192.0.2.1:0", Some(TOKEN)).unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("--listen"),
        "{error}"
    );
}

#[test]
fn heads_are_limited_in_bytes_and_time() {
    let runs = runs();
    let limits = Limits {
        head_time: Duration::from_millis(400),
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let long = ask(&served, "GET", "/", &format!("X: {}\r\n", "x".repeat(9000)));
    assert!(matches!(long.status, 0 | 431), "{}", long.status);
    let many = ask(&served, "GET", "/", &"X: y\r\n".repeat(2000));
    assert!(matches!(many.status, 0 | 431), "{}", many.status);
    let fits = ask(&served, "GET", "/", &format!("X: {}\r\n", "x".repeat(6000)));
    assert_eq!(fits.status, 200);
    for begun in [&b""[..], b"GET / HTTP/1.1\r\nHost: local"] {
        let since = Instant::now();
        let answer = raw(&served, begun);
        assert!(
            answer.status == 0 || answer.status == 408,
            "{}",
            answer.status
        );
        assert!(
            since.elapsed() < Duration::from_secs(5),
            "{:?}",
            since.elapsed()
        );
    }
    assert_eq!(get(&served, "/").status, 200, "it still serves");
}

#[test]
fn connections_are_limited_and_slow_ones_end() {
    let runs = runs();
    let limits = Limits {
        connections: 4,
        head_time: Duration::from_millis(600),
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let silent: Vec<TcpStream> = (0..12)
        .map(|_| TcpStream::connect(served.address).unwrap())
        .collect();
    let since = Instant::now();
    assert_eq!(
        get(&served, "/").status,
        200,
        "after the silent ones have ended"
    );
    assert!(
        since.elapsed() > Duration::from_millis(300),
        "{:?}",
        since.elapsed()
    );
    drop(silent);
}

#[test]
fn events_go_on_after_the_last_that_a_browser_has() {
    let runs = tempfile::tempdir().unwrap();
    let entries = run(1, 1000.0).entries();
    write_log(&runs.path().join("run"), &entries, None);
    let limits = Limits {
        answer_time: Duration::from_millis(300),
        stream_time: Duration::from_millis(700),
        streams: 1,
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let path = format!("/events/{}", first_run(&served));
    let all = get(&served, &path);
    assert_eq!(
        all.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    let events = |body: &str| body.matches("\ndata: {").count();
    assert_eq!(events(&all.body), entries.len());
    assert!(all.body.contains("id: 0\ndata: {"), "{}", &all.body[..80]);
    let last = entries.len() - 2;
    // The first stream's place is free a moment after its end.
    let after = format!("Last-Event-ID: {last}\r\n");
    let rest = std::iter::repeat_with(|| ask(&served, "GET", &path, &after))
        .find(|answer| answer.status != 503)
        .unwrap();
    assert_eq!(events(&rest.body), 1);
    // One follows already: the next is asked to come again.
    let limits = Limits {
        stream_time: Duration::from_secs(60),
        streams: 1,
        ..Limits::default()
    };
    let served = Served::with(runs.path(), None, limits);
    let path = format!("/events/{}", first_run(&served));
    let mut first = TcpStream::connect(served.address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    first.write_all(request.as_bytes()).unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).unwrap();
    let busy = get(&served, &path);
    assert_eq!(busy.status, 503);
    assert!(busy.header("retry-after").is_some());
    assert_eq!(get(&served, "/").status, 200, "pages are still served");
}

#[test]
fn the_lock_of_a_run_is_never_taken() {
    let runs = tempfile::tempdir().unwrap();
    let dir = runs.path().join("run");
    write_log(&dir, &run(1, 1000.0).entries()[..4], None);
    let served = Served::start(runs.path());
    let done = Arc::new(AtomicBool::new(false));
    let (asked, address) = (Arc::clone(&done), served.address);
    let reader = std::thread::spawn(move || {
        while !asked.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .unwrap();
            let mut text = Vec::new();
            stream.read_to_end(&mut text).unwrap();
        }
    });
    // A lock that was held even for a moment would make one of these wait or fail.
    for _ in 0..300 {
        let lock = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join("lock"))
            .unwrap();
        lock.try_lock().expect("no one else takes the lock");
    }
    done.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[test]
fn a_new_run_is_in_the_list_without_a_restart() {
    let runs = runs();
    let served = Served::start(runs.path());
    assert!(!get(&served, "/").body.contains("run-77"));
    run(77, 900.0).write(&runs.path().join("run-77")).unwrap();
    let begun = Instant::now();
    while !get(&served, "/").body.contains("run-77") {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "it does not appear"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    let hash = get(&served, "/").body;
    assert!(hash.contains("28 runs of"), "the count follows");
}
