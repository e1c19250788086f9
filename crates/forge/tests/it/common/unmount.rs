//! Taking a mount away while other tests start programs.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Unmounts. What another thread starts holds a copy of every open file between its fork and its exec, and so keeps a
/// mount busy whose files we closed: the unmount is retried for some seconds.
///
/// # Errors
/// The last message of umount.
pub(crate) fn unmount(at: &Path) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let output = Command::new("umount").arg(at).output();
        let output = output.map_err(|error| format!("umount: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.contains("busy") || began.elapsed() > Duration::from_secs(10) {
            return Err(output);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
