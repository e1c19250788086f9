//! What the way to a server and back takes by itself: answers leave earlier by so much.

use device::Op;

use super::pace::Work;

/// Bytes of a unit of [`Lead::ns_per_mib`].
const MIB: u64 = 1 << 20;

/// By how much answers leave before they are due: the kernel's and the server's own time for a request, and for its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// For each request, ns.
    pub ns: u64,
    /// For each MiB that is read or written, ns.
    pub ns_per_mib: u64,
}

impl Lead {
    /// For requests alone.
    pub const fn of_requests(ns: u64) -> Lead {
        Lead { ns, ns_per_mib: 0 }
    }

    pub(super) fn of(self, work: Work) -> u64 {
        let bytes = match work.op {
            Op::Read | Op::Write => work.len,
            Op::Flush | Op::Discard => 0,
        };
        let of_bytes = u128::from(self.ns_per_mib) * u128::from(bytes) / u128::from(MIB);
        self.ns
            .saturating_add(u64::try_from(of_bytes).unwrap_or(u64::MAX))
    }
}
