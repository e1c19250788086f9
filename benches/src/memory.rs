//! Peak memory of a process.

use anyhow::{Context, Result};

/// MiB that a process has had at most (VmHWM); `self` or a number.
///
/// # Errors
/// It is gone.
pub fn peak(process: &str) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib
        .with_context(|| format!("{path} has no VmHWM"))?
        .parse()?;
    Ok(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_more_than_what_we_hold() {
        let held = std::hint::black_box(vec![1_u8; 32 << 20]);
        assert!(peak("self").unwrap() >= (held.len() >> 20) as f64);
        assert!(peak("0").is_err());
    }
}
