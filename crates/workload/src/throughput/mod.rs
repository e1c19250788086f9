//! iozone's throughput mode.
