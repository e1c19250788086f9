//! Fakes and recorded outputs.
