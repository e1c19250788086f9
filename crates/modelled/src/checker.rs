//! A checker's own record as a program: its threads, their reads, and its passes.

use blockio::layer::Entry;
use device::Request;
use device::replay::{Action, Program, Step};

use crate::job::Job;

/// A pass of a check, by the clock of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Its name.
    pub name: String,
    /// When it began, ns.
    pub began: u64,
}

/// The job of a check that was recorded: entries as they were handed out, passes in order, and when the check ended (ns).
///
/// What came before the first pass (the superblock) belongs to it.
pub fn job(mut entries: Vec<Entry>, mut passes: Vec<Pass>, end: u64, cpu: f64) -> Job {
    entries.sort_by_key(|entry| entry.submitted);
    match passes.first_mut() {
        Some(first) => first.began = 0,
        None => passes.push(Pass {
            name: "check".into(),
            began: 0,
        }),
    }
    let requests = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| Request::read(index as u64, entry.offset, u64::from(entry.len)));
    let requests: Vec<Request> = requests.collect();
    let mut steps: Vec<Step> = Vec::with_capacity(2 * entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let thread = u32::from(entry.thread);
        steps.push(Step {
            thread,
            began: entry.submitted,
            ended: entry.submitted,
            action: Action::Submit(index as u32),
        });
        if entry.is_taken {
            steps.push(Step {
                thread,
                began: entry.called,
                ended: entry.delivered,
                action: Action::Wait(index as u32),
            });
        }
    }
    // A thread that asks for all and then waits has one time for several steps: waits end in the order of delivery.
    steps.sort_by_key(|step| (step.began, step.ended));
    let begins: Vec<u64> = passes.iter().map(|pass| pass.began).collect();
    let ends = begins.iter().skip(1).copied().chain([end]);
    let phases = passes
        .iter()
        .zip(ends)
        .map(|(pass, to)| (pass.name.clone(), to.saturating_sub(pass.began)))
        .collect();
    Job::Program {
        program: Program::new(requests, steps, begins, end),
        phases,
        cpu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimator;

    const MS: u64 = 1_000_000;

    fn entry(offset: u64, submitted: u64, delivered: u64) -> Entry {
        Entry {
            offset,
            len: 4096,
            thread: 1,
            submitted: submitted * MS,
            called: submitted * MS,
            delivered: delivered * MS,
            is_taken: true,
        }
    }

    #[test]
    fn passes_have_their_own_rows_and_processor_time_scales() {
        let entries: Vec<Entry> = (0..100)
            .map(|i| entry((i * 37 % 100) << 28, 10 * i + 5, 10 * i + 6))
            .collect();
        let passes = vec![
            Pass {
                name: "1".into(),
                began: MS,
            },
            Pass {
                name: "2".into(),
                began: 500 * MS,
            },
            Pass {
                name: "3".into(),
                began: 1000 * MS,
            },
        ];
        let catalogue = device::Catalogue::shipped().unwrap();
        let at = |cpu: f64| {
            let job = job(entries.clone(), passes.clone(), 1200 * MS, cpu);
            assert_eq!(job.recorded(), Some(1200 * MS));
            let report = Estimator::default()
                .estimate(&catalogue, "cheetah-15k.5", &job)
                .unwrap();
            let nominal = |row: usize| report.rows[row].modelled.nominal_s.unwrap();
            assert_eq!(report.rows.len(), 4);
            assert_eq!(report.rows[1].requests, 50);
            let sum = nominal(1) + nominal(2) + nominal(3);
            assert!((sum - nominal(0)).abs() < 1e-6);
            (nominal(0), nominal(3))
        };
        let ((one, last), (three, last_of_three)) = (at(1.0), at(3.0));
        // 1.1 s of computing; the third pass has no reads.
        assert!((three - one - 2.2).abs() < 0.1, "{one} {three}");
        assert!((last - 0.2).abs() < 1e-6 && (last_of_three - 0.6).abs() < 1e-6);
    }
}
