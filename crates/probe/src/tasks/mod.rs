//! Tasks and kernel threads: who used the CPU.
//!
//! [`stat`] parses `/proc/<pid>/stat`, [`name`] gives tasks stable names across pids and CPUs, and
//! [`scan`] follows the busiest of them cheaply.

pub mod name;
pub mod scan;
pub mod stat;

/// %CPU of a task as top has it: 100 d(utime+stime) / T, above 100 for several threads (Irix mode).
pub fn percent(cpu_ns: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        return 0.0;
    }
    100.0 * cpu_ns as f64 / elapsed_ns as f64
}

/// TIME+ of top: minutes, seconds and hundredths, as in `186:21.78`.
pub fn time_plus(cpu_ns: u64) -> String {
    let hundredths = cpu_ns / 10_000_000;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    format!("{}:{:02}.{rest:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_top_prints_them() {
        assert_eq!(percent(1_960_000_000, 2_000_000_000), 98.0);
        assert_eq!(percent(1, 0), 0.0);
        assert_eq!(time_plus(11_181_780_000_000), "186:21.78");
        assert_eq!(time_plus(66_740_000_000), "1:06.74");
    }
}
