//! The engine that transfers nothing: what is left is the generator itself.

use std::hint::black_box;

use super::{Capabilities, Engine, Failure, Job, Kind, Latency, Order, Run};

/// Computes every offset, looks at the flags, shows its progress, and moves no data.
///
/// Its queue depth is any: nothing is ever in flight. A test double as well as a yardstick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Engine for Null {
    fn capabilities(&self) -> Capabilities {
        Kind::Null.capabilities()
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        latency: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        let record = job.record as u64;
        Ok(match (job.order, latency) {
            (Order::Sequential(n), None) => turn(job, from..n, watch, |i| {
                black_box(i * record);
            }),
            (Order::Random(order), None) => turn(job, from..order.len() as u64, watch, |i| {
                black_box(u64::from(order[i as usize]) * record);
            }),
            (order, Some(latency)) => {
                latency.begin();
                turn(job, from..order.records(), watch, |i| {
                    black_box(order.at(i) * record);
                    latency.lap();
                })
            }
        })
    }
}

#[inline]
fn turn(job: &Job<'_>, span: std::ops::Range<u64>, watch: u32, mut act: impl FnMut(u64)) -> Run {
    let mut run = Run {
        position: span.start,
        ..Run::default()
    };
    while run.position < span.end {
        if job.flags.up(watch) {
            run.stopped = true;
            break;
        }
        act(run.position);
        run.position += 1;
        run.counted += u64::from(!job.flags.up(watch));
        job.done.show(run.position);
    }
    run
}
