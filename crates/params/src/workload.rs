//! A workload of any kind.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgeSpec, FillSpec, ForeignSpec, MetadataSpec, MixSpec, Parameters, ScanSpec, SharedSpec,
    StreamSpec, ThroughputSpec, TreeSpec, workloads,
};

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($spec:ident) = $kind:literal,)+) => {
        /// A workload with all its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum WorkloadSpec {
            $($(#[$doc])* $variant($spec),)+
            /// Another program's: its results are imported. Not in the list of workloads, because it cannot be run.
            #[schemars(skip)]
            Foreign(ForeignSpec),
        }

        $(
            impl $spec {
                /// The workload's name in study files and on the command line.
                pub const KIND: &'static str = $kind;
            }
        )+

        impl WorkloadSpec {
            /// The workload's name in study files and on the command line.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(WorkloadSpec::$variant(_) => $spec::KIND,)+
                    WorkloadSpec::Foreign(_) => ForeignSpec::KIND,
                }
            }

            /// Its parameters, whatever its kind.
            pub const fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(WorkloadSpec::$variant(spec) => spec,)+
                    WorkloadSpec::Foreign(spec) => spec,
                }
            }

            const fn parameters_mut(&mut self) -> &mut dyn Parameters {
                match self {
                    $(WorkloadSpec::$variant(spec) => spec,)+
                    WorkloadSpec::Foreign(spec) => spec,
                }
            }
        }
    };
}

workloads!(define);

impl WorkloadSpec {
    /// The workload of one trial, on the filesystem mounted at `dir`, with the trial's seed.
    #[must_use]
    pub fn placed(&self, dir: &Path, seed: u64) -> WorkloadSpec {
        let mut placed = self.clone();
        placed.parameters_mut().place(dir, seed);
        placed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! defaults {
        ($($(#[$doc:meta])* $variant:ident($spec:ident) = $kind:literal,)+) => {
            [$((WorkloadSpec::$variant($spec::default()), $kind),)+]
        };
    }

    #[test]
    fn the_kind_is_the_tag_and_what_a_study_cannot_set_is_not_written() {
        for (spec, kind) in workloads!(defaults) {
            let json = serde_json::to_value(&spec).unwrap();
            assert_eq!((spec.kind(), json["kind"].as_str()), (kind, Some(kind)));
            let placed = spec.placed(Path::new("/nowhere"), 7);
            assert_ne!(placed, spec, "{kind}");
            assert_eq!(serde_json::to_value(&placed).unwrap(), json);
            let read: WorkloadSpec = serde_json::from_value(json).unwrap();
            assert_eq!(read, spec);
        }
    }

    #[test]
    fn what_another_program_measured_is_kept_and_cannot_be_run() {
        let spec = ForeignSpec {
            program: "fio".into(),
            parameters: [("rw".into(), "randread".into())].into(),
        };
        let foreign = WorkloadSpec::Foreign(spec);
        let json = serde_json::to_value(&foreign).unwrap();
        assert_eq!(json["kind"], "foreign");
        assert_eq!(
            serde_json::from_value::<WorkloadSpec>(json).unwrap(),
            foreign
        );
        let refused = foreign.parameters().validate().unwrap_err();
        assert!(
            refused.to_string().contains("fslab import --from"),
            "{refused}"
        );
    }

    #[test]
    fn defaults_are_valid() {
        for (spec, kind) in workloads!(defaults) {
            assert_eq!(spec.parameters().validate(), Ok(()), "{kind}");
        }
    }
}
