//! The rate at which the device can be read sequentially.
//!
//! A pass of 20 s over 2 GB may be slow or as fast as the disk: only the rate of a plain sequential read of the same
//! device shows which. It is measured past the page cache, in requests of 1 MiB with several in flight, where the image has data.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use blockio::{BlockSource, Direct, OpenError, Span, Sweep};

/// Bytes read at most.
const ENOUGH: u64 = 512 << 20;
/// Time taken at most, roughly.
const LONG: Duration = Duration::from_secs(2);

/// Bytes per second of a sequential reading of an image or device past the page cache; 0 where it has no data.
///
/// # Errors
/// It cannot be read past the page cache.
pub fn sequential_rate(path: &Path) -> Result<f64, OpenError> {
    let source = Direct::open(path)?;
    let (mut spans, mut at, mut sum) = (Vec::new(), 0, 0);
    while sum < ENOUGH {
        let Some(range) = source.next_data(at).filter(|range| range.start < range.end) else {
            break;
        };
        let end = range.end.min(range.start + (ENOUGH - sum));
        sum += end - range.start;
        at = range.end;
        spans.push(Span {
            tag: 0,
            range: range.start..end,
        });
    }
    let begin = Instant::now();
    let mut bytes = 0;
    Sweep::default().each(&source, spans, |piece| {
        let range = piece.range();
        bytes += range.end - range.start;
        if begin.elapsed() < LONG {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(if bytes > 0 && seconds > 0.0 {
        bytes as f64 / seconds
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_rate_and_a_hole_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let (full, empty) = (dir.path().join("full"), dir.path().join("empty"));
        std::fs::write(&full, vec![7; 4 << 20]).unwrap();
        std::fs::File::create(&empty)
            .unwrap()
            .set_len(4 << 20)
            .unwrap();
        match sequential_rate(&full) {
            Err(OpenError::NoDirect { .. }) => {
                testkit::skip!("the temporary folder has no direct I/O");
            }
            rate => {
                assert!(rate.unwrap() > 1e6);
                assert_eq!(sequential_rate(&empty).unwrap(), 0.0);
            }
        }
    }
}
