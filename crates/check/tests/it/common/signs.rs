//! What e2fsck prints when its exit code is no verdict.

/// A sign, and what it is a sign of. It catches its own signals, says so, and ends as if it had merely stopped; and under `-n` it has
/// opened the image for reading only, forgets that in a few places, and ends at the error. An "Internal error" is not among them: it
/// ends there in its own way, with a code of its own.
pub(crate) const NO_VERDICT: [(&str, &str); 2] = [
    ("Signal (", "crashed"),
    ("Error writing block", "tried to write"),
];
