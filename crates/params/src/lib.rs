//! The parameters of each workload, defined once.
//!
//! A parameter is read from three places (a study file, the log of a run, the command line) and used
//! in two (the plan's estimates, the workload itself). Each workload has one struct here, with its
//! serde names, JSON schema, command-line options, defaults and validation side by side. A study
//! expands to these structs, `fslab bench` flattens them into its options, and the crate `workload`
//! runs them. Rejected: one struct for each reader with conversions between them. A new parameter
//! then costs five edits, and a forgotten one is silently ignored.
//!
//! What a study file cannot set is marked `#[serde(skip)]`: where the workload runs, its seed (a
//! trial has its own), and switches of the original programs that would make no sense in a trial.
//! These fields are not in the schema and not in the log.
//!
//! Where the command line has another default than a study, both are in the same place: a study
//! repeats a published experiment, while `fslab bench` should answer within seconds.
//!
//! [`workloads!`] is the list of all workloads. A new one is a file here with a struct that
//! implements [`Parameters`], a folder in `workload` that runs it, and an entry in that list.
//!
//! The clap derives are not optional: a guest boots the same binary, so a feature would save
//! nothing there.

pub mod age;
pub mod engine;
pub mod fill;
pub mod fio;
pub mod footprint;
mod foreign;
mod invalid;
pub mod metadata;
pub mod mix;
mod parameters;
pub mod ranks;
pub mod scan;
pub mod shared;
pub mod stream;
pub mod throughput;
pub mod tree;
pub mod units;
mod workload;

pub use age::AgeSpec;
pub use fill::FillSpec;
pub use footprint::Footprint;
pub use foreign::ForeignSpec;
pub use invalid::Invalid;
pub use metadata::MetadataSpec;
pub use mix::MixSpec;
pub use parameters::{Load, Parameters};
pub use scan::ScanSpec;
pub use shared::SharedSpec;
pub use stream::StreamSpec;
pub use throughput::ThroughputSpec;
pub use tree::TreeSpec;
pub use units::Bytes;
pub use workload::WorkloadSpec;

/// The list of workloads: calls a macro with `Variant(Parameters) = "name"` for each of them.
///
/// The name is the workload's `kind` in study files and its subcommand of `fslab bench`.
#[macro_export]
macro_rules! workloads {
    ($callback:ident) => {
        $callback! {
            /// iozone's throughput mode.
            Throughput(ThroughputSpec) = "throughput",
            /// compilebench.
            Tree(TreeSpec) = "tree",
            /// aiod and dd: one file, streamed.
            Stream(StreamSpec) = "stream",
            /// fs_mark: many files.
            Fill(FillSpec) = "fill",
            /// Files added and removed in rounds until the filesystem is aged.
            Age(AgeSpec) = "age",
            /// fio: reads and writes mixed, timed, at a limited rate.
            Mix(MixSpec) = "mix",
            /// IOR: ranks that write and read together.
            Shared(SharedSpec) = "shared",
            /// mdtest: ranks that create, stat, read and remove many small files.
            Metadata(MetadataSpec) = "metadata",
            /// How a checker reads: the experiments of 2011.
            Scan(ScanSpec) = "scan",
        }
    };
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    fn parsed<T: Args>(words: &[&str]) -> T {
        let command = T::augment_args(Command::new("bench").no_binary_name(true));
        let matches = command.try_get_matches_from(words).unwrap();
        T::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn the_command_line_has_the_defaults_of_a_study_except_where_those_are_large() {
        assert_eq!(
            parsed::<ThroughputSpec>(&["--dir", "/d"]),
            ThroughputSpec {
                size: Bytes(512 * Bytes::KIB),
                record: Bytes(4 * Bytes::KIB),
                ..ThroughputSpec::new("/d")
            }
        );
        assert_eq!(parsed::<TreeSpec>(&["--dir", "/d"]), TreeSpec::new("/d"));
        assert_eq!(
            parsed::<StreamSpec>(&["--dir", "/d"]),
            StreamSpec {
                // A directory cannot be unmounted.
                between: stream::Between::Drop,
                ..StreamSpec::new("/d")
            }
        );
        assert_eq!(
            parsed::<FillSpec>(&["--dir", "/d"]),
            FillSpec {
                seed: 2012,
                ..FillSpec::new("/d")
            }
        );
        assert_eq!(
            parsed::<AgeSpec>(&["--dir", "/d"]),
            AgeSpec {
                seed: 2012,
                keep: true,
                ..AgeSpec::reduced("/d")
            }
        );
        assert_eq!(
            parsed::<MixSpec>(&["--dir", "/d"]),
            MixSpec {
                size: Bytes(64 * Bytes::MIB),
                seed: 2012,
                ..MixSpec::new("/d")
            }
        );
        assert_eq!(
            parsed::<SharedSpec>(&["--dir", "/d"]),
            SharedSpec {
                seed: 2012,
                ..SharedSpec::new("/d")
            }
        );
        assert_eq!(
            parsed::<MetadataSpec>(&["--dir", "/d"]),
            MetadataSpec::new("/d")
        );
    }
}
