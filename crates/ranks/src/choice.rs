//! Which MPI library: the launcher's own, as far as its environment says which that is.

/// Names of the libraries of each kind, as the loader finds them.
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so"];
const MPICH: &[&str] = &["libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1"];
const ANY: &[&str] = &[
    "libmpi_abi.so.1",
    "libmpi.so.40",
    "libmpich.so.12",
    "libmpi.so.12",
];

/// A launcher, as a rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Open MPI's (`OMPI_COMM_WORLD_SIZE`).
    OpenMpi,
    /// MPICH's or one with its protocol, as `srun --mpi=pmi2` (`PMI_RANK`).
    Mpich,
    /// One that does not say.
    Unknown,
}

impl Started {
    /// By the environment.
    pub fn of(has: impl Fn(&str) -> bool) -> Started {
        if has("OMPI_COMM_WORLD_SIZE") {
            Started::OpenMpi
        } else if has("PMI_RANK") {
            Started::Mpich
        } else {
            Started::Unknown
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Started::OpenMpi => "Open MPI's launcher",
            Started::Mpich => "MPICH's launcher (PMI)",
            Started::Unknown => "an unknown launcher",
        }
    }
}

/// The names to try in this order.
pub fn candidates(asked: Option<&str>, started: Started) -> Vec<String> {
    let names = match (asked, started) {
        (Some(path), _) => return vec![path.to_owned()],
        (None, Started::OpenMpi) => OPEN_MPI,
        (None, Started::Mpich) => MPICH,
        (None, Started::Unknown) => ANY,
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_own_library_comes_first() {
        let started = |names: &[&str]| Started::of(|name| names.contains(&name));
        assert_eq!(
            started(&["OMPI_COMM_WORLD_SIZE", "PMI_RANK"]),
            Started::OpenMpi
        );
        assert_eq!(started(&["PMI_RANK"]), Started::Mpich);
        assert_eq!(
            candidates(None, started(&["PMI_RANK"]))[0],
            "libmpich.so.12"
        );
        assert_eq!(candidates(None, started(&[]))[0], "libmpi_abi.so.1");
        assert_eq!(
            candidates(Some("/x/libmpi.so"), Started::Mpich),
            ["/x/libmpi.so"]
        );
    }
}
