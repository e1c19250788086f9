//! Bytes as damage of an XFS filesystem: the whole check, held to its bounds of memory, bytes read and time.
//!
//! The filesystems are forged, with contents of every kind (crates/check/tests/it/xfs/program.rs). An input is a program of damage.
//! The same harness runs for a moment among the ordinary tests.

#![cfg_attr(fuzzing, no_main)]

#[path = "../../tests/it/allocator.rs"]
mod allocator;
#[path = "../../tests/it/bounds.rs"]
mod bounds;
#[path = "../../tests/it/xfs/program.rs"]
mod program;
#[path = "../../tests/it/xfs/volume.rs"]
#[expect(dead_code, reason = "tests use the rest of it")]
mod volume;
#[path = "../../tests/it/xfs/bounds.rs"]
mod volume_bounds;

use std::sync::{LazyLock, Mutex};

use program::{BASES, Base, HEADER};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

static VOLUMES: LazyLock<Mutex<Vec<Base>>> =
    LazyLock::new(|| Mutex::new(BASES.map(Base::new).into()));

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
