//! A PostgreSQL server of one test, in a folder of its own, reached through a Unix socket (package postgresql).

use std::path::PathBuf;
use std::process::{Command, Output};

/// A server that ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    /// The URL of its database.
    pub url: String,
    folder: tempfile::TempDir,
    programs: PathBuf,
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                entry.path().join("bin"),
            ))
        })
        .filter(|(_, bin)| bin.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop().map(|(_, bin)| bin)
}

impl Server {
    /// None where no server is installed.
    ///
    /// # Panics
    /// When a server that is installed does not start.
    pub fn start() -> Option<Server> {
        let programs = programs()?;
        let folder = tempfile::Builder::new()
            .prefix("fslab-pg")
            .tempdir_in("/tmp")
            .expect("a folder in /tmp");
        let at = folder.path().display().to_string();
        if crate::is_root() {
            let owned = Command::new("chown")
                .args(["postgres:postgres", &at])
                .status()
                .expect("chown starts");
            assert!(owned.success(), "the user postgres is missing");
        }
        let server = Server {
            url: format!("postgresql:///postgres?host={at}&user=fslab"),
            folder,
            programs,
        };
        let data = format!("{at}/data");
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "fslab",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ],
        );
        let options = format!("-k '{at}' -c listen_addresses='' -c fsync=off");
        let log = format!("{at}/log");
        server.run(
            "pg_ctl",
            &["-D", &data, "-l", &log, "-w", "-o", &options, "start"],
        );
        Some(server)
    }

    /// Runs one of the server's programs; a server never runs as root.
    fn command(&self, program: &str, args: &[&str]) -> Output {
        let program = self.programs.join(program);
        let mut command = if crate::is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        // What pg_ctl starts keeps the pipes of its parent open, so it gets none.
        let out = self.folder.path().with_extension("out");
        let file = std::fs::File::create(&out).expect("a file beside the folder");
        let status = command
            .args(args)
            .current_dir("/")
            .stdin(std::process::Stdio::null())
            .stdout(file.try_clone().expect("a second handle"))
            .stderr(file)
            .status()
            .expect("the server's program starts");
        let text = std::fs::read(&out).unwrap_or_default();
        let _ = std::fs::remove_file(&out);
        Output {
            status,
            stdout: text,
            stderr: Vec::new(),
        }
    }

    fn run(&self, program: &str, args: &[&str]) {
        let output = self.command(program, args);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{program}: {text}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.folder.path().join("data");
        let data = data.to_string_lossy();
        self.command("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}
