//! Who is answered. A server on the loopback address can be reached by every page in the user's browser and by every other user
//! of the machine, so the address alone protects nothing:
//!
//! - Only GET and HEAD are answered.
//! - The request must name this server: a page of another site whose name was made to point to 127.0.0.1 (DNS rebinding) sends
//!   its own name.
//! - With a token, a request must have it: in the header `Authorization: Bearer TOKEN`, or once as `?token=` in the address, which
//!   is answered with a cookie and the address without it. Cookies of other ports of a host are shared, so the cookie has
//!   a value of its own, made anew at each start, and not the token.
//!
//! There is no CORS header at all, so no other site may read an answer.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};

use crate::error::Error;

/// Fewest characters of a token.
const SHORTEST: usize = 16;
/// Most characters of a token.
const LONGEST: usize = 1000;
/// Name of the cookie.
const COOKIE: &str = "fslab-session";

/// What a client must know.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Reads a token from a file that no one else can read.
    ///
    /// # Errors
    /// A file that cannot be read, that others can read too, or with something else in it.
    pub fn read(path: &Path) -> Result<Token, Error> {
        let wrong = |why: String| {
            let path = path.to_string_lossy();
            Error::Option(format!("--token-file {}: {why}", words::printable(&path)))
        };
        let file = input::open_regular(path).map_err(|error| wrong(error.to_string()))?;
        let found = file.metadata().map_err(|error| wrong(error.to_string()))?;
        if found.mode() & 0o077 != 0 {
            return Err(wrong(
                "others can read or write it; chmod 600 it".to_owned(),
            ));
        }
        let mut text = String::new();
        let read = file.take(LONGEST as u64 + 2).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        Token::parse(text.trim()).map_err(|why| wrong(why.to_owned()))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Token, &'static str> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match text.len() {
            0..SHORTEST => Err(
                "a token has at least 16 characters; make one with: head -c 24 /dev/urandom | base64 | tr +/ -_",
            ),
            SHORTEST..=LONGEST if text.bytes().all(is_plain) => Ok(Token(text.to_owned())),
            SHORTEST..=LONGEST => Err("a token is one line of letters, digits, '-', '_' and '.'"),
            _ => Err("a token has at most 1000 characters"),
        }
    }
}

/// Why a request is not answered as it asked.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    /// One line.
    pub why: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal {
            status,
            why: why.into(),
            headers: Vec::new(),
        }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.headers.push((name, value));
        self
    }
}

/// Who is answered.
#[derive(Debug)]
pub(super) struct Guard {
    /// Names and addresses of this server, lower case.
    hosts: Vec<String>,
    token: Option<Token>,
    /// The cookie's value.
    session: String,
}

impl Guard {
    /// `ip`: where the server listens; `hosts`: more names of it.
    pub(super) fn new(ip: IpAddr, hosts: &[String], token: Option<Token>) -> Result<Guard, Error> {
        let mut all: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(String::from).into();
        if !ip.is_unspecified() {
            all.push(match ip {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        for host in hosts {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.[]:_".contains(&byte);
            if host.is_empty() || !host.bytes().all(is_name) || without_port(host) != host {
                return Err(Error::Option(format!(
                    "--host {}: it is no name of a host, as in lab.example.org (without a port)",
                    words::quoted(host)
                )));
            }
            all.push(host.to_ascii_lowercase());
        }
        let mut random = [0; 32];
        let filled = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
        filled.map_err(|error| Error::Option(format!("/dev/urandom: {error}")))?;
        let session = record::id_of_line(&random);
        Ok(Guard {
            hosts: all,
            token,
            session,
        })
    }

    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the request may be answered.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let allow = HeaderValue::from_static("GET, HEAD");
            let refusal = Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD: this server shows and changes nothing",
            );
            return Err(refusal.with(header::ALLOW, allow));
        }
        self.host(request)?;
        self.token(request)
    }

    fn host<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let mut named = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "the request must name one host",
            ));
        };
        let of_address = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let all = [Some(host.as_bytes()), of_address];
        let is_ours = |host: &[u8]| {
            std::str::from_utf8(host).is_ok_and(|host| {
                let host = without_port(host).to_ascii_lowercase();
                self.hosts.contains(&host)
            })
        };
        if all.into_iter().flatten().all(is_ours) {
            Ok(())
        } else {
            Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "this server has another name; start it with --host NAME to allow this one",
            ))
        }
    }

    fn token<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let Some(Token(token)) = &self.token else {
            return Ok(());
        };
        let bearer = request.headers().get(header::AUTHORIZATION);
        let bearer = bearer.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if bearer.is_some_and(|given| equal(given.trim(), token)) || self.has_cookie(request) {
            return Ok(());
        }
        let query = request.uri().query().unwrap_or_default();
        let given = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        if !given.is_some_and(|given| equal(given, token)) {
            let challenge = HeaderValue::from_static("Bearer");
            let refusal = Refusal::new(
                StatusCode::UNAUTHORIZED,
                "this server wants its token: add ?token=TOKEN to the address once, or send it as Authorization: Bearer TOKEN",
            );
            return Err(refusal.with(header::WWW_AUTHENTICATE, challenge));
        }
        // The address with the token must not stay in the browser's history and bar.
        let cookie = format!(
            "{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict",
            self.session
        );
        let path = request.uri().path();
        let path = if path.starts_with("//") { "/" } else { path };
        let values = [
            (header::SET_COOKIE, HeaderValue::from_str(&cookie)),
            (header::LOCATION, HeaderValue::from_str(path)),
        ];
        let mut refusal = Refusal::new(StatusCode::SEE_OTHER, "the token is right");
        for (name, value) in values {
            match value {
                Ok(value) => refusal = refusal.with(name, value),
                Err(_) => return Err(Refusal::new(StatusCode::BAD_REQUEST, "no such page")),
            }
        }
        Err(refusal)
    }

    fn has_cookie<B>(&self, request: &Request<B>) -> bool {
        let cookies = request.headers().get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        pairs.any(|pair| {
            let value = pair.trim().strip_prefix(COOKIE);
            let value = value.and_then(|rest| rest.strip_prefix('='));
            value.is_some_and(|value| equal(value, &self.session))
        })
    }
}

/// A host without its port: `[::1]:80` is `[::1]`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

/// Whether two texts are equal, in a time that depends on neither: what is compared are their hashes, all of them.
fn equal(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|text| record::id_of_line(text.as_bytes()));
    let differs = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |found, (a, b)| found | (a ^ b));
    std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef-token";

    fn guard(token: bool) -> Guard {
        let token = token.then(|| Token::parse(TOKEN).unwrap());
        Guard::new([127, 0, 0, 1].into(), &["Lab.example.org".into()], token).unwrap()
    }

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request<()> {
        let builder = Request::builder().uri(uri);
        let all = headers.iter();
        let builder = all.fold(builder, |builder, (name, value)| {
            builder.header(*name, *value)
        });
        builder.body(()).unwrap()
    }

    fn status(guard: &Guard, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let found = guard.admit(&request(uri, headers));
        found.map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_this_servers_names_are_answered() {
        let guard = guard(false);
        for host in [
            "127.0.0.1:4480",
            "localhost",
            "LOCALHOST:9",
            "[::1]:4480",
            "lab.example.org:1",
        ] {
            assert_eq!(status(&guard, "/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:80",
            "localhost.",
            "",
            "[::1",
            "lab.example.org@evil.example",
            "localhost:80@evil.example",
            "0.0.0.0",
            "localhost:x",
        ] {
            assert_eq!(status(&guard, "/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&guard, "/", &[]), 400, "no host");
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(status(&guard, "/", &two), 400, "two hosts");
        let other = status(&guard, "http://evil.example/", &[("host", "localhost")]);
        assert_eq!(other, 403, "the address names another host");
    }

    #[test]
    fn only_get_and_head_are_answered() {
        let guard = guard(false);
        for method in [
            "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW",
        ] {
            let mut request = request("/", &[("host", "localhost")]);
            *request.method_mut() = method.parse().unwrap();
            let refusal = guard.admit(&request).unwrap_err();
            assert_eq!(refusal.status, 405, "{method}");
            assert_eq!(refusal.headers[0].1, "GET, HEAD");
        }
    }

    #[test]
    fn a_token_is_given_by_header_or_once_by_address_and_then_by_cookie() {
        let guard = guard(true);
        let host = ("host", "localhost");
        assert_eq!(status(&guard, "/", &[host]), 401);
        assert_eq!(status(&guard, "/?token=wrong", &[host]), 401);
        assert_eq!(status(&guard, "/?token=", &[host]), 401);
        let bearer = |token: &str| format!("Bearer {token}");
        let header = |value: &str| status(&guard, "/", &[host, ("authorization", value)]);
        assert_eq!(header(&bearer(TOKEN)), 200);
        assert_eq!(header(&bearer(&TOKEN[1..])), 401);
        assert_eq!(header(TOKEN), 401);
        let refusal = guard
            .admit(&request(&format!("/run/x.html?token={TOKEN}"), &[host]))
            .unwrap_err();
        assert_eq!(refusal.status, 303);
        let of = |name: HeaderName| {
            let found = refusal.headers.iter().find(|(known, _)| *known == name);
            found.unwrap().1.to_str().unwrap().to_owned()
        };
        assert_eq!(of(header::LOCATION), "/run/x.html");
        let cookie = of(header::SET_COOKIE);
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
            "{cookie}"
        );
        assert!(!cookie.contains(TOKEN), "the cookie is not the token");
        let cookie = cookie.split(';').next().unwrap();
        assert_eq!(
            status(&guard, "/", &[host, ("cookie", &format!("a=b; {cookie}"))]),
            200
        );
        assert_eq!(
            status(&guard, "/", &[host, ("cookie", &format!("{cookie}0"))]),
            401
        );
        let other = self::guard(true);
        assert_eq!(
            status(&other, "/", &[host, ("cookie", cookie)]),
            401,
            "of another start"
        );
        let away = guard.admit(&request(&format!("//evil.example/?token={TOKEN}"), &[host]));
        let away = away.unwrap_err();
        assert!(
            away.headers
                .iter()
                .all(|(_, value)| !value.to_str().unwrap().contains("evil"))
        );
    }

    #[test]
    fn tokens_are_read_from_files_of_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("token");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read(&format!("{TOKEN}\n"), 0o600), Ok(Token(TOKEN.into())));
        assert!(read(TOKEN, 0o644).unwrap_err().contains("chmod 600"));
        assert!(read("short", 0o600).unwrap_err().contains("at least 16"));
        assert!(
            read("a b c d e f g h i j k", 0o600)
                .unwrap_err()
                .contains("one line")
        );
        assert!(
            read(&"x".repeat(2000), 0o600)
                .unwrap_err()
                .contains("at most")
        );
        assert!(Token::read(&temp.path().join("none")).is_err());
        assert!(!format!("{:?}", Token(TOKEN.into())).contains(TOKEN));
    }

    #[test]
    fn names_of_hosts_are_checked() {
        for wrong in ["", "a b", "lab:80", "http://lab", "lab/"] {
            let made = Guard::new([127, 0, 0, 1].into(), &[wrong.to_owned()], None);
            assert!(made.is_err(), "{wrong}");
        }
    }
}
