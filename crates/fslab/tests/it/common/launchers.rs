//! The MPI libraries of this machine, each with its launcher.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::fslab;

/// One MPI.
#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
    /// As `--launcher` has it.
    pub(crate) launcher: String,
    pub(crate) library: Option<PathBuf>,
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The library of the standard ABI: where `FSLAB_MPI_ABI` says, or where the tests' packages put it.
fn standard() -> Option<PathBuf> {
    let named = std::env::var_os("FSLAB_MPI_ABI").map(PathBuf::from);
    let usual = PathBuf::from("/opt/fslab-mpich5/lib/libmpi_abi.so.1");
    named.into_iter().chain([usual]).find(|path| path.is_file())
}

/// All that are here, at most one of each ABI.
pub(crate) fn all() -> Vec<Mpi> {
    let mut all = Vec::new();
    if on_path("mpirun.openmpi") {
        all.push(Mpi {
            name: "Open MPI",
            launcher: "mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -np {ranks}"
                .into(),
            library: None,
        });
    }
    if on_path("mpirun.mpich") {
        all.push(Mpi {
            name: "MPICH",
            launcher: "mpirun.mpich -np {ranks}".into(),
            library: None,
        });
    }
    if let Some(library) = standard() {
        let root = library.parent().and_then(Path::parent);
        let launcher = root.map(|root| root.join("bin/mpiexec.hydra"));
        all.extend(launcher.filter(|path| path.is_file()).map(|launcher| Mpi {
            name: "standard ABI",
            launcher: format!("{} -np {{ranks}}", launcher.display()),
            library: Some(library),
        }));
    }
    all
}

/// Those that are here; the missing are skipped, each counted.
pub(crate) fn some() -> Vec<Mpi> {
    let all = all();
    for (name, package) in [
        ("Open MPI", "package openmpi-bin"),
        ("MPICH", "package mpich"),
        ("standard ABI", "FSLAB_MPI_ABI, Python's wheel mpich"),
    ] {
        if !all.iter().any(|mpi| mpi.name == name) {
            testkit::skip!("{name}: {package}");
        }
    }
    all
}

impl Mpi {
    /// The options that name it.
    pub(crate) fn options(&self) -> Vec<String> {
        let mut options = vec!["--launcher".to_owned(), self.launcher.clone()];
        if let Some(library) = &self.library {
            options.extend(["--mpi-library".to_owned(), library.display().to_string()]);
        }
        options
    }

    /// The binary with the environment that lets Open MPI start as root.
    pub(crate) fn fslab(&self, dir: &Path, words: &str) -> Output {
        self.command(dir, words).output().unwrap()
    }

    pub(crate) fn command(&self, dir: &Path, words: &str) -> Command {
        let mut command = fslab();
        command
            .current_dir(dir)
            .args(words.split_whitespace())
            .args(self.options())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }
}

/// Processes of ranks that were started in this folder.
pub(crate) fn ranks_in(dir: &Path) -> Vec<i32> {
    let dir = dir.canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        let is_rank = words.nth(1) == Some(b"__rank");
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == dir);
        if is_rank && here {
            found.push(pid);
        }
    }
    found.sort_unstable();
    found
}
