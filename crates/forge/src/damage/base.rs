//! Small sound filesystems to be damaged, made by e2fsprogs.
//!
//! A case proves something only on a filesystem that was in order before, and in order by the word of somebody else. So
//! these are made by mke2fs and filled by it and by debugfs, indexed by `e2fsck -D`, and `e2fsck -fn` must find nothing.
//! One is made in about a second and then copied for every damage. Together they have every structure that a case
//! or a random change may want: trees of extents and of indirect blocks, indexes of one and two levels, attributes in
//! inodes, in blocks and in inodes of their own, inline data, quotas, orphans, clusters, groups that were never used.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ondisk::ext4::encryption::{Context, Key, Policy, XATTR_NAME};
use ondisk::ext4::inode::{InodeMut, flag};
use ondisk::ext4::{FileType, xattr};

use super::error::Error;
use super::files::is;
use super::filesystem::Filesystem;
use super::medium::ImageFile;

/// Why a base could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// A file could not be written.
    #[error("cannot write {path}: {source}; is the folder writable and has it room?", path = path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program of e2fsprogs is missing.
    #[error("cannot start {program}: {source}; install e2fsprogs")]
    Start {
        /// Which.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It ended otherwise than hoped.
    #[error(
        "{program} for the base {base}: exit code {code}: {said}; e2fsprogs before 1.47 lacks some features"
    )]
    Failed {
        /// Which program.
        program: &'static str,
        /// Which base.
        base: &'static str,
        /// Its exit code, -1 for a signal.
        code: i32,
        /// What it said.
        said: String,
    },
    /// The last touches, which are our own, failed.
    #[error(transparent)]
    Finish(#[from] Error),
}

/// A sound filesystem, and how to make it.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// Its name.
    pub name: &'static str,
    /// Bytes of a block.
    pub block_size: u32,
    /// Blocks.
    pub blocks: u32,
    /// Inodes.
    pub inodes: u16,
    /// Bytes of an inode.
    pub inode_size: u16,
    /// Features, as `mke2fs -O` takes them behind `none,`.
    pub features: &'static str,
    /// Further options of mke2fs, each with its value.
    pub options: &'static [&'static str],
    /// Extended options (`-E`).
    pub extended: &'static str,
    /// Commands for debugfs beyond those for all.
    pub commands: &'static str,
}

const EXT2: &str = "ext_attr,resize_inode,dir_index,filetype,sparse_super,large_file";
const EXT3: &str = "has_journal,ext_attr,resize_inode,dir_index,filetype,sparse_super,large_file";
const UNINIT: &str = "has_journal,ext_attr,resize_inode,dir_index,filetype,extent,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,uninit_bg";
const EXT4: &str = "has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum";
const ORPHAN: &str = "has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,orphan_file";
const RICH: &str = "has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,metadata_csum_seed,orphan_file,inline_data,ea_inode,quota,project,casefold,encrypt,verity";
const ENCRYPTED: &str = "ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,encrypt";
const STRICT: &str = "ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,casefold";
const BIGALLOC: &str = "has_journal,ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,bigalloc";
const META_BG: &str = "has_journal,ext_attr,dir_index,filetype,extent,64bit,meta_bg,sparse_super2,large_file,huge_file,dir_nlink,extra_isize,metadata_csum";
const MMP: &str = "ext_attr,resize_inode,dir_index,filetype,extent,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,mmp";
const LARGE: &str = "ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum,inline_data,large_dir";

const fn base(
    name: &'static str,
    block_size: u32,
    blocks: u32,
    inode_size: u16,
    features: &'static str,
) -> Base {
    Base {
        name,
        block_size,
        blocks,
        inodes: 1536,
        inode_size,
        features,
        options: &[],
        extended: "",
        commands: "",
    }
}

/// A value that has to lie in an inode of its own, if that may be.
const VALUES: &str = "ea_set -f @value /f5k user.large\nea_set -f @value /names user.large\n";

/// Every base.
pub static BASES: &[Base] = &[
    base("ext2-1k", 1024, 20_000, 128, EXT2),
    base("ext3-1k", 1024, 20_000, 256, EXT3),
    Base {
        // So few that the files fill more than the first group.
        inodes: 768,
        ..base("uninit-1k", 1024, 30_000, 256, UNINIT)
    },
    base("ext4-1k", 1024, 20_000, 256, EXT4),
    base("orphan-1k", 1024, 20_000, 256, ORPHAN),
    Base {
        extended: "encoding=utf8,quotatype=usrquota:grpquota:prjquota",
        commands: VALUES,
        ..base("rich-1k", 1024, 20_000, 256, RICH)
    },
    base("encrypted-1k", 1024, 20_000, 256, ENCRYPTED),
    Base {
        extended: "encoding=utf8,encoding_flags=strict",
        commands: "set_inode_field /deep flags 0x40080000\n",
        ..base("strict-1k", 1024, 20_000, 256, STRICT)
    },
    Base {
        options: &["-C", "16384"],
        ..base("bigalloc-1k", 1024, 40_000, 256, BIGALLOC)
    },
    base("meta-bg-1k", 1024, 20_000, 256, META_BG),
    base("mmp-1k", 1024, 20_000, 256, MMP),
    base("ext2-4k", 4096, 8_000, 128, EXT2),
    base("ext4-2k", 2048, 12_000, 256, ORPHAN),
    base("ext4-4k", 4096, 8_000, 256, ORPHAN),
    Base {
        extended: "encoding=utf8,quotatype=usrquota:grpquota:prjquota",
        commands: VALUES,
        ..base("rich-4k", 4096, 8_000, 512, RICH)
    },
    base("ext3-8k", 8192, 4_000, 256, EXT2),
    base("ext4-16k", 16_384, 2_000, 256, LARGE),
    base("ext4-64k", 65_536, 600, 256, LARGE),
];

/// The base of a name.
pub fn find(name: &str) -> Option<&'static Base> {
    BASES.iter().find(|base| base.name == name)
}

impl Base {
    /// Makes it in a folder, which must be there, and gives the image's path.
    ///
    /// # Errors
    /// e2fsprogs is missing or too old, or there is no room.
    pub fn make(&self, folder: &Path) -> Result<PathBuf, BaseError> {
        let tree = folder.join(format!("{}.tree", self.name));
        let image = folder.join(format!("{}.image", self.name));
        self.plant(&tree)?;
        self.mke2fs(&tree, &image)?;
        self.debugfs(folder, &image)?;
        self.run("e2fsck", &["-fyD", &image.display().to_string()], &[0, 1])?;
        if self.features.contains("encrypt") && !self.features.contains("quota") {
            encrypt(&image)?;
        }
        self.run("e2fsck", &["-fn", &image.display().to_string()], &[0])?;
        fs::remove_dir_all(&tree).map_err(|source| BaseError::Write { path: tree, source })?;
        Ok(image)
    }

    fn mke2fs(&self, tree: &Path, image: &Path) -> Result<(), BaseError> {
        let numbers = [
            self.block_size.to_string(),
            self.inode_size.to_string(),
            self.inodes.to_string(),
        ];
        let features = format!("none,{}", self.features);
        let mut extended = String::from(
            "hash_seed=8be2f5a0-3a24-4d4f-9a3b-1c5f0a7e6d21,lazy_itable_init=0,lazy_journal_init=0",
        );
        if !self.extended.is_empty() {
            extended = format!("{extended},{}", self.extended);
        }
        let (tree, image) = (tree.display().to_string(), image.display().to_string());
        let mut words = vec![
            "-q",
            "-F",
            "-b",
            &numbers[0],
            "-I",
            &numbers[1],
            "-N",
            &numbers[2],
            "-O",
            &features,
            "-d",
            &tree,
            "-U",
            "6b33f586-a183-4383-921d-30da3fef2e5c",
            "-E",
            &extended,
        ];
        words.extend(self.options);
        let blocks = self.blocks.to_string();
        words.extend([image.as_str(), blocks.as_str()]);
        self.run("mke2fs", &words, &[0])
    }

    /// Attributes, devices and what else a tree cannot carry.
    fn debugfs(&self, folder: &Path, image: &Path) -> Result<(), BaseError> {
        let value = folder.join("value");
        let script = folder.join("script");
        let medium = folder.join("medium");
        let write = |path: &Path, bytes: &[u8]| {
            fs::write(path, bytes).map_err(|source| BaseError::Write {
                path: path.to_owned(),
                source,
            })
        };
        write(&value, &vec![b'v'; self.block_size as usize + 2000])?;
        // Too large for an inode, small enough for a block.
        write(&medium, &[b'w'; 300])?;
        let commands = format!(
            "mknod char c 259 4660\nmknod block b 8 1\nmknod pipe p\n\
             ea_set /f150 user.small value\nea_set -f {medium} /f300k user.medium\n\
             ea_set /f300k user.other else\nea_set -f {medium} /deep user.medium\n\
             write /dev/null reserved\n{}{}",
            if self.features.contains("extent") {
                "fallocate /reserved 0 40\n"
            } else {
                ""
            },
            self.commands
                .replace("@value", &value.display().to_string()),
            medium = medium.display(),
        );
        write(&script, commands.as_bytes())?;
        let words = [
            "-w",
            "-f",
            &script.display().to_string(),
            &image.display().to_string(),
        ];
        self.run("debugfs", &words, &[0])
    }

    /// Runs a program whose exit code is to be one of `codes`.
    fn run(&self, program: &'static str, words: &[&str], codes: &[i32]) -> Result<(), BaseError> {
        let output = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .output()
            .map_err(|source| BaseError::Start { program, source })?;
        let code = output.status.code().unwrap_or(-1);
        if codes.contains(&code) {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(BaseError::Failed {
            program,
            base: self.name,
            code,
            said: String::from_utf8_lossy(&said).trim().replace('\n', "; "),
        })
    }

    /// The files, as mke2fs takes them over.
    fn plant(&self, tree: &Path) -> Result<(), BaseError> {
        self.try_plant(tree).map_err(|source| BaseError::Write {
            path: tree.to_owned(),
            source,
        })
    }

    fn try_plant(&self, tree: &Path) -> io::Result<()> {
        for dir in ["deep/a/b/c", "names", "secret", "empty"] {
            fs::create_dir_all(tree.join(dir))?;
        }
        for (name, size) in [
            ("f0", 0),
            ("f100", 100),
            ("f150", 150),
            ("f5k", 5000),
            ("f9k", 9000),
            ("f300k", 300_000),
        ] {
            let bytes: Vec<u8> = (0..size).map(|nth: usize| (nth % 251) as u8 + 1).collect();
            fs::write(tree.join(name), bytes)?;
        }
        // Enough extents for two levels below the root with blocks of 1 KiB.
        let pieces = if self.block_size <= 2048 { 400 } else { 60 };
        let block = u64::from(self.block_size);
        let file = File::create(tree.join("fragments"))?;
        for nth in 0..pieces {
            file.write_all_at(&vec![7; self.block_size as usize], nth * 2 * block)?;
        }
        for nth in 0..300 {
            let tail = "Xy".repeat(20 + nth % 9);
            fs::write(tree.join(format!("names/n{nth:05}-{tail}")), b"")?;
        }
        // Hard links make a large directory without costing inodes: an index of two levels.
        if self.block_size == 1024 {
            fs::create_dir(tree.join("many"))?;
            for nth in 0..2000 {
                let name = format!("many/m{nth:05}-{}", "z".repeat(52));
                fs::hard_link(tree.join("f9k"), tree.join(name))?;
            }
        }
        fs::hard_link(tree.join("f5k"), tree.join("deep/second"))?;
        fs::write(tree.join("secret/a name of more than sixteen"), b"")?;
        fs::write(tree.join("secret/another name that is long"), b"")?;
        symlink("f100", tree.join("short"))?;
        symlink("x/".repeat(45), tree.join("long"))?;
        drop(UnixListener::bind(tree.join("socket"))?);
        Ok(())
    }
}

/// Encrypts the directory `secret` as far as a checker can see: flags and contexts, since names are bytes to it.
fn encrypt(image: &Path) -> Result<(), BaseError> {
    let write = |source| BaseError::Write {
        path: image.to_owned(),
        source,
    };
    let file = File::options()
        .read(true)
        .write(true)
        .open(image)
        .map_err(write)?;
    let mut medium = ImageFile::new(file).map_err(write)?;
    let mut fs = Filesystem::open(&mut medium)?;
    let dir = fs.name_in_root(b"secret")?.inode;
    let mut inodes: Vec<u32> = fs.names(dir)?.into_iter().map(|name| name.inode).collect();
    inodes.retain(|ino| *ino != ondisk::ext4::inode::number::ROOT);
    inodes.sort_unstable();
    inodes.dedup();
    for ino in inodes {
        let bytes = fs.inode(ino)?;
        let inode = fs.view(&bytes)?;
        debug_assert!(is(&inode, FileType::Regular) || is(&inode, FileType::Directory));
        fs.edit_inode(ino, |slot| give_context(slot, ino))?;
    }
    Ok(())
}

fn give_context(slot: &mut InodeMut<'_>, ino: u32) -> Result<(), ondisk::ext4::Error> {
    let context = Context {
        policy: Policy {
            contents_mode: 1,
            filenames_mode: 4,
            flags: 0,
            key: Key::Descriptor(*b"some key"),
        },
        nonce: [ino as u8; 16],
    };
    let entry = xattr::NewEntry {
        index: 9,
        name: XATTR_NAME.to_vec(),
        value: xattr::NewValue::Here(context.to_bytes()),
    };
    let raw = slot.raw()?;
    raw.i_flags = (raw.i_flags.get() | flag::ENCRYPT).into();
    let at = 128 + usize::from(slot.inode()?.extra_isize());
    xattr::write_inode(&mut slot.bytes()[at..], &[entry])
}
