//! Measurements of fslab itself, and two long tests, in one program with a subcommand for each:
//! `cargo run --release -p benches -- NAME`.
//!
//! Each prints a table with targets and ends with 0 when all are met, 3 when some are missed, 2 when
//! something that it needs is missing, 1 when it failed. They are not tests with a time limit: a busy
//! machine would make such tests fail, and people would then stop believing them.
//!
//! Three of them judge verdicts, not times: `compare_power` counts how often the verdicts between runs are
//! right, `check_differential` compares the checker's verdict with e2fsck's or fsck.ocfs2's on thousands of damaged images,
//! and `guest_pass` makes, mounts, fills and checks every device and filesystem in guests. They take minutes
//! to hours where a test may take seconds, so `scripts/bench` runs them and `make test` does not.
//!
//! All are in one library, so that they and their unit tests are linked once.

pub mod arguments;
mod blockio_vs_peers;
mod build_vs_build;
mod check_differential;
mod check_differential_xfs;
mod check_vs_e2fsck;
mod check_vs_fsck_ocfs2;
mod check_vs_xfs_repair;
mod checker_pairs;
mod checker_rows;
mod compare_power;
mod counter_experiments;
mod device_live;
mod device_speed;
mod device_virtual;
mod fill_vs_fs_mark;
pub mod fio;
mod forge_scale;
mod guest_pass;
mod guest_start;
pub mod image;
mod latency_cost;
mod layout_vs_filefrag;
pub mod limited;
mod loop_device;
pub mod memory;
mod mix_vs_fio;
pub mod needs;
pub mod pairs;
mod ranks_vs_peers;
pub mod run;
mod run_overhead;
mod site;
pub mod sparse;
mod store_scale;
mod stream_vs_peers;
pub mod table;
mod throughput_vs_fio;
mod throughput_vs_iozone;
mod trace_capture;
mod trace_vs_blkparse;
mod tree_overhead;
pub mod watched;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures fslab against its peers; each bench prints a table with targets
#[derive(Parser, Debug)]
#[command(name = "benches")]
struct Command {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand, Debug)]
#[command(rename_all = "snake_case")]
enum Bench {
    BlockioVsPeers(blockio_vs_peers::Arguments),
    BuildVsBuild(build_vs_build::Arguments),
    CheckDifferential(check_differential::Arguments),
    CheckDifferentialXfs(check_differential_xfs::Arguments),
    CheckVsE2fsck(check_vs_e2fsck::Arguments),
    CheckVsFsckOcfs2(check_vs_fsck_ocfs2::Arguments),
    CheckVsXfsRepair(check_vs_xfs_repair::Arguments),
    ComparePower(compare_power::Arguments),
    CounterExperiments(counter_experiments::Arguments),
    DeviceLive(device_live::Arguments),
    DeviceSpeed(device_speed::Arguments),
    DeviceVirtual(device_virtual::Arguments),
    FillVsFsMark(fill_vs_fs_mark::Arguments),
    ForgeScale(forge_scale::Arguments),
    GuestPass(guest_pass::Arguments),
    GuestStart(guest_start::Arguments),
    LatencyCost(latency_cost::Arguments),
    LayoutVsFilefrag(layout_vs_filefrag::Arguments),
    MixVsFio(mix_vs_fio::Arguments),
    RanksVsPeers(ranks_vs_peers::Arguments),
    RunOverhead(run_overhead::Arguments),
    Site(site::Arguments),
    StoreScale(store_scale::Arguments),
    StreamVsPeers(stream_vs_peers::Arguments),
    ThroughputVsFio(throughput_vs_fio::Arguments),
    ThroughputVsIozone(throughput_vs_iozone::Arguments),
    TraceCapture(trace_capture::Arguments),
    TraceVsBlkparse(trace_vs_blkparse::Arguments),
    TreeOverhead(tree_overhead::Arguments),
}

/// Runs the bench named by the arguments.
pub fn main() -> ExitCode {
    match Command::parse().bench {
        Bench::BlockioVsPeers(arguments) => blockio_vs_peers::main(arguments),
        Bench::BuildVsBuild(arguments) => build_vs_build::main(&arguments),
        Bench::CheckDifferential(arguments) => check_differential::main(&arguments),
        Bench::CheckDifferentialXfs(arguments) => check_differential_xfs::main(&arguments),
        Bench::CheckVsE2fsck(arguments) => check_vs_e2fsck::main(arguments),
        Bench::CheckVsFsckOcfs2(arguments) => check_vs_fsck_ocfs2::main(arguments),
        Bench::CheckVsXfsRepair(arguments) => check_vs_xfs_repair::main(arguments),
        Bench::ComparePower(arguments) => compare_power::main(&arguments),
        Bench::CounterExperiments(arguments) => counter_experiments::main(&arguments),
        Bench::DeviceLive(arguments) => device_live::main(&arguments),
        Bench::DeviceSpeed(arguments) => device_speed::main(&arguments),
        Bench::DeviceVirtual(arguments) => device_virtual::main(&arguments),
        Bench::FillVsFsMark(arguments) => fill_vs_fs_mark::main(arguments),
        Bench::ForgeScale(arguments) => forge_scale::main(&arguments),
        Bench::GuestPass(arguments) => guest_pass::main(&arguments),
        Bench::GuestStart(arguments) => guest_start::main(&arguments),
        Bench::LatencyCost(arguments) => latency_cost::main(arguments),
        Bench::LayoutVsFilefrag(arguments) => layout_vs_filefrag::main(arguments),
        Bench::MixVsFio(arguments) => mix_vs_fio::main(arguments),
        Bench::RanksVsPeers(arguments) => ranks_vs_peers::main(arguments),
        Bench::RunOverhead(arguments) => run_overhead::main(&arguments),
        Bench::Site(arguments) => site::main(&arguments),
        Bench::StoreScale(arguments) => store_scale::main(&arguments),
        Bench::StreamVsPeers(arguments) => stream_vs_peers::main(arguments),
        Bench::ThroughputVsFio(arguments) => throughput_vs_fio::main(arguments),
        Bench::ThroughputVsIozone(arguments) => throughput_vs_iozone::main(arguments),
        Bench::TraceCapture(arguments) => trace_capture::main(arguments),
        Bench::TraceVsBlkparse(arguments) => trace_vs_blkparse::main(arguments),
        Bench::TreeOverhead(arguments) => tree_overhead::main(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_benches_of_the_script_are_subcommands_by_their_names() {
        let command = Command::command();
        command.clone().debug_assert();
        let script = include_str!("../../scripts/bench");
        let list = script.split_once("benches=(\n").unwrap().1;
        let (list, rest) = list.split_once("\n)").unwrap();
        let apart = [
            "check_differential",
            "check_vs_fsck_ocfs2",
            "check_vs_xfs_repair",
            "mix_vs_fio",
            "ranks_vs_peers",
            "throughput_vs_iozone",
        ];
        for name in list.split_whitespace().chain(apart) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        assert!(rest.contains("measure check_differential"));
        for name in [
            "throughput_vs_iozone",
            "ranks_vs_peers",
            "mix_vs_fio",
            "check_vs_fsck_ocfs2",
            "check_vs_xfs_repair",
        ] {
            assert!(rest.contains(&format!("optional {name}")), "{name}");
        }
    }
}
