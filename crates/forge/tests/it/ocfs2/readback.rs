//! debugfs.ocfs2 reads names, sizes, contents and targets back.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;

use forge::ocfs2::{link_target, read};
use forge::population::{FileKind, Listed, Named, Population};

use super::clean::{RICH, sizes};
use super::common::{forge, tools};

/// Compares a tree with the population from a directory on; returns the names seen. Sockets may be missing: no archive holds them.
pub(crate) fn compare(population: &Population, directory: u32, at: &Path, cluster: u32) -> usize {
    let mut seen = 0;
    let listed = population.list(directory);
    let found = std::fs::read_dir(at).unwrap().count();
    let sockets = listed.iter().filter(|named| is_socket(population, named));
    let least = listed.len() - sockets.count();
    assert!(
        (least..=listed.len()).contains(&found),
        "{}: {found}",
        at.display()
    );
    for named in listed {
        let path = at.join(std::ffi::OsStr::from_bytes(&named.name));
        if is_socket(population, &named) && !path.exists() {
            continue;
        }
        let about = std::fs::symlink_metadata(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        seen += 1;
        match named.what {
            Listed::LostAndFound => assert!(about.is_dir()),
            Listed::Directory(child) => seen += compare(population, child, &path, cluster),
            Listed::File(id) => match population.file_kind(id) {
                FileKind::Regular(size) => {
                    assert_eq!(about.len(), size, "{}", path.display());
                    let expected = read(population, id, 4096, cluster).unwrap();
                    assert!(
                        std::fs::read(&path).unwrap() == expected,
                        "{}",
                        path.display()
                    );
                }
                FileKind::Symlink(_) => {
                    let target = std::fs::read_link(&path).unwrap();
                    assert_eq!(
                        Some(target.as_os_str().as_bytes()),
                        link_target(population, id).as_deref()
                    );
                }
                FileKind::Fifo => assert!(about.file_type().is_fifo()),
                FileKind::Socket => assert!(about.file_type().is_socket()),
                FileKind::CharacterDevice => {
                    let (major, minor) = population.device_number(id);
                    assert_eq!(
                        about.rdev(),
                        (u64::from(major & 0xfff) << 8)
                            | u64::from(minor & 0xff)
                            | (u64::from(minor & !0xff) << 12)
                    );
                    assert!(about.file_type().is_char_device());
                }
                FileKind::BlockDevice => assert!(about.file_type().is_block_device()),
            },
        }
    }
    seen
}

fn is_socket(population: &Population, named: &Named) -> bool {
    match named.what {
        Listed::File(id) => population.file_kind(id) == FileKind::Socket,
        _ => false,
    }
}

#[test]
fn the_reference_reads_the_population_back() {
    if !tools() || !testkit::root!("rdump sets owners") {
        return;
    }
    // rdump copies no special files.
    let profile = RICH.replace("special = 0.05", "special = 0");
    for metaecc in [false, true] {
        let mut options = sizes("400M", 4096, 4096);
        if metaecc {
            options.features = vec!["metaecc".to_owned()];
        }
        let forged = forge(&options, &profile).unwrap();
        let out = forged.dir.path().join("out");
        std::fs::create_dir(&out).unwrap();
        // rdump copies a directory of a name, and the root has none.
        let commands: String = forged
            .population
            .list(0)
            .iter()
            .map(|named| {
                let name = String::from_utf8_lossy(&named.name).into_owned();
                format!("rdump /{name} {}\n", out.display())
            })
            .collect();
        let script = forged.dir.path().join("script");
        std::fs::write(&script, commands).unwrap();
        // Its exit code says nothing of the commands.
        Command::new("debugfs.ocfs2")
            .arg("-f")
            .arg(&script)
            .arg(&forged.image)
            .output()
            .unwrap();
        let seen = compare(&forged.population, 0, &out, 4096);
        assert!(seen > 2500, "{seen}");
    }
}
