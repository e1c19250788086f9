//! Files of a guest, on their way into the run's folder.
//!
//! A guest's kernel may come from anywhere, so what it sends is checked like any other input. Its
//! files arrive in their own folder and move to their places only when the guest has ended well:
//! a partial file never has a name that counts, and none of the run's own files (its log, its
//! lock, the journal of what `fslab clean` undoes) can be written by a guest, because a name has to
//! be one that this very trial leaves.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rundir::RunDir;
use rustix::fs::FileType;

use crate::error::Error;

/// Top folders of the run's own; everything else with a part named by the trial is the trial's.
const OURS: [&str; 3] = ["images", "mnt", "guests"];

/// The folder that a guest's files arrive in; gone when dropped.
#[derive(Debug)]
pub(super) struct Arriving {
    run: Arc<RunDir>,
    /// Its path in the run's folder.
    name: String,
    folder: RunDir,
}

impl Arriving {
    /// The folder of this name below the run's `guests`. What a killed lab left in it goes.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn new(run: &Arc<RunDir>, name: &str) -> Result<Arriving, rundir::Error> {
        let name = format!("guests/{name}.files");
        run.remove_tree(&name)?;
        run.make_folder(&name)?;
        Ok(Arriving {
            run: Arc::clone(run),
            folder: run.below(&name)?,
            name,
        })
    }

    /// A path that leads to the folder while this lives.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder.reach()
    }

    /// The path of a file in it, for people.
    pub(super) fn shown(&self, file: &Path) -> PathBuf {
        match file.strip_prefix(self.folder()) {
            Ok(below) => self.folder.path().join(below),
            Err(_) => file.to_owned(),
        }
    }

    /// Moves the files of a trial (0-based) to their places in the run.
    ///
    /// # Errors
    /// A name that is not one of this trial's, before anything moved; a file that cannot be moved.
    pub(super) fn install(self, trial: u32) -> Result<(), Error> {
        let mut files = Vec::new();
        below(&self.folder, Path::new(""), &mut files).map_err(record::Error::from)?;
        if let Some(strange) = files.iter().find(|file| !is_of_trial(file, trial)) {
            return Err(Error::Preflight(format!(
                "the guest sent {}, which is no result of its trial; none of its files is kept",
                strange.display()
            )));
        }
        for file in files {
            let arrived = Path::new(&self.name).join(&file);
            let above = file
                .parent()
                .map_or(Ok(true), |above| self.run.make_folder(above));
            above
                .and_then(|_| self.run.rename(arrived, &file))
                .map_err(record::Error::from)?;
        }
        Ok(())
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let _ = self.run.remove_tree(&self.name);
    }
}

/// All files below a folder, by their paths in `root`.
fn below(root: &RunDir, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), rundir::Error> {
    let opened;
    let here = if folder == Path::new("") {
        root
    } else {
        opened = root.below(folder)?;
        &opened
    };
    for name in here.names("")? {
        let name = Path::new(OsStr::from_bytes(name.to_bytes()));
        let is_folder = here
            .status(name)?
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        if is_folder {
            below(root, &folder.join(name), files)?;
        } else {
            files.push(folder.join(name));
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
    use std::fs;
    use std::os::unix::fs::symlink;

    fn arrived(run: &Path, files: &[&str]) -> Arriving {
        let run = Arc::new(RunDir::open(run).unwrap());
        let arriving = Arriving::new(&run, "trial-0002").unwrap();
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

    /// Another user moves the folder away and puts one with links in its place.
    #[test]
    fn files_go_to_the_opened_folder_and_through_no_link() {
        let temp = tempfile::tempdir().unwrap();
        let (run, other) = (temp.path().join("run"), temp.path().join("other"));
        fs::create_dir(&run).unwrap();
        fs::create_dir_all(other.join("guests/trial-0002.files/telemetry")).unwrap();
        fs::write(
            other.join("guests/trial-0002.files/telemetry/trial-0002.tele"),
            "theirs",
        )
        .unwrap();
        let arriving = arrived(&run, &["telemetry/trial-0002.tele"]);
        fs::rename(&run, temp.path().join("moved")).unwrap();
        symlink(&other, &run).unwrap();
        arriving.install(1).unwrap();
        assert!(!other.join("telemetry").exists());
        assert!(other.join("guests/trial-0002.files").exists());
        let kept = fs::read_to_string(temp.path().join("moved/telemetry/trial-0002.tele"));
        assert_eq!(kept.unwrap(), "new");
        // A link in the run's own folder.
        let victim = temp.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let moved = temp.path().join("moved");
        symlink(&victim, moved.join("checks")).unwrap();
        arrived(&moved, &["checks/trial-0002.txt"])
            .install(1)
            .unwrap_err();
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    }
}
