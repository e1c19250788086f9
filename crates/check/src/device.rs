//! What a check asks the system about the device or image: mounts, page cache, sequential rate.

mod mounted;
mod page_cache;
mod sequential_rate;

pub use mounted::{Writable, writable};
pub use page_cache::{CACHED_REQUEST, mostly_cached};
pub use sequential_rate::sequential_rate;
