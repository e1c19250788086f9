//! Planned steps, thread after thread: in memory, or in a temporary file where they are many.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use device::replay::{Error, InMemory, KeepSteps, Planned, Steps};

use super::{InFile, failed};

/// Bytes of a step in the file.
const BYTES: usize = 40;
/// Steps of a thread that are written together.
const BLOCK: usize = 512;

/// Steps while they are put.
pub(super) enum Keeping {
    Memory(InMemory),
    File(Writing),
}

/// Steps on their way to a file.
pub(super) struct Writing {
    file: Option<File>,
    /// Those of each thread that are not yet written, by the place after the last.
    waiting: BTreeMap<u32, Vec<Planned>>,
    /// How many these are, and how many they may be.
    held: usize,
    most: usize,
}

impl Keeping {
    /// For `all` steps, of which `most` are kept in memory.
    pub(super) fn holding(most: usize, all: u64) -> Keeping {
        if all <= most as u64 {
            return Keeping::Memory(InMemory::default());
        }
        Keeping::File(Writing {
            file: None,
            waiting: BTreeMap::new(),
            held: 0,
            most,
        })
    }

    pub(super) fn finish(self) -> Result<Arc<dyn Steps>, Error> {
        match self {
            Keeping::Memory(memory) => Ok(Arc::new(memory.steps())),
            Keeping::File(mut writing) => {
                writing.write_all()?;
                let file = writing.file.take();
                Ok(Arc::new(Written(file.ok_or(Error::NoSuch(0))?)))
            }
        }
    }
}

impl KeepSteps for Keeping {
    fn put(&mut self, place: u32, step: Planned) -> Result<(), Error> {
        match self {
            Keeping::Memory(memory) => memory.put(place, step),
            Keeping::File(writing) => writing.put(place, step),
        }
    }
}

impl Writing {
    fn put(&mut self, place: u32, step: Planned) -> Result<(), Error> {
        let mut steps = self.waiting.remove(&place).unwrap_or_default();
        steps.push(step);
        self.held += 1;
        if steps.len() == BLOCK {
            self.write(place + 1, &steps)?;
            steps.clear();
        }
        self.waiting.insert(place + 1, steps);
        if self.held > self.most {
            self.write_all()?;
        }
        Ok(())
    }

    fn write_all(&mut self) -> Result<(), Error> {
        for (end, steps) in std::mem::take(&mut self.waiting) {
            self.write(end, &steps)?;
        }
        Ok(())
    }

    fn write(&mut self, end: u32, steps: &[Planned]) -> Result<(), Error> {
        let file = match &self.file {
            Some(file) => file,
            None => self
                .file
                .insert(tempfile::tempfile().map_err(|error| failed(&error))?),
        };
        let bytes: Vec<u8> = steps.iter().flat_map(to_bytes).collect();
        let first = u64::from(end) - steps.len() as u64;
        self.held -= steps.len();
        file.write_all_at(&bytes, first * BYTES as u64)
            .map_err(|error| failed(&error))
    }
}

/// Steps in a file, by their places.
#[derive(Debug)]
struct Written(File);

impl Steps for Written {
    fn read(&self, from: u32, most: u32, steps: &mut Vec<Planned>) -> Result<(), Error> {
        let mut bytes = vec![0; most as usize * BYTES];
        self.0
            .read_exact_at(&mut bytes, u64::from(from) * BYTES as u64)
            .map_err(|error| failed(&error))?;
        let (all, _) = bytes.as_chunks::<BYTES>();
        steps.extend(all.iter().map(from_bytes));
        Ok(())
    }
}

fn to_bytes(step: &Planned) -> [u8; BYTES] {
    let action = InFile::from(step.action);
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&step.gap.to_le_bytes());
    bytes[8..16].copy_from_slice(&action.offset.to_le_bytes());
    let InFile {
        request, len, kind, ..
    } = action;
    let shorts = [step.order, step.phase.into(), request, len, kind];
    for (to, short) in bytes[16..].as_chunks_mut::<4>().0.iter_mut().zip(shorts) {
        *to = short.to_le_bytes();
    }
    bytes
}

fn from_bytes(bytes: &[u8; BYTES]) -> Planned {
    let long = |nth: usize| u64::from_le_bytes(bytes[..16].as_chunks::<8>().0[nth]);
    let short = |nth: usize| u32::from_le_bytes(bytes[16..].as_chunks::<4>().0[nth]);
    let action = InFile {
        request: short(2),
        offset: long(1),
        len: short(3),
        kind: short(4),
    };
    Planned {
        order: short(0),
        phase: short(1) as u16,
        gap: long(0),
        action: action.into(),
    }
}
