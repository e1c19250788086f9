//! The process that serves a modelled disk: `fslab device serve --controlled`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};

use super::{Model, PATIENCE, Served, Store};
use crate::device::stack::await_some;
use crate::{Error, Result};

/// Bytes of the server's messages that are kept for an error.
const MESSAGES: u64 = 4096;

/// The process, which lives as long as its input is open or its disk in use.
pub(super) struct Server {
    child: Child,
    /// The devices file, which it reads when it starts.
    _devices: Option<File>,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

/// A file that has no name, with this text: a guest need not have a place for it.
fn in_memory(text: &str) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("devices.toml", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

impl Server {
    /// Starts one whose front is given by these arguments.
    pub(super) fn start(
        model: &Model,
        size: u64,
        store: &Store,
        front: &[&OsStr],
    ) -> Result<Server> {
        let failed = |error| Error::Cannot {
            thing: model.device.clone(),
            what: "cannot start its server".into(),
            why: std::io::Error::to_string(&error),
            next: "see whether this program can be started again".into(),
        };
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(["device", "serve", &model.device, "--controlled"])
            .args(front)
            .args(["--size", &size.to_string()]);
        if let Some(path) = store.file() {
            command.arg("--store").arg(path);
        }
        let devices = model.devices_file.as_deref().map(in_memory).transpose();
        let devices = devices.map_err(failed)?;
        if let Some(file) = &devices {
            let (process, file) = (std::process::id(), file.as_raw_fd());
            let path = format!("/proc/{process}/fd/{file}");
            command.args(["--devices-file", &path]);
        }
        // A group of its own: a terminal's Ctrl-C is for the run, which ends the server itself.
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = child.map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        Ok(Server {
            pipes: Mutex::new(pipes.map(|(input, output)| (input, BufReader::new(output)))),
            child,
            _devices: devices,
        })
    }

    /// Waits until it serves.
    pub(super) fn ready(&mut self) -> Result<()> {
        let Err(error) = self.say("") else {
            return Ok(());
        };
        // It has ended: what it said is the reason.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut said = String::new();
        if let Some(messages) = self.child.stderr.take() {
            let _ = messages.take(MESSAGES).read_to_string(&mut said);
        }
        let line = said.lines().find(|line| !line.is_empty());
        let Some(line) = line else { return Err(error) };
        Err(Error::Cannot {
            thing: "the server of the modelled disk".into(),
            what: "ended".into(),
            why: line.trim_start_matches("fslab: ").to_owned(),
            next: "see docs/devices.md".into(),
        })
    }

    /// A line to it, a line from it.
    pub(super) fn say(&self, text: &str) -> Result<Served> {
        let failed = |why: String| Error::Cannot {
            thing: "the server of the modelled disk".into(),
            what: "does not answer".into(),
            why,
            next: "see the kernel log (dmesg) for errors of the loop device".into(),
        };
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((input, output)) = pipes.as_mut() else {
            return Err(failed("it was ended".into()));
        };
        let mut line = String::new();
        input
            .write_all(format!("{text}\n").as_bytes())
            .and_then(|()| output.read_line(&mut line))
            .map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&line).map_err(|_| failed("it has ended".into()))
    }

    /// Ends its input, and waits until it has ended.
    pub(super) fn end(&mut self) -> Result<()> {
        *self.pipes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut ended = || self.child.try_wait().ok().flatten();
        if await_some(PATIENCE, &mut ended).is_some() {
            return Ok(());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(Error::NotUndone {
            thing: "the server of the modelled disk".into(),
            why: "its file was still in use; it was killed".into(),
            next: "see losetup -a".into(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without its input it ends as soon as its file is in use no more; it is not waited for.
        *self.pipes.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.child.try_wait();
    }
}
