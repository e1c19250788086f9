//! From the unit a sample is stored in to the unit a table prints.
//!
//! Samples are stored in base units (`bytes_per_s`, `s`, `bytes`, `count`); the originals printed
//! `MB/s` (iozone) and `MB_s` (compilebench), both 2^20 bytes a second. The label is kept as the
//! original wrote it, and every report says once what it means.

pub(crate) use ::compare::pair::higher_is_better;

/// 2^20.
const MIB: f64 = 1_048_576.0;

/// Printed once in every report: of the originals only what its workloads repeat.
pub(crate) fn legend(run: &record::Run) -> &'static str {
    let of_2009 = |cell: &study::Cell| {
        matches!(
            cell.workload,
            study::WorkloadSpec::Throughput(_) | study::WorkloadSpec::Tree(_)
        )
    };
    if run.plan.cells.iter().any(of_2009) {
        "MB/s and MB_s are 2^20 bytes a second here, and in compilebench; whether the published \
         iozone figures divide kB/s by 1024 or 1000 is not known (2.4 %)."
    } else {
        "MB is 2^20 bytes, MB/s 2^20 bytes a second"
    }
}

/// What to multiply a stored value with to print it, or `None` when the two units do not fit.
pub(crate) fn factor(stored: &str, printed: &str) -> Option<f64> {
    match (stored, printed) {
        ("bytes_per_s", "MB/s" | "MB_s" | "MiB/s") | ("bytes", "MB" | "MiB") => Some(1.0 / MIB),
        ("bytes_per_s", "KB/s" | "KiB/s" | "kB/s") | ("bytes", "KiB") => Some(1.0 / 1024.0),
        // dd's MB/s.
        ("bytes_per_s", "10^6 B/s") => Some(1e-6),
        ("s", "secs" | "sec" | "s" | "seconds")
        | ("files_per_s", "files/s" | "files_per_s")
        | ("ops_per_s", "IOPS")
        | ("percent", "%") => Some(1.0),
        ("bytes", "GiB") => Some(1.0 / MIB / 1024.0),
        ("s", "ms") => Some(1000.0),
        ("s", "us") => Some(1e6),
        ("ratio", "%") => Some(100.0),
        (a, b) if a == b => Some(1.0),
        _ => None,
    }
}

/// The unit that tables print for a stored one when no other was requested.
pub(crate) fn usual(stored: &str) -> &str {
    match stored {
        "bytes_per_s" => "MB/s",
        "s" => "secs",
        "files_per_s" => "files/s",
        "ops_per_s" => "IOPS",
        "bytes" => "MiB",
        "percent" => "%",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_originals_are_binary() {
        assert_eq!(factor("bytes_per_s", "MB/s"), Some(1.0 / 1_048_576.0));
        assert_eq!(factor("bytes_per_s", "MB_s"), factor("bytes_per_s", "MB/s"));
        assert_eq!(factor("s", "secs"), Some(1.0));
        assert_eq!(factor("count", "MB/s"), None);
        assert_eq!(factor("count", "count"), Some(1.0));
        assert_eq!(factor("bytes", "GiB"), Some(1.0 / 1_073_741_824.0));
        assert_eq!(factor("s", "us"), Some(1e6));
        assert_eq!(factor("percent", "%"), Some(1.0));
        assert_eq!(factor("ops_per_s", usual("ops_per_s")), Some(1.0));
    }
}
