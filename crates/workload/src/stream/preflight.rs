//! What is refused before anything is touched, because this machine or this target cannot do it.

use params::StreamSpec;

use crate::Error;
use crate::buffer::Buffer;
use crate::direct::{self, Alignment};
use crate::error::bad;
use crate::memory::total_ram;

/// Refuses buffers that need more than half of the memory.
pub(super) fn memory(options: &StreamSpec) -> Result<(), Error> {
    let (needed, half) = (buffers(options), total_ram() / 2);
    if needed <= half {
        return Ok(());
    }
    Err(bad(
        "queue_depth",
        options.queue_depth,
        format!(
            "queue_depth * block needs buffers of {needed} bytes, more than half of the memory \
             ({half}); reduce one of them"
        ),
    ))
}

/// Bytes of the buffers.
pub(super) fn buffers(options: &StreamSpec) -> u64 {
    if !options.engine.capabilities().transfers {
        return 0;
    }
    let block = options.block.get();
    let len = block.saturating_mul(u64::from(options.queue_depth));
    usize::try_from(len)
        .ok()
        .filter(|len| *len < usize::MAX / 4)
        .map_or(u64::MAX, |len| {
            Buffer::footprint(0, block as usize, len) as u64
        })
}

/// Refuses a target that is not a directory, or whose direct I/O does not allow the block size.
/// Creates nothing that stays. The result is the alignment of O_DIRECT; `None` without it.
///
/// # Errors
/// [`Error::BadOption`], [`Error::Unsupported`] where there is no direct I/O, [`Error::Io`].
pub(super) fn target(options: &StreamSpec) -> Result<Option<Alignment>, Error> {
    let is_direct = options.direct && options.engine.capabilities().direct;
    direct::target(&options.dir, is_direct, ("block", options.block))
}

#[cfg(test)]
mod tests {
    use params::engine::Kind;
    use params::{Bytes, Parameters};

    use super::*;

    #[test]
    fn buffers_larger_than_the_memory_are_refused() {
        let huge = StreamSpec {
            engine: Kind::Aio,
            queue_depth: 4096,
            block: Bytes(1 << 30),
            ..StreamSpec::new("/nowhere")
        };
        huge.validate().unwrap();
        let error = memory(&huge).unwrap_err().to_string();
        assert!(error.contains("half of the memory"), "{error}");
    }

    #[test]
    fn a_target_that_is_no_directory_or_too_coarse_for_the_block_is_refused() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut options = StreamSpec::new(dir.path());
        (options.direct, options.block) = (true, Bytes(1 << 20));
        let found = target(&options).unwrap().unwrap();
        options.block = Bytes(u64::from(found.offset) + 256);
        let error = target(&options).unwrap_err().to_string();
        assert!(
            error.contains("needs a multiple of") && error.contains(found.source),
            "{error}"
        );
        options.direct = false;
        assert_eq!(target(&options).unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::fs::write(dir.path().join("file"), "x").unwrap();
        options.dir = dir.path().join("file");
        let error = target(&options).unwrap_err().to_string();
        assert!(error.contains("it is not a directory"), "{error}");
    }
}
