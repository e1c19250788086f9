//! One option of the linker: relative relocations packed.
//!
//! A large program that may be loaded anywhere has tens of thousands of places that hold its own address. Listed in full they
//! are 24 bytes each, 0.6 MB that are read from the disk and mapped whenever it starts; packed (`DT_RELR`) they are a few bits each.
//! It takes glibc 2.36 to load such a program, so an older one, or another C library, gets what it knows.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let native = of("HOST") == of("TARGET") && of("CARGO_CFG_TARGET_ENV") == "gnu";
    if native && glibc().is_some_and(|version| version >= (2, 36)) {
        // A linker that does not know the word warns and goes on.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Its version, `glibc 2.36` as getconf(1) prints it.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = version.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
