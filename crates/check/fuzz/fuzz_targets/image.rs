//! Bytes as a damaged filesystem: the whole check, held to its bounds of memory, bytes read and time.
//!
//! An input is a small filesystem of the forge's and a program of damage, or an image outright
//! (crates/check/tests/it/raw/damage.rs). The same harness runs for a moment among the ordinary tests.

#![cfg_attr(fuzzing, no_main)]

#[path = "../../tests/it/allocator.rs"]
mod allocator;
#[path = "../../tests/it/raw/bases.rs"]
mod bases;
#[path = "../../tests/it/bounds.rs"]
mod bounds;
#[path = "../../tests/it/raw/damage.rs"]
mod damage;
#[path = "../../tests/it/raw/bounds.rs"]
mod image_bounds;

use std::sync::LazyLock;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

static BASES: LazyLock<Vec<bases::Base>> = LazyLock::new(bases::all);

fn one(input: &[u8]) {
    image_bounds::hold(&damage::decode(&BASES, input));
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| one(input));

#[cfg(not(fuzzing))]
fn main() {
    testkit::each_file_given(one);
}
