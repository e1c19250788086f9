//! Engines: which system calls carry the data.
