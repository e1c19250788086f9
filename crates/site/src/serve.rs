//! A read-only server of the pages.
//!
//! It shows what a folder of static pages shows, made when it is asked for, and in addition the progress of runs and their files.
//! It never writes and has no users, uploads or settings. It listens on the loopback address unless another is named, and then
//! only with a token. What it does to be safe in a browser and beside other users is in [`guard`] and docs/site.md.
//!
//! hyper was chosen: limits of headers and times are its own options, which the frameworks above it hide, and the few
//! addresses need no router. Each connection carries one request, so that the limit of its time is simple and a slow client
//! holds one of the connections for that time at most.

mod body;
mod clients;
mod events;
mod files;
pub mod guard;
mod impatient;
mod state;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::error::Error;
use crate::library::Origin;
use crate::render::{POLICY, Renderer};
use body::Body;
use clients::Clients;
use guard::{Guard, Token};
use impatient::Impatient;
use state::{Answer, State};

/// How much of the server one client, or all together, can take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; more wait in the kernel's queue.
    pub connections: usize,
    /// Connections of them from one address; more are closed at once.
    pub of_one_client: usize,
    /// Connections of them that follow a run.
    pub streams: usize,
    /// Connections of them that get a file of a run.
    pub files: usize,
    /// Bytes of a request's head: at least 8192.
    pub head: usize,
    /// Time for a request's head.
    pub head_time: Duration,
    /// Time in which a client must take something of an answer that waits for it.
    pub idle_time: Duration,
    /// Time for an answer, from the connection on.
    pub answer_time: Duration,
    /// Time for a file, or for following a run; a browser then connects again.
    pub stream_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 128,
            of_one_client: 96,
            streams: 32,
            files: 32,
            head: 8192,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(120),
            stream_time: Duration::from_secs(900),
        }
    }
}

/// What is served, and to whom.
#[derive(Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Names of this server besides those of the loopback address, as in a browser's address line.
    pub hosts: Vec<String>,
    /// What a client must know.
    pub token: Option<Token>,
    /// Where runs come from.
    pub origin: Origin,
    /// Comparisons that are asked for: the sides, as of `fslab compare`.
    pub comparisons: Vec<[String; 2]>,
    /// Version and commit of this fslab.
    pub tool: String,
    /// Limits.
    pub limits: Limits,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    guard: Guard,
    state: State,
    limits: Limits,
    streams: Arc<Semaphore>,
    files: Arc<Semaphore>,
}

impl Server {
    /// Listens, and reads the runs once.
    ///
    /// # Errors
    /// An address that is not this machine's or is taken; another than a loopback address without a token; runs that
    /// cannot be read.
    pub fn bind(options: Options) -> Result<Server, Error> {
        let listen = options.listen;
        if !listen.ip().is_loopback() && options.token.is_none() {
            return Err(Error::Option(format!(
                "--listen {listen}: others can reach this address; give a token with --token-file, or listen on 127.0.0.1"
            )));
        }
        let renderer = Renderer::new(&options.tool)?.serving();
        let state = State::new(options.origin, options.comparisons, renderer)?;
        let failed = |error: io::Error| {
            Error::Option(format!(
                "--listen {listen}: {error}; choose another address or port (port 0 takes a free one)"
            ))
        };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            guard: Guard::new(address.ip(), &options.hosts, options.token)?,
            state,
            limits: options.limits,
            streams: Arc::new(Semaphore::new(options.limits.streams)),
            files: Arc::new(Semaphore::new(options.limits.files)),
        });
        Ok(Server {
            listener,
            address,
            shared,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` returns true. Answers that are not whole by then are cut off.
    ///
    /// # Errors
    /// A runtime that cannot be started.
    pub fn run(self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let failed = |error: io::Error| Error::Option(format!("the server cannot start: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(8)
            .build()
            .map_err(failed)?;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(failed)?;
            accept(&listener, &self.shared, stop).await;
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}

/// How often a request to stop is looked for.
const TICK: Duration = Duration::from_millis(100);

async fn accept(listener: &tokio::net::TcpListener, shared: &Arc<Shared>, stop: &dyn Fn() -> bool) {
    let slots = Arc::new(Semaphore::new(shared.limits.connections));
    let clients = Clients::new(shared.limits.of_one_client);
    while !stop() {
        let Ok(Ok(slot)) = timeout(TICK, Arc::clone(&slots).acquire_owned()).await else {
            continue;
        };
        match timeout(TICK, listener.accept()).await {
            Ok(Ok((stream, client))) => {
                let Some(client) = clients.enter(client.ip()) else {
                    continue;
                };
                let shared = Arc::clone(shared);
                tokio::spawn(async move {
                    connection(stream, shared).await;
                    drop((client, slot));
                });
            }
            // Too many open files: some will be closed.
            Ok(Err(_)) => sleep(TICK).await,
            Err(_) => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let limits = shared.limits;
    let long = Arc::new(AtomicBool::new(false));
    let is_long = Arc::clone(&long);
    let service = service_fn(move |request| {
        let (shared, long) = (Arc::clone(&shared), Arc::clone(&long));
        async move { Ok::<_, Infallible>(answer(&shared, &long, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head)
        .keep_alive(false)
        .serve_connection(
            TokioIo::new(Impatient::new(stream, limits.idle_time)),
            service,
        );
    let mut connection = pin!(connection);
    let ended = timeout(limits.answer_time, connection.as_mut()).await;
    if ended.is_err() && is_long.load(Ordering::Relaxed) {
        let _ = timeout(limits.stream_time, connection).await;
    }
}

async fn answer(
    shared: &Arc<Shared>,
    long: &AtomicBool,
    request: Request<Incoming>,
) -> Response<Body> {
    let head = request.method() == Method::HEAD;
    let mut response = match shared.guard.admit(&request) {
        Err(refusal) => refused(&refusal),
        Ok(()) => admitted(shared, long, &request).await,
    };
    secure(&mut response, shared.guard.has_token());
    if head {
        *response.body_mut() = Body::empty();
    }
    response
}

fn refused(refusal: &guard::Refusal) -> Response<Body> {
    let mut response = text(refusal.status, &refusal.why);
    for (name, value) in &refusal.headers {
        response.headers_mut().insert(name, value.clone());
    }
    response
}

async fn admitted(
    shared: &Arc<Shared>,
    long: &AtomicBool,
    request: &Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    // One slash begins a path; more would be another server's name in a link.
    if !request.uri().path().starts_with('/') || request.uri().path().starts_with("//") {
        return text(StatusCode::NOT_FOUND, "no such page");
    }
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|id| id.to_str().ok()?.trim().parse::<u64>().ok());
    let worker = Arc::clone(shared);
    let found = tokio::task::spawn_blocking(move || worker.state.answer(&path)).await;
    match found {
        Ok(Ok(Answer::Page { body, media, fixed })) => page(body, media, fixed),
        Ok(Ok(Answer::File { file, length, kind })) => {
            let Ok(slot) = Arc::clone(&shared.files).try_acquire_owned() else {
                return busy("too many clients read files of runs; try again later");
            };
            long.store(true, Ordering::Relaxed);
            files::response(file, length, kind, slot)
        }
        Ok(Ok(Answer::Events(log))) => {
            let Ok(slot) = Arc::clone(&shared.streams).try_acquire_owned() else {
                return busy("too many pages follow runs; try again later");
            };
            long.store(true, Ordering::Relaxed);
            events::response(log, last, slot)
        }
        Ok(Ok(Answer::Nothing)) => text(StatusCode::NOT_FOUND, "no such page"),
        Ok(Err(error)) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("the page cannot be made: {error}"),
        ),
        Err(_) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page cannot be made: a defect in fslab",
        ),
    }
}

fn busy(why: &str) -> Response<Body> {
    let mut busy = text(StatusCode::SERVICE_UNAVAILABLE, why);
    let seconds = HeaderValue::from_static("10");
    busy.headers_mut().insert(header::RETRY_AFTER, seconds);
    busy
}

fn page(body: impl Into<hyper::body::Bytes>, media: &'static str, fixed: bool) -> Response<Body> {
    let body = body.into();
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    if fixed {
        let for_ever = HeaderValue::from_static("private, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, for_ever);
    }
    *response.body_mut() = Body::full(body);
    response
}

/// A line of plain text.
fn text(status: StatusCode, why: &str) -> Response<Body> {
    let line = format!("{}\n", words::printable(why));
    let mut response = page(line, "text/plain; charset=utf-8", false);
    *response.status_mut() = status;
    response
}

/// What every answer says to the browser.
fn secure(response: &mut Response<Body>, private: bool) {
    let policy = format!("{POLICY}; frame-ancestors 'none'");
    let all = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    let headers = response.headers_mut();
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if private || !headers.contains_key(header::CACHE_CONTROL) {
        let no_store = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, no_store);
    }
}
