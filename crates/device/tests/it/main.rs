//! The models from outside: under random loads.

mod trees;
