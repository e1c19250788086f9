//! Files of a guest, on their way into the run's folder.
//!
//! A guest's kernel may come from anywhere, so what it sends is checked like any other input. Its
//! files arrive in their own folder and move to their places only when the guest has ended well:
//! a partial file never has a name that counts, and none of the run's own files (its log, its
//! lock, the journal of what `fslab clean` undoes) can be written by a guest, because a name has to
//! be one that this very trial leaves.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// Top folders of the run's own; everything else with a part named by the trial is the trial's.
const OURS: [&str; 3] = ["images", "mnt", "guests"];

/// The folder that a guest's files arrive in; gone when dropped.
#[derive(Debug)]
pub(super) struct Arriving {
    run: PathBuf,
    folder: PathBuf,
}

impl Arriving {
    /// The folder of this name below the run's `guests`. What a killed lab left in it goes.
    pub(super) fn new(run: &Path, name: &str) -> Arriving {
        let folder = run.join("guests").join(format!("{name}.files"));
        let _ = fs::remove_dir_all(&folder);
        Arriving {
            run: run.to_owned(),
            folder,
        }
    }

    /// The folder; the machine makes it when a file arrives.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the files of a trial (0-based) to their places in the run.
    ///
    /// # Errors
    /// A name that is not one of this trial's, before anything moved; a file that cannot be moved.
    pub(super) fn install(self, trial: u32) -> Result<(), Error> {
        let mut files = Vec::new();
        below(&self.folder, Path::new(""), &mut files)
            .map_err(|source| failed(&self.folder, source))?;
        if let Some(strange) = files.iter().find(|file| !is_of_trial(file, trial)) {
            return Err(Error::Preflight(format!(
                "the guest sent {}, which is no result of its trial; none of its files is kept",
                strange.display()
            )));
        }
        for file in files {
            let to = self.run.join(&file);
            let above = to.parent().map_or(Ok(()), fs::create_dir_all);
            above
                .and_then(|()| fs::rename(self.folder.join(&file), &to))
                .map_err(|source| failed(&to, source))?;
        }
        Ok(())
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        source,
    }
}

/// All files below a folder, by their paths in it; no folder, no files.
fn below(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            below(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a trial (0-based) leaves files of this name: `FOLDER/trial-0001...`.
fn is_of_trial(path: &Path, trial: u32) -> bool {
    let mut parts = path.components();
    let (Some(Component::Normal(top)), Some(Component::Normal(own))) = (parts.next(), parts.next())
    else {
        return false;
    };
    let name = format!("trial-{:04}", trial + 1);
    let own = own.to_string_lossy();
    let rest = own.strip_prefix(&name);
    let ours = OURS.iter().any(|folder| top == *folder);
    !ours && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(run: &Path, files: &[&str]) -> Arriving {
        let arriving = Arriving::new(run, "trial-0002");
        for file in files {
            let path = arriving.folder().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "new").unwrap();
        }
        arriving
    }

    #[test]
    fn a_trials_files_come_to_their_places() {
        let run = tempfile::tempdir().unwrap();
        let files = [
            "telemetry/trial-0002.tele",
            "layouts/trial-0002/0/a",
            "traces/trial-0002/x.blktrace.0",
            "checks/trial-0002.txt",
        ];
        // An attempt before this one, torn off by a kill.
        fs::create_dir_all(run.path().join("telemetry")).unwrap();
        fs::write(run.path().join(files[0]), "torn").unwrap();
        fs::create_dir_all(run.path().join("guests/trial-0002.files")).unwrap();
        fs::write(run.path().join("guests/trial-0002.files/old"), "torn").unwrap();
        arrived(run.path(), &files).install(1).unwrap();
        for file in files {
            assert_eq!(
                fs::read_to_string(run.path().join(file)).unwrap(),
                "new",
                "{file}"
            );
        }
        assert_eq!(fs::read_dir(run.path().join("guests")).unwrap().count(), 0);
        arrived(run.path(), &[]).install(1).unwrap();
    }

    #[test]
    fn nothing_of_the_runs_own_can_be_written() {
        for name in [
            "events.jsonl",
            "lock",
            rig::undo::FILE,
            "index.sqlite",
            "report.html",
            "guests/trial-0002.console",
            "images/trial-0002",
            "mnt/trial-0002/x",
            "telemetry/trial-0001.tele",
            "telemetry/trial-00021.tele",
            "telemetry",
            "trial-0002",
        ] {
            let run = tempfile::tempdir().unwrap();
            fs::write(run.path().join("events.jsonl"), "kept").unwrap();
            let good = "telemetry/trial-0002.tele";
            let printed = arrived(run.path(), &[name]).install(1).unwrap_err();
            assert!(printed.to_string().contains(name), "{printed}");
            assert!(!run.path().join(good).exists());
            let left: Vec<_> = fs::read_dir(run.path()).unwrap().flatten().collect();
            assert_eq!(left.len(), 2, "{name}: {left:?}");
            let log = fs::read_to_string(run.path().join("events.jsonl")).unwrap();
            assert_eq!(log, "kept");
        }
    }
}
