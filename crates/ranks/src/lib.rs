//! Workloads on ranks of MPI.
//!
//! A run is one launch: the lab, which is no rank, starts `LAUNCHER fslab __rank`, writes a [`Job`](protocol::Job) to its standard input and
//! reads what rank 0 reports ([`launch`]). Every rank loads the MPI library of its launcher at run time ([`mpi`]) and runs the same
//! function that threads run ([`workload::group`]), so both give the same figures by the same formulas.
//!
//! The library is loaded with dlopen, not linked: one binary runs under Open MPI, MPICH and its descendants, and the standard ABI
//! of MPI 5, and needs none of them to build. Rejected: the crate `mpi`, which needs mpicc and libclang to build, fits one library, and
//! started by another's launcher runs N jobs of one rank without an error; a protocol of our own over TCP, which would need addresses,
//! authentication and an answer to lost peers, all of which a site's launcher has.
//!
//! A launch costs 0.1 to 0.3 s. In return a rank that was killed, stopped or lost leaves nothing for the next trial.

pub mod choice;
pub mod identity;
pub mod launch;
pub mod launcher;
pub mod mpi;
mod outcome;
pub mod protocol;
pub mod rank;
mod shared_memory;
mod watch;

pub use launch::Launched;
pub use launcher::{Launcher, Refusal};
pub use protocol::Ready;

/// Why this program cannot load an MPI library; none: it can.
///
/// A static one cannot: static glibc dies of SIGSEGV in Open MPI's plugins, and musl refuses dlopen.
pub const fn cannot_load() -> Option<&'static str> {
    cannot_load_if(cfg!(target_feature = "crt-static"))
}

const fn cannot_load_if(is_static: bool) -> Option<&'static str> {
    if is_static { Some(STATIC) } else { None }
}

/// Why a static program cannot, and what to do.
const STATIC: &str = "this fslab is a static program, which cannot load an MPI library; use the dynamic build \
                          (fslab-VERSION-ARCH-dynamic of a release, or cargo build)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_says_so_in_one_line_and_a_dynamic_one_loads() {
        let line = cannot_load_if(true).unwrap();
        assert!(
            line.contains("static") && line.contains("dynamic build"),
            "{line}"
        );
        assert!(!line.contains('\n') && !line.contains("  "), "{line}");
        assert_eq!(cannot_load_if(false), None);
        // What this very build is.
        let is_static = cfg!(target_feature = "crt-static");
        assert_eq!(cannot_load().is_some(), is_static);
        let refused = Launcher::of_line("/nowhere/mpirun -np {ranks}").check(1);
        let message = refused.unwrap_err().to_string();
        assert_eq!(message == line, is_static, "{message}");
    }
}
