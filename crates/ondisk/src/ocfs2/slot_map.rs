//! Which node uses which slot, and its heartbeat.

use zerocopy::little_endian::{U32, U64};

/// A slot without a node, in the old form: 16 bits each.
pub const FREE: u16 = 0xffff;

structure! {
    /// A slot of the extended slot map (`struct ocfs2_extended_slot`).
    "OCFS2 slot" ExtendedSlot 8 {
        /// 1: in use.
        es_valid: u8,
        /// Zero.
        es_reserved1: [u8; 3],
        /// The node.
        es_node_num: U32,
    }
}

structure! {
    /// A node's block of the heartbeat file (`struct o2hb_disk_heartbeat_block`).
    "OCFS2 heartbeat" Heartbeat 32 {
        /// Counts up while the node is alive.
        hb_seq: U64,
        /// The node.
        hb_node: u8,
        /// Zero.
        hb_pad1: [u8; 3],
        /// CRC-32 of the block.
        hb_cksum: U32,
        /// Generation of the node's heartbeat.
        hb_generation: U64,
        /// Milliseconds after which the node counts as dead.
        hb_dead_ms: U32,
        /// Zero.
        hb_pad2: [u8; 4],
    }
}
