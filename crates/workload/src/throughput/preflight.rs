//! What is refused before anything is touched, because this machine or this target cannot do it.

use params::ThroughputSpec;

use crate::Error;
use crate::buffer::Buffer;
use crate::direct::{self, Alignment};
use crate::error::bad;
use crate::memory::total_ram;

/// Refuses buffers and a random order that need more than half of the memory.
pub(super) fn memory(options: &ThroughputSpec) -> Result<(), Error> {
    within(options, total_ram() / 2)
}

/// Bytes of all children's buffers, and of the order that they share in random tests.
fn needed(options: &ThroughputSpec) -> (u64, u64) {
    let record = options.record.get() as usize;
    let len = record * options.queue_depth as usize;
    let buffers = if options.engine.capabilities().transfers {
        (0..options.threads)
            .map(|child| Buffer::footprint(child, record, len) as u64)
            .sum()
    } else {
        0
    };
    let random = options.tests.iter().any(|t| t.is_random());
    let order = if random { 4 * options.records() } else { 0 };
    (buffers, order)
}

/// `half` of the memory, bytes.
fn within(options: &ThroughputSpec, half: u64) -> Result<(), Error> {
    let (buffers, order) = needed(options);
    if buffers + order <= half {
        return Ok(());
    }
    if order > buffers {
        return Err(bad(
            "record",
            options.record,
            format!(
                "the random order of {} records needs {order} bytes, with buffers of {buffers} more \
                 than half of the memory; use larger records",
                options.records()
            ),
        ));
    }
    Err(bad(
        "queue_depth",
        options.queue_depth,
        format!(
            "threads * queue_depth * record, in huge pages of 2 MiB, needs buffers of {buffers} \
             bytes, with a random order of {order} more than half of the memory; reduce one of them"
        ),
    ))
}

/// Refuses a target that is not a directory, or whose direct I/O does not allow the record size.
pub(super) fn target(options: &ThroughputSpec) -> Result<Option<Alignment>, Error> {
    let is_direct = options.direct && options.engine.capabilities().direct;
    direct::target(&options.dir, is_direct, ("record", options.record))
}

#[cfg(test)]
mod tests {
    use params::engine::Kind;
    use params::throughput::Test;
    use params::{Bytes, Parameters};

    use super::*;

    #[test]
    fn buffers_larger_than_the_memory_are_refused() {
        let huge = ThroughputSpec {
            engine: Kind::IoUring,
            queue_depth: 4096,
            threads: 1024,
            record: Bytes(16 << 20),
            ..ThroughputSpec::new("/nowhere")
        };
        huge.validate().unwrap();
        let error = memory(&huge).unwrap_err().to_string();
        assert!(error.contains("half of the memory"), "{error}");
    }

    #[test]
    fn memory_is_the_buffers_with_their_alignment_and_the_random_order() {
        const MIB: u64 = 1 << 20;
        let mut options = ThroughputSpec::new("/nowhere");
        (options.threads, options.size, options.record) = (3, Bytes(1 << 30), Bytes(MIB));
        assert_eq!(needed(&options), (6 * MIB, 4 * 1024));
        (options.threads, options.record) = (2, Bytes(MIB / 4));
        // Each a huge page; the second starts one record further in.
        assert_eq!(needed(&options), (4 * MIB, 4 * 4096));
        within(&options, 5 * MIB).unwrap();
        (options.threads, options.record) = (1, Bytes(1024));
        let error = within(&options, 5 * MIB).unwrap_err().to_string();
        assert!(
            error.starts_with("record = 1k: the random order of 1048576 records needs 4194304"),
            "{error}"
        );
        options.tests = vec![Test::Read];
        within(&options, 2 * MIB).unwrap();
        let error = within(&options, MIB).unwrap_err().to_string();
        assert!(error.starts_with("queue_depth = 1: "), "{error}");
        options.engine = Kind::Null;
        assert_eq!(needed(&options), (0, 0));
    }
}
