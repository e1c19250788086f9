//! What is refused before anything is touched, because this machine or this target cannot do it.

use super::Job;
use crate::Error;
use crate::buffer::Buffer;
use crate::direct::{self, Alignment};
use crate::error::bad;
use crate::memory::total_ram;
use params::MixSpec;

/// Refuses jobs that run at the same time whose buffers need more than half of the memory.
pub(super) fn memory(group: &[Job]) -> Result<(), Error> {
    within(group, total_ram() / 2)
}

fn within(group: &[Job], half: u64) -> Result<(), Error> {
    let needed: u64 = group.iter().map(|job| buffers(&job.spec)).sum();
    let largest = group.iter().max_by_key(|job| buffers(&job.spec));
    match largest {
        Some(job) if needed > half => Err(bad(
            "queue_depth",
            job.spec.queue_depth,
            format!(
                "threads * queue_depth * block, in huge pages of 2 MiB, needs buffers of {needed} \
                 bytes, more than half of the memory; reduce one of them"
            ),
        )),
        _ => Ok(()),
    }
}

/// Bytes of all threads' buffers.
fn buffers(spec: &MixSpec) -> u64 {
    if !spec.engine.capabilities().transfers {
        return 0;
    }
    let block = spec.block.get() as usize;
    let len = block * spec.queue_depth as usize;
    (0..spec.threads)
        .map(|thread| Buffer::footprint(thread, block, len) as u64)
        .sum()
}

/// Refuses a target that is not a directory, or whose direct I/O does not allow the block size.
pub(super) fn target(spec: &MixSpec) -> Result<Option<Alignment>, Error> {
    let is_direct = spec.direct && spec.engine.capabilities().direct;
    direct::target(&spec.dir, is_direct, ("block", spec.block))
}

#[cfg(test)]
mod tests {
    use params::Bytes;
    use params::engine::Kind;

    use super::*;

    #[test]
    fn buffers_of_all_jobs_count_together() {
        let job = |engine| Job {
            name: "a".into(),
            options: Vec::new(),
            group_reporting: false,
            spec: MixSpec {
                engine,
                queue_depth: 16,
                block: Bytes(1 << 20),
                threads: 2,
                ..MixSpec::new("/nowhere")
            },
        };
        let one = [job(Kind::IoUring)];
        within(&one, 32 << 20).unwrap();
        let error = within(&[job(Kind::IoUring), job(Kind::Aio)], 40 << 20);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("queue_depth = 16: "), "{error}");
        within(&[job(Kind::Null)], 0).unwrap();
    }
}
