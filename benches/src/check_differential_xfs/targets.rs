//! Sound filesystems, and the objects and fields in them that are damaged.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use forge::Image as _;
use forge::population::Profile;
use forge::xfs::{Options, Xfs};
use ondisk::xfs::dinode::{Inode, MAGIC};
use ondisk::xfs::geometry::CHUNK;
use ondisk::xfs::{Geometry, Superblock};
use testkit::xfs_profile::every_form;

use super::{Base, Devices, filled, xfs_db};

/// Names of the bases, and their features.
const BASES: [(&str, &str); 4] = [
    ("plain", ""),
    ("mapped", "rmapbt"),
    ("wide", "rmapbt,nrext64"),
    ("old", "nocrc"),
];
/// Bases that the kernel fills, and the options of mkfs.xfs.
const FILLED: [(&str, &[&str]); 8] = [
    ("shared", &["-m", "rmapbt=0"]),
    (
        "small",
        &["-b", "size=1024", "-n", "size=4096", "-m", "rmapbt=1"],
    ),
    (
        "wide-filled",
        &["-i", "size=1024,nrext64=1", "-m", "rmapbt=1"],
    ),
    ("sectors", &["-s", "size=4096", "-m", "rmapbt=1"]),
    ("large", &["-b", "size=64k", "-m", "rmapbt=1"]),
    ("one-group", &["--unsupported", "-d", "agcount=1"]),
    (REALTIME, &["-m", "reflink=0"]),
    (LOG, &[]),
];
/// The base with a realtime part, and the one whose log is on another device.
const REALTIME: &str = "realtime";
const LOG: &str = "log-device";
/// Inodes of each form, and of each order of magnitude of their blocks.
const INODES: usize = 2;

/// An object: how xfs_db finds it, and its fields.
pub(super) struct Target {
    pub(super) commands: Vec<String>,
    pub(super) fields: Vec<String>,
}

/// Makes the bases.
pub(super) fn bases(folder: &Path, only: &[String]) -> Result<Vec<Base>> {
    let mut bases = Vec::new();
    for (name, features) in BASES {
        if !only.is_empty() && !only.iter().any(|one| one == name) {
            continue;
        }
        let image = folder.join(name);
        let mut options = Options::new(400 << 20);
        options.features = features
            .split(',')
            .filter(|feature| !feature.is_empty())
            .map(str::to_owned)
            .collect();
        if name == "old" {
            options.inode_size = Some(256);
        }
        let profile = Profile::parse("profile", &every_form(0.5, "1-20"))?;
        Xfs::new(options, profile)?.write(&image, &forge::Silent)?;
        let targets = targets(&image)?;
        bases.push(Base {
            name,
            image,
            devices: Devices::default(),
            targets,
        });
    }
    for (name, words) in FILLED {
        if !only.is_empty() && !only.iter().any(|one| one == name) {
            continue;
        }
        let image = folder.join(name);
        let device = |of: &str| (name == of).then(|| folder.join(format!("{name}.device")));
        let devices = Devices {
            log: device(LOG),
            realtime: device(REALTIME),
        };
        if !filled::write(&image, words, &devices)? {
            eprintln!("{name}: left out, because it needs root and a kernel that mounts it");
            continue;
        }
        let targets = targets(&image)?;
        bases.push(Base {
            name,
            image,
            devices,
            targets,
        });
    }
    ensure!(!bases.is_empty(), "no base has such a name");
    Ok(bases)
}

/// The objects of an image.
fn targets(image: &Path) -> Result<Vec<Target>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    let mut add = |commands: &[&str]| {
        places.push(commands.iter().map(|word| (*word).to_owned()).collect());
    };
    for header in ["sb 0", "sb 1", "agf 0", "agf 1", "agi 0", "agi 1", "agfl 1"] {
        add(&[header]);
    }
    for (header, field) in [
        ("agf 1", "bnoroot"),
        ("agf 1", "cntroot"),
        ("agf 1", "rmaproot"),
        ("agf 1", "refcntroot"),
        ("agi 1", "root"),
        ("agi 1", "free_root"),
    ] {
        let root = format!("addr {field}");
        add(&[header, root.as_str()]);
        add(&[header, root.as_str(), "addr ptrs[1]"]);
    }
    for (ino, forms) in inodes(image)? {
        let inode = format!("inode {ino}");
        add(&[inode.as_str()]);
        for block in forms {
            add(&[inode.as_str(), block]);
        }
    }
    let mut targets = Vec::new();
    for commands in places {
        let mut print = commands.clone();
        print.push("print".into());
        let fields = fields(&xfs_db(image, &["-r", "-f"], &print)?);
        if !fields.is_empty() {
            targets.push(Target { commands, fields });
        }
    }
    Ok(targets)
}

/// Inodes of each type and form, and where their blocks are.
fn inodes(image: &Path) -> Result<Vec<(u64, Vec<&'static str>)>> {
    let file = File::open(image)?;
    let mut sector = [0; 512];
    file.read_exact_at(&mut sector, 0)?;
    let geo = Geometry::new(Superblock::read(&sector)?)?;
    let mut found: BTreeMap<(u16, u8, u8, u32), usize> = BTreeMap::new();
    let mut list = Vec::new();
    let block_size = geo.block_size as usize;
    let mut bytes = vec![0; block_size * geo.chunk_blocks() as usize];
    for ag in 0..geo.ag_count {
        for agbno in (0..geo.ag_length(ag)).step_by(geo.chunk_blocks() as usize) {
            let at = geo.offset(ag, agbno);
            if file.read_exact_at(&mut bytes, at).is_err() {
                break;
            }
            let first = agbno << geo.inopb_log;
            for (index, bytes) in bytes.chunks_exact(geo.inode_size as usize).enumerate() {
                let inode = Inode::new(&geo, bytes);
                let is_used = inode.magic() == MAGIC && inode.mode() != 0 && inode.nlink() > 0;
                let form = (
                    inode.file_type(),
                    inode.format(),
                    inode.aformat() * u8::from(inode.forkoff() > 0),
                    inode.nblocks().checked_ilog2().map_or(0, |log| log / 3 + 1),
                );
                let count = found.entry(form).or_default();
                if !is_used || index >= CHUNK as usize || *count >= INODES {
                    continue;
                }
                *count += 1;
                let mut blocks = Vec::new();
                if inode.format() == 2 || inode.format() == 3 {
                    blocks.extend([
                        "dblock 0",
                        "dblock 8388608",
                        "dblock 8388609",
                        "dblock 16777216",
                    ]);
                }
                if inode.format() == 3 {
                    blocks.push("addr u3.bmbt.ptrs[1]");
                    blocks.push("addr u.bmbt.ptrs[1]");
                }
                if form.2 == 2 || form.2 == 3 {
                    blocks.extend(["ablock 0", "ablock 1"]);
                }
                list.push((geo.ino(ag, first + index as u32), blocks));
            }
        }
    }
    (!list.is_empty())
        .then_some(list)
        .context("the base has no inodes")
}

/// The fields that `print` names. Of an array, the first and the last element; of an element with parts, each part.
fn fields(printed: &str) -> Vec<String> {
    let mut fields = Vec::new();
    for line in printed.lines() {
        let Some((name, value)) = line.split_once(" = ") else {
            continue;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.[]-".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let elements = elements(name);
        let parts = value
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .map(|(parts, _)| parts)
            .filter(|parts| {
                parts
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || ",_".contains(c))
            });
        for element in elements {
            match parts {
                Some(parts) => {
                    fields.extend(parts.split(',').map(|part| format!("{element}.{part}")));
                }
                None => fields.push(element),
            }
        }
    }
    fields
}

/// `recs[1-9]` is `recs[1]` and `recs[9]`.
fn elements(name: &str) -> Vec<String> {
    let range = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['));
    match range.and_then(|(array, range)| Some((array, range.split_once('-')?))) {
        Some((array, (first, last))) => {
            vec![format!("{array}[{first}]"), format!("{array}[{last}]")]
        }
        None => vec![name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_that_print_names() {
        let printed = "magic = 0x41423342\nlevel = 0\nrecs[1-3] = [startblock,blockcount] 1:[13,3] 2:[24,2]\nbno[0-118] = 0:null 1:6\ncore.uid = 0\nerror: x";
        assert_eq!(
            fields(printed),
            [
                "magic",
                "level",
                "recs[1].startblock",
                "recs[1].blockcount",
                "recs[3].startblock",
                "recs[3].blockcount",
                "bno[0]",
                "bno[118]",
                "core.uid",
            ]
        );
    }
}
