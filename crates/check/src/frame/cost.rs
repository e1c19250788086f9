//! What a pass costs.

use blockio::Histogram;
use serde::Serialize;

/// The cost of a pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Name of the pass; `all` for the sum.
    pub pass: &'static str,
    /// What the pass checks.
    pub title: &'static str,
    /// Wall-clock time, seconds.
    pub wall_s: f64,
    /// Processor time in user space, all threads, seconds.
    pub user_s: f64,
    /// Processor time in the kernel, all threads, seconds.
    pub system_s: f64,
    /// Time that threads waited for reads, summed over threads, seconds. Includes the copy of a buffered read.
    pub io_wait_s: f64,
    /// Bytes requested.
    pub bytes: u64,
    /// Of these, bytes fetched from storage for this process (read_bytes of /proc/self/io, which includes readahead); none where the
    /// kernel does not provide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Of these, bytes found in the page cache: the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Number of requests.
    pub requests: u64,
    /// Mean size of a request, bytes.
    pub mean_request: f64,
    /// Requests that did not start where the one before ended.
    pub seeks: u64,
    /// Sum of the distances of these seeks in the order of the requests, bytes.
    pub seek_bytes: u64,
    /// Number of requests that failed.
    pub errors: u64,
    /// Number of objects checked.
    pub objects: u64,
    /// What these objects are: `inodes`.
    pub objects_are: &'static str,
    /// Peak memory of the process up to the end of the pass, bytes.
    pub peak_memory: u64,
    /// Time that its bytes would take at the sequential rate, where that was measured, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_s: Option<f64>,
    /// Sizes of requests, bytes.
    pub sizes: Histogram,
    /// Distances of seeks forward, bytes.
    pub ahead: Histogram,
    /// Distances of seeks backward, bytes.
    pub back: Histogram,
}

impl Cost {
    /// Bytes requested per second.
    pub fn rate(&self) -> f64 {
        if self.wall_s > 0.0 {
            self.bytes as f64 / self.wall_s
        } else {
            0.0
        }
    }
}
