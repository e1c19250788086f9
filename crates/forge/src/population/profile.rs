//! The profile of a population: a TOML file.
//!
//! The default of every key is the plainest case, so that an empty profile is a population of plain files, and
//! each key added changes one thing. Shares are fractions of 1, not percentages. docs/forge.md lists the keys.

use serde::Deserialize;

use super::distribution::Distribution;
use crate::Error;

/// Characters of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alphabet {
    /// Letters, digits, `_` and `.`.
    #[default]
    Plain,
    /// Letters of Latin-1 as UTF-8: bytes above 127, on which signed and unsigned hashes differ.
    Utf8,
    /// Any byte but NUL and `/`.
    Bytes,
}

/// The numbers that describe a population.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Inodes that are not directories.
    #[serde(deserialize_with = "amount")]
    pub files: u64,
    /// Of these in each directory.
    #[serde(deserialize_with = "super::distribution::counted")]
    pub per_directory: Distribution,
    /// Bytes of a regular file.
    pub file_size: Distribution,
    /// Random seed.
    pub seed: u64,
    /// Whether files are filled; otherwise they are holes in the image, and read as zeros.
    pub contents: bool,
    /// Users that files belong to; 0: all is root's.
    pub owners: u32,
    /// Projects that the directories in the root belong to, each with all below (the feature `project`); 0: all is project 0.
    pub projects: u32,
    /// The tree.
    pub directories: Directories,
    /// Names.
    pub names: NameRules,
    /// Objects other than files with one name.
    pub kinds: Kinds,
    /// Extended attributes.
    pub attributes: Attributes,
    /// How the filesystem aged.
    pub ageing: Ageing,
}

/// The tree of directories.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Directories {
    /// Subdirectories of one directory at most.
    pub fan_out: u32,
    /// Weights of the levels below the root; empty: as few levels as `fan_out` allows.
    pub depth: Vec<f64>,
}

/// How names are made.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NameRules {
    /// Bytes, 1 to 255; at least as many as a number needs to stay unique.
    pub length: Distribution,
    /// Characters.
    pub alphabet: Alphabet,
    /// Different sets of names; directories of equal numbers share a set. 0: each has its own.
    pub sets: u32,
    /// Directories below the root fold case (the feature `casefold`).
    pub casefold: bool,
    /// All below the root is encrypted by a key that does not exist (the feature `encrypt`).
    pub encrypted: bool,
}

/// Shares of the inodes that are not regular files, or have more than one name.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kinds {
    /// Symbolic links.
    pub symlinks: f64,
    /// Bytes of their targets; from 60 on a target needs a block.
    pub target_length: Option<Distribution>,
    /// Devices, pipes and sockets.
    pub special: f64,
    /// Further names (hard links) for each file.
    pub hard_links: f64,
}

/// Shares of the files that have extended attributes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Attributes {
    /// One small attribute in the inode.
    pub inode: f64,
    /// A block with three.
    pub block: f64,
    /// A value in an inode of its own (the feature `ea_inode`).
    pub value: f64,
    /// Bytes of such a value.
    pub value_size: u32,
    /// Files of a directory that share such a value.
    pub value_sharing: u32,
    /// Files of a directory that follow each other and share a block of attributes; those blocks have none of a user's.
    pub block_sharing: u32,
}

/// How the filesystem aged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ageing {
    /// Inodes freed and not used again, for each file.
    pub freed: f64,
    /// Share of the files that took an inode and a name's place after something else was deleted.
    pub reused: f64,
    /// Names that were removed, for each file; their inodes are elsewhere, their blocks stayed.
    pub removed_names: f64,
    /// Share of the regular files that are fragmented.
    pub fragmented: f64,
    /// Blocks of a piece.
    pub pieces: Distribution,
    /// Share of the other files after which blocks are free.
    pub gaps: f64,
    /// Blocks of free space between pieces and files.
    pub free: Distribution,
    /// Share of the pieces with a hole before them.
    pub holes: f64,
    /// Share of the pieces that are allocated but not written.
    pub unwritten: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            files: 0,
            per_directory: Distribution::fixed(3000),
            file_size: Distribution::fixed(4096),
            seed: 0,
            contents: false,
            owners: 0,
            projects: 0,
            directories: Directories::default(),
            names: NameRules::default(),
            kinds: Kinds::default(),
            attributes: Attributes::default(),
            ageing: Ageing::default(),
        }
    }
}

impl Default for Directories {
    fn default() -> Self {
        Self {
            fan_out: 1000,
            depth: Vec::new(),
        }
    }
}

impl Default for NameRules {
    fn default() -> Self {
        Self {
            length: Distribution::fixed(16),
            alphabet: Alphabet::Plain,
            sets: 16,
            casefold: false,
            encrypted: false,
        }
    }
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            inode: 0.0,
            block: 0.0,
            value: 0.0,
            value_size: 10_000,
            value_sharing: 1,
            block_sharing: 1,
        }
    }
}

impl Default for Ageing {
    fn default() -> Self {
        Self {
            freed: 0.0,
            reused: 0.0,
            removed_names: 0.0,
            fragmented: 0.0,
            pieces: Distribution::fixed(8),
            gaps: 0.0,
            free: Distribution::fixed(4),
            holes: 0.0,
            unwritten: 0.0,
        }
    }
}

fn amount<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Raw {
        Number(u64),
        Text(String),
    }
    let raw = Raw::deserialize(from)
        .map_err(|_| serde::de::Error::custom("give a number, or a text as \"105M\""))?;
    match raw {
        Raw::Number(number) => Ok(number),
        Raw::Text(text) => crate::amount::count(&text).map_err(serde::de::Error::custom),
    }
}

impl Profile {
    /// Reads a profile; `name` is used in messages.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] with the line, for invalid TOML, an unknown key, or an invalid value.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let profile: Self = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .and_then(|span| text.get(..span.start))
                .map_or(1, |before| before.matches('\n').count() + 1);
            let message = error.message().replace('\n', " ");
            Error::Option(format!(
                "{name}:{line}: {message}; docs/forge.md lists the keys of a profile"
            ))
        })?;
        profile
            .check()
            .map_err(|problem| Error::Option(format!("{name}: {problem}")))?;
        Ok(profile)
    }

    /// Whether every value is possible.
    ///
    /// # Errors
    ///
    /// The first invalid value: key, value, and what is valid.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            kinds,
            attributes,
            ageing,
            ..
        } = self;
        for (key, share) in [
            ("kinds.symlinks", kinds.symlinks),
            ("kinds.special", kinds.special),
            (
                "kinds.symlinks + kinds.special",
                kinds.symlinks + kinds.special,
            ),
            ("attributes.inode", attributes.inode),
            ("attributes.block", attributes.block),
            ("attributes.value", attributes.value),
            ("ageing.reused", ageing.reused),
            ("ageing.fragmented", ageing.fragmented),
            ("ageing.gaps", ageing.gaps),
            ("ageing.holes", ageing.holes),
            ("ageing.unwritten", ageing.unwritten),
        ] {
            within(key, share, 1.0)?;
        }
        within("kinds.hard_links", kinds.hard_links, 1000.0)?;
        within("ageing.freed", ageing.freed, 100.0)?;
        within("ageing.removed_names", ageing.removed_names, 100.0)?;
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), String> {
        let ranges = [
            ("per_directory", &self.per_directory, 1, 100_000_000),
            ("file_size", &self.file_size, 0, 1 << 60),
            ("names.length", &self.names.length, 1, 255),
            ("ageing.pieces", &self.ageing.pieces, 1, 1 << 30),
            ("ageing.free", &self.ageing.free, 1, 1 << 30),
        ];
        for (key, found, low, high) in ranges {
            // A directory may be empty in a distribution, but not in all of it.
            let low = if key == "per_directory" && found.greatest() > 0 {
                0
            } else {
                low
            };
            if found.least() < low || found.greatest() > high {
                return Err(format!(
                    "{key}: {}-{} is not within {low}..={high}",
                    found.least(),
                    found.greatest()
                ));
            }
        }
        if let Some(length) = &self.kinds.target_length
            && (length.least() < 1 || length.greatest() > 65_535)
        {
            return Err(format!(
                "kinds.target_length: {}-{} is not within 1..=65535",
                length.least(),
                length.greatest()
            ));
        }
        for (key, found, high) in [
            ("directories.fan_out", self.directories.fan_out, 100_000_000),
            ("attributes.value_size", self.attributes.value_size, 65_536),
            (
                "attributes.value_sharing",
                self.attributes.value_sharing,
                1_000_000,
            ),
            // The kernel's own limit.
            (
                "attributes.block_sharing",
                self.attributes.block_sharing,
                1024,
            ),
        ] {
            if !(1..=high).contains(&found) {
                return Err(format!("{key}: {found} is not within 1..={high}"));
            }
        }
        self.check_names()?;
        if self.projects > 0 && self.kinds.hard_links > 0.0 {
            return Err("projects and kinds.hard_links: no link leads from one project to another; take one of both".to_owned());
        }
        for weight in &self.directories.depth {
            within("directories.depth", *weight, 1e9)?;
        }
        if !self.directories.depth.is_empty() && self.directories.depth.iter().sum::<f64>() <= 0.0 {
            return Err("directories.depth: the weights must add up to more than 0".to_owned());
        }
        Ok(())
    }
}

impl Profile {
    fn check_names(&self) -> Result<(), String> {
        let names = &self.names;
        if !names.encrypted {
            if names.casefold && names.alphabet != Alphabet::Plain {
                return Err(
                    "names.casefold: only names.alphabet = \"plain\" is folded here".to_owned(),
                );
            }
            return Ok(());
        }
        let shortest = ondisk::ext4::encryption::SHORTEST_NAME as u64;
        if names.length.least() < shortest {
            return Err(format!(
                "names.length: {}: an encrypted name has {shortest} bytes at least",
                names.length.least()
            ));
        }
        Ok(())
    }
}

fn within(key: &str, found: f64, high: f64) -> Result<(), String> {
    if (0.0..=high).contains(&found) {
        return Ok(());
    }
    Err(format!("{key}: {found} is not within 0..={high}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_profile_is_the_default() {
        assert_eq!(Profile::parse("p.toml", "").unwrap(), Profile::default());
    }

    #[test]
    fn the_guide_lists_every_key_and_its_example_is_one() {
        let guide = include_str!("../../../../docs/forge.md");
        let example = guide
            .split("```toml")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let profile = Profile::parse("docs/forge.md", example).unwrap();
        assert_eq!(profile.files, 2_000_000);
        assert_eq!(profile.per_directory.greatest(), 60_000);
        let keys = guide
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let mut listed = 0;
        for (key, rest) in keys.filter(|(key, _)| key.contains('.')) {
            let (table, name) = key.split_once('.').unwrap();
            let value = rest.split('|').next().unwrap().trim().trim_matches('`');
            let value = match (key, value) {
                ("names.alphabet", value) => format!("{value:?}"),
                ("directories.depth", _) => "[1, 5, 20]".to_owned(),
                (_, value) => value.to_owned(),
            };
            let text = format!("[{table}]\n{name} = {value}");
            let parsed = Profile::parse(key, &text).unwrap();
            // What the guide calls the default is the default.
            if !["directories.depth", "kinds.target_length"].contains(&key) {
                assert_eq!(parsed, Profile::default(), "{key}");
            }
            listed += 1;
        }
        assert_eq!(listed, 26);
    }

    #[test]
    fn every_wrong_value_is_named_with_its_key() {
        for (text, says) in [
            ("file = 3", "p.toml:1: unknown field `file`"),
            ("seed = 1\nfiles = \"x\"", "p.toml:2: \"x\" is not a count"),
            (
                "[ageing]\nfreed = -1",
                "p.toml: ageing.freed: -1 is not within 0..=100",
            ),
            (
                "[kinds]\nsymlinks = 0.7\nspecial = 0.6",
                "kinds.symlinks + kinds.special: 1.2",
            ),
            (
                "per_directory = 0",
                "per_directory: 0-0 is not within 1..=100000000",
            ),
            (
                "[names]\nlength = 256",
                "names.length: 256-256 is not within 1..=255",
            ),
            (
                "[attributes]\nvalue_sharing = 0",
                "attributes.value_sharing: 0",
            ),
            (
                "[directories]\ndepth = [0, 0]",
                "directories.depth: the weights",
            ),
            ("[kinds]\ntarget_length = \"1-9M\"", "kinds.target_length"),
            (
                "projects = 2\n[kinds]\nhard_links = 0.1",
                "projects and kinds.hard_links: no link",
            ),
            (
                "[names]\nencrypted = true\nlength = \"8-40\"",
                "names.length: 8: an encrypted name has 16 bytes at least",
            ),
            (
                "[names]\ncasefold = true\nalphabet = \"utf8\"",
                "names.casefold: only names.alphabet = \"plain\"",
            ),
            ("= 3", "p.toml:1:"),
        ] {
            let error = Profile::parse("p.toml", text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(Profile::parse("p", "per_directory = [[0, 1], [\"1-50\", 3]]").is_ok());
        let both = "[names]\nencrypted = true\ncasefold = true\nalphabet = \"bytes\"";
        assert!(Profile::parse("p", both).is_ok());
        let units = Profile::parse("p", "per_directory = \"3k\"\nfile_size = \"3k\"").unwrap();
        assert_eq!(units.per_directory.only(), Some(3000));
        assert_eq!(units.file_size.only(), Some(3072));
    }
}
