//! All tests of `fslab` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod authority;
mod bad_input;
mod bench;
mod bench_fsck;
mod broken_off;
mod builtin;
mod check;
mod check_crashed;
mod check_memory;
mod check_target;
mod checks;
mod cli_suite;
mod common;
mod compare;
mod compare_gates;
mod compare_store;
mod counter_experiments;
mod crash;
mod delayed;
mod device;
mod docs;
mod docs_commands;
mod docs_links;
mod estimates;
mod explain;
mod fio_job;
mod fleet;
mod forge;
mod forge_damage;
mod fsck_io;
mod fsck_io_forged;
mod fsck_scale_forged;
mod guest;
mod guest_failures;
mod hostile;
mod hosts;
mod kernel;
mod kernels;
mod layout;
mod limits;
mod machines;
mod modelled_disk;
mod odd_files;
mod other_filesystems;
mod output_files;
mod own_studies;
mod packaged;
mod ranks;
mod ranks_broken;
mod ranks_hosts;
mod refusals;
mod released;
mod run_whole;
mod same_layout;
#[cfg(feature = "serve")]
mod serve;
mod served_disk;
mod site;
mod stacks;
mod store;
mod trace;
mod trace_report;
mod traced;
mod ublk;
mod virtual_time;
mod wrong_input;
