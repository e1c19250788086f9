//! Sound filesystems, and what is to be done to each image.
//!
//! A number decides everything: which filesystem, a case or random changes, and which. The results say it as well, so
//! that an image can be made again when further cases or bases have come and numbers mean something else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fixtures::bases as base;
use forge::damage::ocfs2::Survey;
use forge::damage::{self, Case, Filesystem, Medium, Random};

use crate::check_differential::outcome::Outcome;
use crate::check_differential::{Arguments, Format, fswreck, ocfs2};

/// One image to be judged.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// As its number says.
    Number(u64),
    /// As it was.
    Again(Box<Outcome>),
}

impl Task {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Task::Number(number) => *number,
            Task::Again(outcome) => outcome.number,
        }
    }
}

/// A sound filesystem, in memory.
pub(crate) struct Sound {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The metadata of a volume of OCFS2.
    pub(crate) survey: Option<Survey>,
}

/// Sound filesystems.
pub(crate) struct Pool {
    pub(crate) folder: PathBuf,
    pub(crate) bases: Vec<Sound>,
    format: Format,
    /// Some images are damaged by fswreck.
    fswreck: bool,
}

impl Pool {
    pub(crate) fn make(arguments: &Arguments, folder: &Path) -> Result<Pool> {
        let (format, names) = (arguments.format, &arguments.bases);
        let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
        let bases = match format {
            Format::Ext4 => ext4(folder, wanted)?,
            Format::Ocfs2 => ocfs2::bases(folder, wanted)?,
        };
        if bases.is_empty() {
            bail!(
                "no base is called so; the bases are in {}",
                match format {
                    Format::Ext4 => "crates/fixtures/src/bases.rs",
                    Format::Ocfs2 => "benches/src/check_differential/ocfs2.rs",
                }
            );
        }
        Ok(Pool {
            folder: folder.to_owned(),
            bases,
            format,
            fswreck: arguments.fswreck.is_some(),
        })
    }

    /// The base, and the damage, of an image.
    pub(crate) fn of(&self, task: &Task) -> Result<(usize, Plan)> {
        match task {
            Task::Number(number) => Ok(self.drawn(*number)),
            Task::Again(outcome) => self.again(outcome),
        }
    }

    fn again(&self, outcome: &Outcome) -> Result<(usize, Plan)> {
        let mut bases = self.bases.iter();
        let at = bases.position(|base| base.name == outcome.base);
        let at = at.with_context(|| format!("there is no base {} any more", outcome.base))?;
        let case = match &outcome.damage[..] {
            [name] if fswreck::case(name).is_some() => fswreck::case(name).map(Plan::Fswreck),
            [name] => self.cases().find(|case| case.name() == name),
            _ => None,
        };
        let plan = case.unwrap_or_else(|| random(outcome.number));
        Ok((at, plan))
    }

    /// The cases of the filesystem.
    fn cases(&self) -> Box<dyn Iterator<Item = Plan>> {
        match self.format {
            Format::Ext4 => Box::new(damage::all().map(Plan::Case)),
            Format::Ocfs2 => Box::new(damage::ocfs2::all().map(Plan::Ocfs2Case)),
        }
    }

    fn drawn(&self, number: u64) -> (usize, Plan) {
        let draw = mixed(number);
        if self.fswreck && draw.is_multiple_of(10) {
            let case = (draw / 10 % u64::from(fswreck::CASES)) as u32;
            let at = (draw / 10_000 % self.bases.len() as u64) as usize;
            return (at, Plan::Fswreck(case));
        }
        if draw.is_multiple_of(5) {
            let mut cases: Vec<Plan> = self.cases().collect();
            let case = cases.swap_remove((draw / 5 % cases.len() as u64) as usize);
            // Half on the base it was written for, half on any base that it fits.
            let home = self
                .bases
                .iter()
                .position(|base| case.is_at_home(&base.name));
            let anywhere = (draw / 1000 % self.bases.len() as u64) as usize;
            let at = if (draw / 7).is_multiple_of(2) {
                home.unwrap_or(anywhere)
            } else {
                anywhere
            };
            return (at, case);
        }
        let at = (draw / 1000 % self.bases.len() as u64) as usize;
        (at, random(number))
    }
}

/// One to four changes.
fn random(number: u64) -> Plan {
    Plan::Random(Random {
        count: 1 + (mixed(number) / 100 % 4) as u32,
        seed: number,
        seal: None,
    })
}

/// The bases of ext4.
fn ext4(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Sound>> {
    let mut bases = Vec::new();
    for base in base::BASES.iter().filter(|base| wanted(base.name)) {
        let path = base.make(folder)?;
        bases.push(Sound {
            name: base.name.to_owned(),
            bytes: fs::read(&path)?,
            survey: None,
        });
        fs::remove_file(path)?;
    }
    Ok(bases)
}

/// What is to be done to an image.
pub(crate) enum Plan {
    Case(&'static Case),
    Ocfs2Case(&'static damage::ocfs2::Case),
    /// By that case of fswreck, which changes the file itself.
    Fswreck(u32),
    Random(Random),
}

impl Plan {
    /// The name of the case; empty for random changes.
    fn name(&self) -> &'static str {
        match self {
            Plan::Case(case) => case.name,
            Plan::Ocfs2Case(case) => case.name,
            Plan::Fswreck(_) | Plan::Random(_) => "",
        }
    }

    /// Whether the case was written for a base of that name.
    fn is_at_home(&self, base: &str) -> bool {
        match self {
            Plan::Case(case) => case.base == base,
            Plan::Ocfs2Case(case) => ocfs2::home(case.base) == base,
            Plan::Fswreck(_) | Plan::Random(_) => false,
        }
    }

    pub(crate) fn carry_out(
        &self,
        base: &Sound,
        medium: &mut dyn Medium,
    ) -> Result<Vec<String>, damage::Error> {
        match self {
            Plan::Case(case) => case.apply(&mut Filesystem::open(medium)?)?,
            Plan::Ocfs2Case(case) => case.apply(&mut damage::ocfs2::Volume::open(medium)?)?,
            Plan::Fswreck(case) => return Ok(vec![fswreck::name(*case)]),
            Plan::Random(what) => {
                let changes = match &base.survey {
                    Some(survey) => damage::ocfs2::random(medium, survey, what)?,
                    None => damage::random(medium, what)?,
                };
                return Ok(changes.into_iter().map(|change| change.0).collect());
            }
        }
        Ok(vec![self.name().to_owned()])
    }
}

/// Well-spread bits of a number (Vigna's splitmix64, public domain).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Bytes compared and copied at once.
pub(crate) const PAGE: usize = 4096;

/// A sound image, and pages that were written over it.
pub(crate) struct Overlay<'a> {
    pub(crate) below: &'a [u8],
    pub(crate) pages: BTreeMap<usize, Vec<u8>>,
}

impl Overlay<'_> {
    /// Takes the pages of a file that differ from what is below.
    pub(crate) fn take(&mut self, file: &fs::File) -> io::Result<()> {
        let mut read = vec![0; 256 * PAGE];
        for (nth, below) in self.below.chunks(read.len()).enumerate() {
            let bytes = &mut read[..below.len()];
            file.read_exact_at(bytes, (nth * 256 * PAGE) as u64)?;
            if bytes == below {
                continue;
            }
            let both = bytes.chunks(PAGE).zip(below.chunks(PAGE));
            for (at, (page, _)) in both.enumerate().filter(|(_, (one, other))| one != other) {
                self.pages.insert(nth * 256 + at, page.to_vec());
            }
        }
        Ok(())
    }
}

impl Medium for Overlay<'_> {
    fn size(&self) -> u64 {
        self.below.len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = at.saturating_add(bytes.len() as u64);
        if end > self.size() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let at = at as usize;
        bytes.copy_from_slice(&self.below[at..at + bytes.len()]);
        for (page, over) in self.pages.range(at / PAGE..=(end as usize).div_ceil(PAGE)) {
            for (nth, byte) in over.iter().enumerate() {
                if let Some(place) = (page * PAGE + nth)
                    .checked_sub(at)
                    .and_then(|to| bytes.get_mut(to))
                {
                    *place = *byte;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at.saturating_add(bytes.len() as u64) > self.size() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (nth, byte) in bytes.iter().enumerate() {
            let to = at as usize + nth;
            let below = self.below;
            let page = self.pages.entry(to / PAGE).or_insert_with(|| {
                let start = to / PAGE * PAGE;
                below[start..(start + PAGE).min(below.len())].to_vec()
            });
            page[to % PAGE] = *byte;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_reads_written_blocks_over_the_base() {
        let below: Vec<u8> = (0..10_000_u32).map(|nth| nth as u8).collect();
        let mut model = below.clone();
        let mut overlay = Overlay {
            below: &below,
            pages: BTreeMap::new(),
        };
        for (at, byte, len) in [
            (4090_usize, 1_u8, 10_usize),
            (0, 2, 1),
            (9_990, 3, 10),
            (4095, 4, 2),
        ] {
            overlay.write(at as u64, &vec![byte; len]).unwrap();
            model[at..at + len].fill(byte);
        }
        for (at, len) in [(0, 10_000), (4080, 40), (9_000, 1000), (4096, 1)] {
            let mut read = vec![0; len];
            overlay.read(at as u64, &mut read).unwrap();
            assert_eq!(read, model[at..at + len]);
        }
        assert!(overlay.write(9_999, b"ab").is_err());
        assert!(overlay.read(9_999, &mut [0; 2]).is_err());
        assert_eq!(overlay.pages.len(), 3);
    }
}
