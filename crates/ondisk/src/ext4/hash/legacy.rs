//! The hash of the first indexed directories: a multiplicative one over single characters.

use super::character;

const MULTIPLIER: u32 = 7_152_373;

/// The hash before its lowest bit is cleared (the function leaves it 0 already).
pub(super) fn hash(name: &[u8], unsigned: bool) -> u32 {
    let mut before = 0x37ab_e8f9_u32;
    let mut last = 0x12a3_fe2d_u32;
    for byte in name {
        let mixed = last ^ character(*byte, unsigned).wrapping_mul(MULTIPLIER);
        let mut next = before.wrapping_add(mixed);
        if next >> 31 == 1 {
            next = next.wrapping_sub(0x7fff_ffff);
        }
        before = last;
        last = next;
    }
    last << 1
}
