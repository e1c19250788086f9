//! The short path beside the long one, on sound and on damaged directories.

use std::fmt::Write as _;
use std::sync::OnceLock;

use blockio::Ram;
use forge::Image as _;
use forge::ext4::{Ext4, FeatureEdits, FsType, Options};
use forge::population::Profile;
use ondisk::ext4::directory::{entries, seal};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::oracle::{options, own};
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::ext4::{pass0, pass1};

const VARIANTS: [(u32, HashVersion, &str); 8] = [
    (1024, HashVersion::HalfMd4, ""),
    (
        4096,
        HashVersion::HalfMd4Unsigned,
        "^metadata_csum,uninit_bg",
    ),
    (2048, HashVersion::Tea, "large_dir"),
    (1024, HashVersion::Legacy, "^dir_index"),
    (1024, HashVersion::HalfMd4, "^filetype"),
    (4096, HashVersion::HalfMd4, "casefold"),
    (65536, HashVersion::Tea, ""),
    (1024, HashVersion::HalfMd4, "inline_data"),
];

/// Large and small directories, with further links and other kinds of files.
fn made((block, hash, features): (u32, HashVersion, &str)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let options = Options {
        block_size: Some(block),
        hash,
        inodes: Some(4096),
        features: FeatureEdits {
            names: features.split_terminator(',').map(str::to_owned).collect(),
        },
        ..Options::new(
            if block > 4096 { 256 << 20 } else { 24 << 20 },
            FsType::Ext4,
        )
    };
    let folded = features.contains("casefold");
    let profile = "files = 1500\nfile_size = 0\nper_directory = [[\"1-20\", 20], [\"500\", 1]]\n\
                   [names]\nlength = [[\"4-9\", 1], [\"10-60\", 1]]\nalphabet = \"bytes\"\n\
                   [kinds]\nsymlinks = 0.1\nspecial = 0.1\nhard_links = 0.2\n\
                   [ageing]\nremoved_names = 0.5\n";
    let profile = if folded {
        profile.replace("alphabet = \"bytes\"", "casefold = true")
    } else {
        profile.to_owned()
    };
    let profile = Profile::parse("profile", &profile).unwrap();
    let forged = Ext4::new(options, profile).unwrap();
    forged.write(&path, &forge::Silent).unwrap();
    std::fs::read(path).unwrap()
}

/// One of them, made once.
pub(in super::super) fn image(nth: usize) -> &'static [u8] {
    static IMAGES: [OnceLock<Vec<u8>>; VARIANTS.len()] =
        [const { OnceLock::new() }; VARIANTS.len()];
    IMAGES[nth].get_or_init(|| made(VARIANTS[nth]))
}

fn with<T>(image: &[u8], see: impl FnOnce(&Volume<'_>, &State) -> T) -> T {
    let ram = Ram::new(image);
    let volume = pass0::open(&ram, &options(), &own(), &mut Log::new(1)).unwrap();
    let state = pass1::run(&volume, &mut Log::new(1)).unwrap();
    see(&volume, &state)
}

/// The findings and results of pass 2.
fn judged(image: &[u8], with_short_path: bool) -> String {
    with(image, |volume, state| {
        let mut log = Log::new(1000);
        let mut shared = Shared::new(volume, state);
        shared.with_short_path = with_short_path;
        super::super::judge(&shared, &mut log).unwrap();
        // Which worker judged a block, and so how many findings it had before, is a matter of luck.
        let found = format!("{:#?}", log.finish());
        let lines = found
            .lines()
            .filter(|line| !line.trim_start().starts_with("sequence: "));
        let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
        for directory in &state.directories.list {
            writeln!(text, "{directory:?}").unwrap();
        }
        for inode in 0..=volume.geometry.inodes_count() {
            writeln!(text, "{inode}: {}", state.names(inode)).unwrap();
        }
        text
    })
}

/// One thing that is changed in an entry.
#[derive(Clone, Debug)]
enum Change {
    Inode(u32),
    InodeOf(Index),
    RecLen(i16),
    NameLen(u8),
    Kind(u8),
    Byte(Index, u8),
    NameOf(Index),
    Dot(bool),
    /// The inode that the entry names becomes one that cannot be.
    Suspect,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        prop_oneof![0..30_u32, 0..5000_u32, any::<u32>()].prop_map(Change::Inode),
        any::<Index>().prop_map(Change::InodeOf),
        prop_oneof![-12..=12_i16, any::<i16>()].prop_map(Change::RecLen),
        any::<u8>().prop_map(Change::NameLen),
        (0..9_u8).prop_map(Change::Kind),
        (
            any::<Index>(),
            prop_oneof![Just(0), Just(b'/'), any::<u8>()]
        )
            .prop_map(|(at, byte)| Change::Byte(at, byte)),
        any::<Index>().prop_map(Change::NameOf),
        any::<bool>().prop_map(Change::Dot),
        Just(Change::Suspect),
    ]
}

impl Change {
    /// Changes the entry that begins at `at` of a block; `others` are where its entries begin.
    fn apply(&self, block: &mut [u8], at: usize, others: &[usize]) {
        let name_len = usize::from(block[at + 6]).min(block.len() - at - HEAD);
        match self {
            Change::Inode(inode) => block[at..at + 4].copy_from_slice(&inode.to_le_bytes()),
            Change::InodeOf(other) => {
                let other = *other.get(others);
                block.copy_within(other..other + 4, at);
            }
            Change::RecLen(more) => {
                let old = i16::from_le_bytes([block[at + 4], block[at + 5]]);
                let new = old.wrapping_add(*more).to_le_bytes();
                block[at + 4..at + 6].copy_from_slice(&new);
            }
            Change::NameLen(len) => block[at + 6] = *len,
            Change::Kind(kind) => block[at + 7] = *kind,
            Change::Byte(nth, byte) if name_len > 0 => {
                block[at + HEAD + nth.index(name_len)] = *byte;
            }
            Change::NameOf(other) => {
                let other = *other.get(others);
                let len = usize::from(block[other + 6]);
                if len <= name_len.next_multiple_of(4) {
                    block.copy_within(other + HEAD..other + HEAD + len, at + HEAD);
                    block[at + 6] = len as u8;
                }
            }
            Change::Dot(two) => {
                block[at + 6] = 1 + u8::from(*two);
                block[at + HEAD..at + HEAD + 2].copy_from_slice(b"..");
            }
            Change::Byte(..) | Change::Suspect => {}
        }
    }
}

/// Damages an entry of some block of a directory.
fn damage(image: &mut [u8], (block, entry, change, sealed): (Index, Index, Change, bool)) {
    let (at, size, seed) = with(image, |volume, state| {
        let runs = state.directories.runs.iter();
        let blocks =
            runs.flat_map(|run| (0..u64::from(run.len)).map(|nth| (run.inode, run.physical + nth)));
        let blocks: Vec<_> = blocks.collect();
        let (inode, physical) = *block.get(&blocks);
        let directory = state.directories.get(inode).unwrap();
        let seed = volume
            .seed
            .map(|seed| seed.of_inode(inode, directory.generation));
        (
            physical as usize * volume.block_size(),
            volume.block_size(),
            seed,
        )
    });
    let bytes = &mut image[at..at + size];
    let chain = entries(bytes, size as u32).map_while(Result::ok);
    let starts: Vec<usize> = chain.map(|entry| entry.offset).collect();
    if matches!(change, Change::Suspect) {
        if let Some(start) = starts.get(entry.index(starts.len().max(1))) {
            let named = u32::from_le_bytes(bytes[*start..start + 4].try_into().unwrap());
            suspect(image, named);
        }
        return;
    }
    if !starts.is_empty() {
        change.apply(bytes, *entry.get(&starts), &starts);
    }
    if let Some(seed) = seed.filter(|_| sealed) {
        seal(bytes, seed);
    }
}

/// Gives an inode an invalid mode; its checksum is then wrong where there is one, which pass 1 reports.
fn suspect(image: &mut [u8], ino: u32) {
    let at = with(image, |volume, _| {
        let (group, _) = volume.geometry.index_of_inode(ino)?;
        let descriptor = volume.descriptors.get(group as usize)?;
        let (block, offset) = volume.geometry.inode_position(ino, descriptor)?;
        Some(block as usize * volume.block_size() + offset as usize)
    });
    // The root stays what it is: without it there is nothing to compare.
    if let Some(at) = at.filter(|_| ino > 2) {
        image[at + 1] = 0x30;
    }
}

#[test]
fn nearly_all_sound_blocks_take_the_short_path() {
    // The others are judged in the general way, or have too few blocks to tell.
    for (nth, (_, _, features)) in VARIANTS.into_iter().enumerate().take(4) {
        with(image(nth), |volume, state| {
            let shared = Shared::new(volume, state);
            let mut worker = Worker::new(&shared, &Log::new(1));
            let (mut long, mut short) = (0, 0);
            for run in &state.directories.runs {
                let at = state.directories.position(run.inode).unwrap();
                let dir = shared.directory(at).unwrap();
                for nth in 0..run.len {
                    let (block, logical) = (run.physical + u64::from(nth), run.logical + nth);
                    let size = volume.block_size();
                    let bytes = &image_at(volume, block, size);
                    if worker.plain(&dir, block, logical, bytes) {
                        short += 1;
                    } else {
                        assert!(dir.indexed, "{features}: {run:?}");
                        long += 1;
                    }
                }
            }
            assert!(
                short > 20 && long * 10 < short * 3,
                "{features}: {long} {short}"
            );
        });
    }
}

fn image_at(volume: &Volume<'_>, block: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    volume
        .source
        .read_at(&mut bytes, block * size as u64)
        .unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The short path has no opinion: with it and without it every finding, count and parent is the same.
    #[test]
    fn the_short_path_changes_nothing(
        nth in 0..VARIANTS.len(),
        changes in prop::collection::vec(
            (any::<Index>(), any::<Index>(), change(), prop::bool::weighted(0.9)), 0..4,
        ),
    ) {
        let mut image = image(nth).to_vec();
        for change in changes {
            damage(&mut image, change);
        }
        let (long, short) = (judged(&image, false), judged(&image, true));
        let differ: Vec<_> = long.lines().zip(short.lines()).filter(|(long, short)| long != short).collect();
        prop_assert!(long == short, "entry by entry, and by the short path: {differ:#?}");
    }
}
