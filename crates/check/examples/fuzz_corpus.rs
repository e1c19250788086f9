//! A first corpus for the fuzz target: `corpus FOLDER`. See fuzz/fuzz_targets/image.rs.
//!
//! Each filesystem of the forge as it is, each with one step of damage of each kind, and the smallest of them outright.

#![allow(
    clippy::expect_used,
    reason = "a tool of developers, who read the panic"
)]
#![allow(dead_code, reason = "the tests use the rest")]

#[path = "../tests/it/raw/bases.rs"]
mod bases;
#[path = "../tests/it/raw/damage.rs"]
mod damage;

use std::path::Path;

use forge::damage::Medium as _;

fn main() {
    let folder = std::env::args().nth(1).expect("corpus FOLDER");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).expect("the folder");
    let put = |name: String, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("a file of the corpus");
    };
    let bases = bases::all();
    for (nth, base) in (0_u8..).zip(&bases) {
        let header = [nth, 1, 0, 0, 0, 0];
        put(base.name.to_owned(), &header);
        for kind in 0_u8..16 {
            let (mut program, pick) = (header.to_vec(), kind.wrapping_mul(37) ^ nth);
            program.extend([kind, pick, 0, pick >> 1, 0, 2, pick, 0, pick, nth, 0, 0]);
            put(format!("{}-{kind}", base.name), &program);
        }
        for seed in 0..8 {
            put(
                format!("{}-r{seed}", base.name),
                &[nth, 0, seed, 1 + seed % 3, 0, 0],
            );
        }
    }
    for base in bases.iter().filter(|base| base.image.len <= 64 << 10) {
        let mut bytes = vec![0; base.image.len as usize];
        base.image.read(0, &mut bytes).expect("the image");
        let header = [bases.len() as u8, 0, 0, 0, 0, 0];
        put(
            format!("{}-outright", base.name),
            &[&header[..], &bytes].concat(),
        );
    }
}
