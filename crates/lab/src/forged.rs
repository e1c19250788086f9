//! Volumes that `fslab forge` writes: the words of a cell as options of a forge.
//!
//! The words for mkfs are those of the study's variant, so that one study describes a volume for both ways to fill it. Words without a
//! counterpart in the forge are refused by name: a volume that silently lacked one would be labelled with it in every table.

mod population;
mod xfs;

use std::path::Path;

use forge::ext4::{Ext4, FsType};
use forge::ocfs2::{FeatureLevel, FsType as Purpose, Ocfs2};
use forge::xfs::Xfs;
use forge::{Error, Image as _, Written, ext4, ocfs2};
use fskind::{Family, Kind};
use guest::kernel::{Has, Host};
use progress::Progress;
use study::{Bytes, Cell, Plan, Population, WorkloadSpec};

/// Names, sizes and places depend on this alone, so every run reads the same bytes.
const SEED: u64 = 0;

/// A volume that is ready to be written.
pub(crate) enum Volume {
    Ext(Box<Ext4>),
    Ocfs2(Box<Ocfs2>),
    Xfs(Box<Xfs>),
}

impl Volume {
    /// The volume of a cell.
    ///
    /// # Errors
    /// Why it cannot be, and what to do; one line.
    pub(crate) fn of(cell: &Cell) -> Result<Volume, String> {
        let profile = population::profile(cell)?;
        let size = cell.device.size.get();
        let words = words(&cell.filesystem.mkfs)?;
        let made = match cell.filesystem.kind.family() {
            Family::Ext => {
                let options = ext(cell.filesystem.kind, size, &words)?;
                Ext4::new(options, profile).map(|image| Volume::Ext(Box::new(image)))
            }
            Family::Ocfs2 => {
                let options = of_ocfs2(size, &words)?;
                Ocfs2::new(options, profile).map(|image| Volume::Ocfs2(Box::new(image)))
            }
            Family::Xfs => {
                let options = xfs::options(size, &words, &cell.filesystem.mount)?;
                Xfs::new(options, profile).map(|image| Volume::Xfs(Box::new(image)))
            }
            other => {
                return Err(format!(
                    "{} cannot be forged; set volume = \"filled\"",
                    other.title()
                ));
            }
        };
        made.map_err(|error| error.to_string())
    }

    /// Writes the image, which must not exist yet.
    ///
    /// # Errors
    /// As [`forge::Image::write`].
    pub(crate) fn write(self, path: &Path, progress: &dyn Progress) -> Result<Written, Error> {
        match self {
            Volume::Ext(image) => image.write(path, progress),
            Volume::Ocfs2(image) => image.write(path, progress),
            Volume::Xfs(image) => image.write(path, progress),
        }
    }
}

/// The command that makes the same volume, in words for the record.
pub(crate) fn command(cell: &Cell) -> Vec<String> {
    let mut all = vec!["fslab".to_owned(), "forge".to_owned()];
    all.push(cell.filesystem.kind.name().to_owned());
    all.push(format!("--size={}", cell.device.size));
    match &cell.workload {
        WorkloadSpec::Scan(spec) if spec.population != Population::Plain => {
            all.push(format!("--preset={}", spec.population.name()));
            all.push(format!("--files={}", spec.files));
        }
        WorkloadSpec::Scan(spec) => all.extend(plain(spec.files, spec.per_directory, spec.size)),
        WorkloadSpec::Fill(fill) => {
            let (files, per_directory) = population::of_fill(fill);
            all.extend(plain(files, per_directory, fill.size));
            all.push(format!("--profile=(names.length = {})", fill.name_length));
        }
        // No option of the command says it: the files that the rounds leave.
        other => all.push(format!("--profile=({})", other.kind())),
    }
    all.push(format!("--seed={SEED}"));
    all.extend(cell.filesystem.mkfs.iter().cloned());
    all
}

fn plain(files: u64, per_directory: u64, size: Bytes) -> [String; 3] {
    [
        format!("--files={files}"),
        format!("--per-directory={per_directory}"),
        format!("--file-size={size}"),
    ]
}

/// Refuses what cannot be forged before anything is made.
///
/// # Errors
/// The first cell that cannot be.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    let mut seen: Vec<&Cell> = Vec::new();
    for cell in plan.cells.iter().filter(|cell| cell.volume.is_forged()) {
        if seen
            .iter()
            .any(|known| study::forged::same_image(known, cell))
        {
            continue;
        }
        Volume::of(cell).map_err(|why| format!("{}: {why}", cell.label()))?;
        seen.push(cell);
    }
    Ok(())
}

/// Whether the folder of images has room for the volume of a cell.
///
/// # Errors
/// What it needs and what is there, in one line.
pub(crate) fn room(cell: &Cell, folder: &Path) -> Result<(), String> {
    /// Maps and logs of the filesystem that holds the image.
    const MORE: f64 = 1.03;
    const FIXED: f64 = 268_435_456.0;
    const GB: f64 = 1e9;
    let need = study::forged::image_bytes(cell) * MORE + FIXED;
    let Some(free) = free(folder) else {
        return Ok(());
    };
    if need <= free as f64 {
        return Ok(());
    }
    Err(format!(
        "not run: its image would take {:.1} GB and {} has {:.1} GB free; choose another --out",
        need / GB,
        folder.display(),
        free as f64 / GB
    ))
}

/// Bytes that are free where a folder is, or will be.
pub(crate) fn free(folder: &Path) -> Option<u64> {
    let mut above = folder.ancestors();
    let there = above.find(|path| path.is_dir() && !path.as_os_str().is_empty());
    let stat = rustix::fs::statvfs(there.unwrap_or(Path::new("."))).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// A plan of forged volumes as far as the host can run it: no guest takes its place, so where the host cannot limit a device, cells on
/// limited devices are left out, and the plan says so.
pub(crate) fn as_possible(plan: Plan, host: &Host) -> Plan {
    const THROTTLE: &str = "io-throttle";
    let all_forged = plan.cells.iter().all(|cell| cell.volume.is_forged());
    let lacks = matches!(host.get(THROTTLE), None | Some(Has::No));
    if !all_forged || !lacks {
        return plan;
    }
    plan.without_limits(
        "this kernel cannot limit a device (CONFIG_BLK_DEV_THROTTLING), and forged volumes are read on the host",
    )
}

/// An option of mkfs and its value.
type Word = (String, String);

/// The words for mkfs as options with their values: `-I 256`, `-I256`, `--fs-features=metaecc`.
fn words(mkfs: &[String]) -> Result<Vec<Word>, String> {
    let mut found = Vec::new();
    let mut words = mkfs.iter();
    while let Some(word) = words.next() {
        let pair = if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').unwrap_or((long, ""));
            (format!("--{name}"), value.to_owned())
        } else if word.len() > 2 && word.starts_with('-') && word.is_char_boundary(2) {
            (word[..2].to_owned(), word[2..].to_owned())
        } else {
            let value = words.next().ok_or_else(|| unknown(word))?;
            (word.clone(), value.clone())
        };
        found.push(pair);
    }
    Ok(found)
}

fn unknown(word: &str) -> String {
    format!(
        "fslab forge has no counterpart of the mkfs option {word}; leave it out, or set volume = \"filled\""
    )
}

/// A number with a unit, as `4k`.
fn number<T: TryFrom<u64>>((option, value): &Word) -> Result<Option<T>, String> {
    let bytes = value.parse::<Bytes>().map(Bytes::get).ok();
    let number = bytes.and_then(|bytes| T::try_from(bytes).ok());
    number
        .map(Some)
        .ok_or_else(|| format!("mkfs {option} {value}: not a number that fits; correct it"))
}

/// `size=4M` or `size=4` in MiB.
fn journal(word: &Word) -> Result<Option<u32>, String> {
    let (option, value) = word;
    let size = value
        .strip_prefix("size=")
        .ok_or_else(|| unknown(&format!("{option} {value}")))?;
    if let Ok(mib) = size.parse::<u32>() {
        return Ok(Some(mib));
    }
    let bytes: Option<u64> = number(&(option.clone(), size.to_owned()))?;
    Ok(bytes.and_then(|bytes| u32::try_from(bytes >> 20).ok()))
}

fn list(value: &str) -> impl Iterator<Item = String> + '_ {
    value
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

fn ext(kind: Kind, size: u64, words: &[Word]) -> Result<ext4::Options, String> {
    let fs_type = match kind {
        Kind::Ext2 => FsType::Ext2,
        Kind::Ext3 => FsType::Ext3,
        _ => FsType::Ext4,
    };
    let mut options = ext4::Options::new(size, fs_type);
    options.seed = SEED;
    options.sync = true;
    for word in words {
        let (option, value) = word;
        match option.as_str() {
            "-O" => options.features.names.extend(list(value)),
            "-I" => options.inode_size = number(word)?,
            "-i" => options.inode_ratio = number(word)?,
            "-N" => options.inodes = number(word)?,
            "-b" => options.block_size = number(word)?,
            "-C" => options.cluster_size = number(word)?,
            "-G" => options.flex_groups = number(word)?,
            "-L" => options.label.clone_from(value),
            "-J" => options.journal_mib = journal(word)?,
            "-m" => {
                let share = value.parse::<f64>().ok();
                options.reserved_percent =
                    share.ok_or_else(|| format!("mkfs -m {value}: not a number; correct it"))?;
            }
            // Nothing is left to a kernel: tables and journal are written.
            "-E" if list(value).all(|part| part.starts_with("lazy_")) => {}
            _ => return Err(unknown(&format!("{option} {value}"))),
        }
    }
    Ok(options)
}

fn of_ocfs2(size: u64, words: &[Word]) -> Result<ocfs2::Options, String> {
    let mut options = ocfs2::Options::new(size);
    options.seed = SEED;
    options.sync = true;
    // As the rig makes a volume: for one node, and so with one slot.
    options.local = true;
    for word in words {
        let (option, value) = word;
        match (option.as_str(), value.as_str()) {
            ("-b", _) => options.block_size = number(word)?,
            ("-C", _) => options.cluster_size = number(word)?,
            ("-N", _) => options.slots = number(word)?,
            ("-L", _) => options.label.clone_from(value),
            ("-J", _) => options.journal_mib = journal(word)?,
            ("-M", "local") | ("--fs-feature-level", "default") => {}
            ("-M", "cluster") => options.local = false,
            ("-T", "datafiles") => options.fs_type = Some(Purpose::Datafiles),
            ("-T", "mail") => options.fs_type = Some(Purpose::Mail),
            ("-T", "vmstore") => options.fs_type = Some(Purpose::Vmstore),
            ("--fs-features", _) => options.features.extend(list(value)),
            ("--fs-feature-level", "max-compat") => {
                options.feature_level = FeatureLevel::MaxCompat;
            }
            ("--fs-feature-level", "max-features") => {
                options.feature_level = FeatureLevel::MaxFeatures;
            }
            _ => return Err(unknown(&format!("{option} {value}"))),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(set: &[&str]) -> Cell {
        let study = study::Study::load("fsck-io").unwrap();
        let overrides = study::Overrides {
            profile: Some("quick".into()),
            set: set.iter().map(|&text| text.to_owned()).collect(),
            ..study::Overrides::default()
        };
        study::plan(&study, &overrides).unwrap().cells[0].clone()
    }

    #[test]
    fn the_words_for_mkfs_are_options_of_the_forge() {
        let of =
            |words: &[&str]| -> Vec<String> { words.iter().map(|w| (*w).to_owned()).collect() };
        let scattered = of(&[
            "-O",
            "^flex_bg",
            "-I4096",
            "-i",
            "131072",
            "-E",
            "lazy_itable_init=0",
        ]);
        let options = ext(Kind::Ext4, 1 << 30, &words(&scattered).unwrap()).unwrap();
        assert_eq!(options.features.names, ["^flex_bg"]);
        assert_eq!(
            (options.inode_size, options.inode_ratio),
            (Some(4096), Some(131_072))
        );
        let mail = of(&[
            "-T",
            "mail",
            "-b",
            "4k",
            "-J",
            "size=64M",
            "--fs-features=metaecc,nosparse",
        ]);
        let options = of_ocfs2(1 << 30, &words(&mail).unwrap()).unwrap();
        assert_eq!(
            (options.block_size, options.journal_mib),
            (Some(4096), Some(64))
        );
        assert_eq!(options.features, ["metaecc", "nosparse"]);
        assert!(options.local && options.fs_type == Some(Purpose::Mail));
    }

    #[test]
    fn words_without_a_counterpart_are_refused_by_name() {
        let refused = |kind: Family, mkfs: &[&str]| {
            let mkfs: Vec<String> = mkfs.iter().map(|w| (*w).to_owned()).collect();
            let found = words(&mkfs).and_then(|words| match kind {
                Family::Ext => ext(Kind::Ext4, 1 << 30, &words).map(|_| ()),
                _ => of_ocfs2(1 << 30, &words).map(|_| ()),
            });
            found.unwrap_err()
        };
        let all = [
            refused(Family::Ext, &["-E", "stride=16"]),
            refused(Family::Ext, &["-T", "news"]),
            refused(Family::Ext, &["-I", "many"]),
            refused(Family::Ext, &["-q"]),
            refused(Family::Ocfs2, &["-T", "news"]),
            refused(Family::Ocfs2, &["--cluster-stack=pcmk"]),
            refused(Family::Ocfs2, &["-J", "block64"]),
        ];
        for line in &all {
            assert!(
                !line.contains('\n') && (line.contains("leave it out") || line.contains("correct")),
                "{line}"
            );
        }
        assert!(all[0].contains("-E stride=16"), "{}", all[0]);
    }

    #[test]
    fn a_cell_says_which_volume_it_reads() {
        let cell = cell(&["filesystem=ocfs2", "volume=forged"]);
        assert!(matches!(Volume::of(&cell), Ok(Volume::Ocfs2(_))));
        assert_eq!(
            command(&cell).join(" "),
            "fslab forge ocfs2 --size=16g --files=4000 --per-directory=16 --file-size=0 --seed=0"
        );
        let mut paper = cell.clone();
        if let WorkloadSpec::Scan(spec) = &mut paper.workload {
            spec.population = Population::Paper2011;
        }
        assert!(command(&paper).contains(&"--preset=paper-2011".to_owned()));
        let Ok(Volume::Ocfs2(image)) = Volume::of(&paper) else {
            panic!("not OCFS2");
        };
        assert!(image.population().directories() > 200);
    }
}
