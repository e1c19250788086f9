//! The MPI libraries of this machine, each with its launcher.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::{assert_ran, fslab, stderr, stdout};

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
        ("standard ABI", "FSLAB_MPI_ABI, or scripts/install-mpi-abi"),
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

/// The document, of evidence that may be in doubt where ranks are more than processors.
pub(crate) fn document(output: &Output) -> Value {
    assert_ran(output);
    serde_json::from_str(&stdout(output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

/// Two hosts as network namespaces.
const NAMESPACES: &str = include_str!("../../data/namespaces.sh");

/// Two nodes with one kernel, which end with this value. `openmpi` and `mpich` in the folder start ranks on them.
pub(crate) struct Hosts<'a> {
    folder: &'a Path,
    name: String,
}

impl Hosts<'_> {
    /// Makes them; none: this machine has no network namespaces.
    pub(crate) fn up(folder: &Path) -> Option<Hosts<'_>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fsl{}x{number}", std::process::id());
        let hosts = Hosts { folder, name };
        hosts.script("up").then_some(hosts)
    }

    fn script(&self, verb: &str) -> bool {
        let done = Command::new("bash")
            .args(["-c", NAMESPACES, "bash", verb, &self.name])
            .arg(self.folder)
            .output();
        done.is_ok_and(|output| output.status.success())
    }

    /// Cuts the second host off the network.
    pub(crate) fn cut(&self) {
        assert!(self.script("cut"), "the link of h2 goes down");
    }

    /// The launchers of those libraries that are here; the missing are skipped.
    pub(crate) fn launchers(&self) -> Vec<Mpi> {
        let all = all();
        let mut found = Vec::new();
        for (name, script) in [("Open MPI", "openmpi"), ("MPICH", "mpich")] {
            if all.iter().any(|mpi| mpi.name == name) {
                found.push(Mpi {
                    name,
                    launcher: format!("{} {{ranks}}", self.folder.join(script).display()),
                    library: None,
                });
            } else {
                testkit::skip!("{name}");
            }
        }
        found
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        self.script("down");
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
