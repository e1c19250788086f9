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
mod watch;

pub use launch::Launched;
pub use launcher::{Launcher, Refusal};
pub use protocol::Ready;

/// Whether this program can load an MPI library: a static one cannot load any (static glibc dies of it in Open MPI, musl refuses).
pub const fn can_load() -> bool {
    !cfg!(target_feature = "crt-static")
}

/// What to do where [`can_load`] is false.
pub const STATIC: &str = "this fslab is a static program, which cannot load an MPI library; use the dynamic build \
                          (fslab-VERSION-ARCH-dynamic of a release, or cargo build)";
