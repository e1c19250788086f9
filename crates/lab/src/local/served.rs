//! Whether a modelled disk answered when its model said.

use record::Evidence;
use rig::device::stack::Served;

/// Name of the evidence.
const IN_TIME: &str = "modelled_disk_in_time";

/// What a trial's record has of the server of its disk.
pub(super) fn in_time(served: rig::Result<Served>) -> Evidence {
    let (holds, detail) = match served {
        Ok(served) => (Some(served.sound), detail(&served)),
        Err(error) => (None, error.to_string()),
    };
    Evidence {
        phase: None,
        name: IN_TIME.to_owned(),
        holds,
        detail,
    }
}

fn detail(served: &Served) -> String {
    let count = served.requests.max(1) as f64;
    let verdict = if served.sound {
        ""
    } else {
        ": too late to stand for the disk (more than 1 %, or more than 5 % of the modelled time); leave the machine to the trial, run \
         fewer processes, or take a slower model or one in virtual time (--executor qemu --virtual-time)"
    };
    format!(
        "{}, modelled {} each; answers left {} late on average, {:.2} % of them more than 50 us{verdict}",
        words::plural(served.requests, "request"),
        words::short_time(served.modelled as f64 / count / 1e9),
        words::short_time(served.lateness as f64 / count / 1e9),
        100.0 * served.late as f64 / count,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_answers_late_is_doubted() {
        let served = Served {
            requests: 1000,
            modelled: 12_000_000_000,
            lateness: 10_000_000,
            late: 4,
            sound: true,
        };
        let evidence = in_time(Ok(served));
        assert_eq!(evidence.holds, Some(true));
        assert_eq!(
            evidence.detail,
            "1,000 requests, modelled 12 ms each; answers left 10 us late on average, 0.40 % of them more than 50 us"
        );
        let late = Served {
            late: 11,
            sound: false,
            ..served
        };
        let late = in_time(Ok(late));
        assert_eq!(late.holds, Some(false));
        assert!(late.detail.contains(
            "too late to stand for the disk (more than 1 %, or more than 5 % of the modelled time)"
        ));
        for remedy in ["fewer processes", "a slower model", "--virtual-time"] {
            assert!(late.detail.contains(remedy), "{}", late.detail);
        }
    }
}
