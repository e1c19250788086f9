//! Ranks on more than one node: namespaces with one kernel, a clock that really differs, two guests with a shared disk.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use common::launchers::{self, Hosts, Mpi, document};
use common::{Scratch, stderr, stdout};
use serde_json::Value;

/// Evidence of a phase by its name.
fn evidence(phase: &Value, name: &str) -> Value {
    let all = phase["evidence"].as_array().unwrap();
    let found = all.iter().find(|seen| seen["name"] == name);
    found.cloned().unwrap_or_default()
}

/// Two nodes with one kernel: their ranks read each other's data, and the cache that both have is dropped.
#[test]
fn ranks_on_two_hosts_read_each_others_data_needs_root() {
    if !testkit::root!("network namespaces") {
        return;
    }
    let scratch = Scratch::new();
    let Some(hosts) = Hosts::up(scratch.path()) else {
        testkit::skip!("no network namespaces here (ip netns)");
        return;
    };
    fs::create_dir(scratch.join("data")).unwrap();
    for mpi in hosts.launchers() {
        let name = mpi.name;
        let line = "bench shared --dir data --ranks 4 --reorder node -b 1m -t 256k --format json";
        let document = document(&mpi.fslab(scratch.path(), line));
        let read = &document["phases"][1];
        let evidence = |phase: usize, name: &str| evidence(&document["phases"][phase], name);
        let program = evidence(0, "same_program");
        let detail = program["detail"].as_str().unwrap();
        assert!(detail.contains("h1 2, h2 2"), "{name}: {detail}");
        assert_eq!(document["parameters"]["nodes"], 2);
        assert_eq!(read["operations"], 16);
        assert_eq!(evidence(1, "other_node_read")["holds"], Value::Null);
        assert_eq!(evidence(1, "cold_cache")["holds"], true, "{name}");
    }
}

/// Starts rank 1 in a time namespace whose monotonic clock is seven seconds ahead.
const AHEAD: &str = r#"#!/bin/bash
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] || exec "$@"
exec unshare --time --monotonic 7 --fork --kill-child -- "$@"
"#;

/// A clock that really differs: it is found, and no result is moved by it.
#[test]
fn a_clock_seven_seconds_ahead_moves_no_result_needs_root() {
    if !testkit::root!("a time namespace") {
        return;
    }
    let probe = ["--time", "--monotonic", "7", "--fork", "true"];
    let made = Command::new("unshare").args(probe).status();
    if !made.is_ok_and(|status| status.success()) {
        testkit::skip!("no time namespaces here (unshare --time)");
        return;
    }
    for mpi in launchers::some() {
        let scratch = Scratch::new();
        let script = scratch.join("ahead");
        fs::write(&script, AHEAD).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let shifted = Mpi {
            launcher: format!("{} {}", mpi.launcher, script.display()),
            ..mpi
        };
        let line = "bench shared --dir . --ranks 2 -b 4k -t 4k -s 1000000 -D 0.5 --test write --format json";
        let document = document(&shifted.fslab(scratch.path(), line));
        let write = &document["phases"][0];
        let agree = evidence(write, "clocks_agree");
        assert_eq!(agree["holds"], true, "{}: {agree}", mpi.name);
        let detail = agree["detail"].as_str().unwrap();
        assert!(detail.starts_with("compared within"), "{detail}");
        let figure = |name: &str| write["figures"][name].as_f64().unwrap();
        assert!(figure("start_spread") < 1.0, "{}: {write}", mpi.name);
        // By the raw clocks the phase would take more than seven seconds.
        let seconds = write["seconds"].as_f64().unwrap();
        let last = figure("last_done");
        assert!((seconds - last).abs() <= figure("start_spread") + 1e-3 && seconds >= last - 1e-3);
    }
}

/// Two guests of scripts/ocfs2-guests, which end with this value.
struct Guests<'a>(&'a Path);

impl Guests<'_> {
    fn script(&self, words: &[&str]) -> Output {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/ocfs2-guests");
        let (verb, rest) = words.split_first().unwrap();
        let mut command = Command::new(script);
        command.arg(verb).arg(self.0).args(rest);
        command.output().unwrap()
    }

    /// fslab's document, of a bench by both guests.
    fn bench(&self, words: &str) -> Value {
        let fslab = self.0.join("fslab");
        let line = format!(
            "{} bench {words} --launcher '{{launcher}}' --format json 2>/tmp/err || cat /tmp/err",
            fslab.display()
        );
        let output = self.script(&["run", &line]);
        let text = stdout(&output);
        // A phase of milliseconds may be too short for its clocks: what was measured is printed all the same.
        let mut documents = serde_json::Deserializer::from_str(&text).into_iter();
        let document: Option<Value> = documents.next().and_then(Result::ok);
        document.unwrap_or_else(|| panic!("{text}{}", stderr(&output)))
    }
}

impl Drop for Guests<'_> {
    fn drop(&mut self) {
        self.script(&["down"]);
    }
}

/// Two kernels, two page caches, two clocks, and one filesystem with distributed locks.
#[test]
fn ocfs2_of_two_guests_is_loaded_by_both_needs_root_needs_uml() {
    let scratch = Scratch::new();
    // Without the temporary folder's symbolic links, and short: guests see this very path.
    let dir = scratch.path().canonicalize().unwrap();
    let guests = Guests(&dir);
    let up = guests.script(&["up", env!("CARGO_BIN_EXE_fslab")]);
    if up.status.code() == Some(77) {
        testkit::skip!("{}", stderr(&up).trim());
        return;
    }
    assert!(up.status.success(), "{}", stderr(&up));
    let shared = guests
        .bench("shared --dir /shared --ranks 2 --layout shared --reorder node -b 256k -t 64k");
    let (write, read) = (&shared["phases"][0], &shared["phases"][1]);
    assert_eq!(
        (&write["bytes"], &read["operations"]),
        (&524_288.into(), &8.into())
    );
    assert_eq!(evidence(read, "other_node_read")["holds"], true, "{read}");
    let clocks = evidence(write, "clocks_agree")["detail"].to_string();
    assert!(clocks.contains("compared within"), "{clocks}");
    let program = evidence(write, "same_program");
    let detail = program["detail"].as_str().unwrap();
    assert!(detail.contains("h1 1, h2 1"), "{detail}");
    drop(guests);
    // Both have let go of the disk, and left it sound.
    let check = Command::new("fsck.ocfs2")
        .arg("-fn")
        .arg(dir.join("disk"))
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "{}{}",
        stdout(&check),
        stderr(&check)
    );
}
