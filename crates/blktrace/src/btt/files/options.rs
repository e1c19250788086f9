//! Which files to write.

use std::path::PathBuf;

/// Which files to write, and where. A prefix precedes `_8,0_...dat`.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// The folder of all of them.
    pub folder: PathBuf,
    /// iostat's columns, in this file (-I).
    pub iostat: Option<String>,
    /// Seconds of an interval there (-S); 1 if it is 0.
    pub iostat_seconds: f64,
    /// The steps of each bio, in this file (-p).
    pub per_io: Option<String>,
    /// The times of each request: `8,0_pit.dat` (-P).
    pub per_request: bool,
    /// Prefix of times from queueing to issue (-z).
    pub q2d: Option<String>,
    /// Prefix of times from issue to completion (-l).
    pub d2c: Option<String>,
    /// Prefix of times from queueing to completion (-q).
    pub q2c: Option<String>,
    /// Prefix of the sectors of each request (-B).
    pub blocks: Option<String>,
    /// Prefix of the requests at the driver (-Q).
    pub depth: Option<String>,
    /// Prefix of the histogram of requests in a plug (-u).
    pub unplugs: Option<String>,
    /// Prefix of distances (-s).
    pub seeks: Option<String>,
    /// Prefix of distances of bios a second (-m).
    pub seeks_per_second: Option<String>,
    /// Mean latencies over intervals of this many seconds: `8,0_q2c_plat.dat` (-L).
    pub periodic: Option<f64>,
    /// Requests and MiB a second: `8,0_iops_fp.dat`, which btt always writes.
    pub rates: bool,
    /// Messages, in this file (`NAME.msg` of -o).
    pub messages: Option<String>,
    /// When each device, and the system, had work, as steps: `8,0_live.dat`, `sys_live.dat` (-Z).
    pub live: bool,
    /// Prefix of how many bios and requests had each size: `_qhist.dat`, `_dhist.dat` (of -o).
    pub histograms: Option<String>,
}
