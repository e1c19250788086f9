//! Each code by the smallest damage that raises it, and any bytes at all.

mod fixture;
mod kinds;
mod lists;
mod random;
