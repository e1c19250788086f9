//! Bytes as damage of an OCFS2 volume: the whole check, held to its bounds of memory, bytes read and time.
//!
//! The volumes are mkfs.ocfs2's, with contents of every kind (crates/check/tests/it/ocfs2/population.rs). An input is a program of
//! damage (program.rs there). The same harness runs for a moment among the ordinary tests.

#![cfg_attr(fuzzing, no_main)]

#[path = "../../tests/it/allocator.rs"]
mod allocator;
#[path = "../../tests/it/bounds.rs"]
mod bounds;
#[path = "../../tests/it/ocfs2/buckets.rs"]
mod buckets;
#[path = "../../tests/it/ocfs2/population.rs"]
mod population;
#[path = "../../tests/it/ocfs2/program.rs"]
mod program;
#[path = "../../tests/it/ocfs2/volume.rs"]
mod volume;
#[path = "../../tests/it/ocfs2/bounds.rs"]
mod volume_bounds;

use std::sync::{LazyLock, Mutex};

use program::{BASES, Base, HEADER};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

static VOLUMES: LazyLock<Mutex<Vec<Base>>> = LazyLock::new(|| {
    let volumes = BASES.map(|made| {
        let mut image = population::populated(made).expect("mkfs.ocfs2 is needed");
        buckets::add(&mut image);
        Base::new(image)
    });
    Mutex::new(volumes.into())
});

fn one(input: &[u8]) {
    let Some((header, steps)) = input.split_at_checked(HEADER) else {
        return;
    };
    let mut volumes = VOLUMES.lock().unwrap();
    let nth = usize::from(header[0]) % volumes.len();
    let base = &mut volumes[nth];
    let changed = base.damage(steps);
    volume_bounds::hold(&base.ram, 1 + usize::from(header[1] & 1), "input");
    base.mend(&changed);
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| one(input));

#[cfg(not(fuzzing))]
fn main() {
    testkit::each_file_given(one);
}
