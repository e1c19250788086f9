//! What a study expands to: variants, workload parameters, cells, trials and the plan.
//!
//! These are plain values that serialise. The plan is written into the run's event log before
//! anything is touched, so a killed run resumes from the log alone, without its study file.
//! A [`Trial`] is what an executor runs, here or later in a guest kernel.

mod cell;
mod check;
mod clock;
mod crash;
mod device;
mod estimate;
mod filesystem;
mod fleet;
mod grid;
mod growth;
mod layout;
mod measured;
mod needs;
mod plan;
mod stack;
mod table;
mod volume;

pub use cell::{Cell, Slot, Trial};
pub use check::{CheckSpec, Checker};
pub use clock::Clock;
pub use crash::{CrashBoundary, CrashMethod, CrashSpec};
pub use device::{DeviceSpec, Hints};
pub use estimate::EstimateSpec;
pub use filesystem::{FilesystemKind, FilesystemVariant};
pub use fleet::FleetSpec;
pub use grid::{GridColumn, GridLabel, GridSpec};
pub use growth::GrowthSpec;
pub use layout::LayoutSpec;
pub use measured::{Measured, MeasuredRates, VariantCosts};
pub use needs::{NeedsSpec, Times};
pub use plan::{Order, Plan};
pub use stack::{
    Delay, Failing, Flakey, Geometry, Layers, Level as RaidLevel, LogWrites, MODEL, Md, Metadata,
    Model, NullBlk, PLAIN, Stack, StackFile, StackKind, Striped,
};
pub use table::{RowSpec, TableSpec};
pub use volume::Volume;

pub use params::metadata::Items as MetadataItems;
pub use params::scan::{Population, Reader};
pub use params::shared::{Layout as SharedLayout, Reorder};
pub use params::{
    AgeSpec, FillSpec, ForeignSpec, MetadataSpec, MixSpec, ScanSpec, SharedSpec, StreamSpec,
    ThroughputSpec, TreeSpec, WorkloadSpec,
};
