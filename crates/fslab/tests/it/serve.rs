//! `fslab serve` from the outside: the address that it prints, a token, and the end by a signal. What it answers is tested in the
//! crate `site`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Scratch, assert_code, error_line, example_run, fslab, run_in};

#[test]
fn it_prints_its_address_serves_and_ends_by_a_signal() {
    let scratch = Scratch::new();
    example_run(&scratch);
    let token = "0123456789abcdef-token";
    let file = scratch.join("token");
    std::fs::write(&file, token).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    for signal in [Signal::INT, Signal::TERM] {
        let mut server = fslab()
            .current_dir(scratch.path())
            .args([
                "serve",
                "--from",
                ".",
                "--listen",
                "127.0.0.1:0",
                "--token-file",
                "token",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("http://")
            .unwrap()
            .trim_end_matches('/');
        let ask = |headers: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(ask("").starts_with("HTTP/1.1 401"));
        let page = ask(&format!("Authorization: Bearer {token}\r\n"));
        assert!(
            page.starts_with("HTTP/1.1 200") && page.contains("example"),
            "{page}"
        );
        kill_process(Pid::from_child(&server), signal).unwrap();
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn an_address_that_others_reach_needs_a_token_file_of_its_own() {
    let scratch = Scratch::new();
    example_run(&scratch);
    let serve = |more: &[&str]| {
        let args = [&["serve", "--from", ".", "--listen", "0.0.0.0:0"], more].concat();
        run_in(scratch.path(), &args)
    };
    let output = serve(&[]);
    assert_code(&output, 2);
    assert!(error_line(&output).contains("--token-file"));
    let file = scratch.join("token");
    std::fs::write(&file, "0123456789abcdef").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = serve(&["--token-file", "token"]);
    assert_code(&output, 2);
    assert!(error_line(&output).contains("chmod 600"));
}
