//! hdparm's line (hdparm 9.65, `time_device` in hdparm.c).

use super::Pass;

/// ` Timing buffered disk reads: 210 MB in  3.01 seconds =  69.77 MB/sec`; below 1 MB/s in kB/sec.
pub(super) fn hdparm(pass: &Pass) -> String {
    let mib = pass.bytes >> 20;
    let rate = mib as f64 / pass.seconds;
    let (rate, unit) = if rate > 1.0 {
        (rate, "MB/sec")
    } else {
        (rate * 1024.0, "kB/sec")
    };
    format!(
        " Timing buffered disk reads: {mib:3} MB in {:5.2} seconds = {rate:6.2} {unit}",
        pass.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_hdparm_writes_it() {
        let line = |mib: u64, seconds| {
            hdparm(&Pass {
                bytes: mib << 20,
                seconds,
            })
        };
        assert_eq!(
            line(210, 3.01),
            " Timing buffered disk reads: 210 MB in  3.01 seconds =  69.77 MB/sec"
        );
        assert_eq!(
            line(4096, 3.0),
            " Timing buffered disk reads: 4096 MB in  3.00 seconds = 1365.33 MB/sec"
        );
        assert_eq!(
            line(2, 4.0),
            " Timing buffered disk reads:   2 MB in  4.00 seconds = 512.00 kB/sec"
        );
    }
}
