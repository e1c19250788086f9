//! All devices by name: those that fslab has, and those of the user's files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;

use crate::file::{self, Device, Error, Kind, Variation};
use crate::model::Model;

/// Files in the program, in the order in which they are read.
const SHIPPED: [(&str, &str); 2] = [
    (
        "the shipped drives.toml",
        include_str!("../data/drives.toml"),
    ),
    (
        "the shipped studies.toml",
        include_str!("../data/studies.toml"),
    ),
];

/// Devices of all leaves of a tree; more than that takes too much memory.
const MOST_LEAVES: usize = 4096;

/// Bytes of all leaves of a tree; sums of two such addresses fit 64 bits.
const LARGEST: u128 = 1 << 63;

/// Arrays within arrays.
const DEEPEST: usize = 8;

/// Devices by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    devices: BTreeMap<String, Device>,
}

/// How many devices a name may stripe.
const STRIPED: std::ops::RangeInclusive<usize> = 1..=1024;

impl Catalogue {
    /// The devices that fslab has.
    ///
    /// # Errors
    /// A file in the program is wrong; a test excludes it.
    pub fn shipped() -> Result<Catalogue, Error> {
        let mut catalogue = Catalogue::default();
        for (file, text) in SHIPPED {
            catalogue.put(file, text)?;
        }
        Ok(catalogue)
    }

    /// The devices that fslab has, and those of a file.
    ///
    /// # Errors
    /// As [`Catalogue::add`].
    pub fn with(file: &str, text: &str) -> Result<Catalogue, Error> {
        let mut catalogue = Catalogue::shipped()?;
        catalogue.add(file, text)?;
        Ok(catalogue)
    }

    /// Adds the devices of a file and returns their names; a name that is there already is replaced.
    ///
    /// # Errors
    /// The file is not a device file, or an array of it has a member that no file has, or no room.
    pub fn add(&mut self, file: &str, text: &str) -> Result<Vec<String>, Error> {
        let names = self.put(file, text)?;
        for name in &names {
            self.has_room(name)?;
        }
        Ok(names)
    }

    /// As [`Catalogue::add`], without building a model of each: a test does that with what fslab has.
    fn put(&mut self, file: &str, text: &str) -> Result<Vec<String>, Error> {
        let devices = file::devices(file, text)?;
        let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        for device in devices {
            self.devices.insert(device.name.clone(), device);
        }
        // All of them: another device may have one as its member that was replaced.
        for device in self.devices.values() {
            self.leaves(device, DEEPEST)?;
        }
        Ok(names)
    }

    /// Refuses an array whose members have no room for a chunk.
    fn has_room(&self, name: &str) -> Result<(), Error> {
        let device = self.device(name)?;
        let is_array = matches!(device.kind, Kind::Array(_));
        if !is_array || self.model(name, Variation::Nominal)?.capacity() > 0 {
            return Ok(());
        }
        Err(Error::File {
            file: device.file.clone(),
            line: device.line,
            message: format!("device {name}: `chunk` is larger than the smallest member"),
        })
    }

    /// Counts the leaves of a tree and their bytes, and so finds missing members and cycles.
    fn leaves(&self, device: &Device, depth: usize) -> Result<(usize, u128), Error> {
        let array = match &device.kind {
            Kind::Array(array) => array,
            Kind::Disk(disk) => return Ok((1, disk.capacity.into())),
            Kind::Ssd(ssd) => return Ok((1, ssd.capacity.into())),
        };
        let wrong = |message: String| Error::File {
            file: device.file.clone(),
            line: device.line,
            message: format!("device {}: {message}", device.name),
        };
        if depth == 0 {
            return Err(wrong(format!(
                "`members`: arrays contain each other, or more than {DEEPEST} levels deep"
            )));
        }
        let (mut leaves, mut bytes) = (0, 0);
        for of in &array.members {
            let Some(member) = self.devices.get(&of.name) else {
                let hint = words::suggest(&of.name, self.devices.keys().map(String::as_str));
                let name = words::quoted(&of.name);
                return Err(wrong(format!(
                    "`members`: no device is named {name}; {hint}"
                )));
            };
            let (each, size) = self.leaves(member, depth - 1)?;
            leaves += of.count * each;
            bytes += of.count as u128 * size;
            if leaves > MOST_LEAVES {
                return Err(wrong(format!(
                    "`members`: {leaves} disks are more than {MOST_LEAVES}"
                )));
            }
        }
        if bytes > LARGEST {
            return Err(wrong("`members`: together more than 8 EiB".to_owned()));
        }
        Ok((leaves, bytes))
    }

    /// All devices by name.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.values()
    }

    /// A device by name. `NAMExN` is N of them, striped in chunks of 64 KiB. The name of a study is the device on which it was
    /// measured, where that is one.
    ///
    /// # Errors
    /// There is none of this name; the error has a similar one.
    pub fn device(&self, name: &str) -> Result<Cow<'_, Device>, Error> {
        if let Some(device) = self.devices.get(name) {
            return Ok(Cow::Borrowed(device));
        }
        let striped = name.rsplit_once('x').and_then(|(member, count)| {
            let count: u64 = count.parse().ok()?;
            Some((self.devices.get(member)?, count))
        });
        if let Some((member, count)) = striped {
            let count = usize::try_from(count).ok().filter(|n| STRIPED.contains(n));
            let Some(count) = count else {
                return Err(Error::Unknown {
                    name: words::quoted(name),
                    hint: format!("{}xN is 1 to 1,024 of them; ", member.name),
                });
            };
            let device = Device::striped(name, member, count);
            self.leaves(&device, DEEPEST)?;
            return Ok(Cow::Owned(device));
        }
        let of_study = |device: &&Device| device.studies.iter().any(|study| study == name);
        let measured: Vec<&Device> = self.devices.values().filter(of_study).collect();
        if let [device] = measured[..] {
            return Ok(Cow::Borrowed(device));
        }
        let names: Vec<&str> = measured.iter().map(|device| device.name.as_str()).collect();
        Err(Error::Unknown {
            name: words::quoted(name),
            hint: if names.is_empty() {
                words::hint(name, self.devices.keys().map(String::as_str))
            } else {
                format!("that study was measured on {}; ", words::list(&names))
            },
        })
    }

    /// The figures of a device and of its members, `NAME: KEY VALUE, ... (#DIGEST); NAME: ...`, where one of them is of this file.
    ///
    /// # Errors
    /// There is no device of this name.
    pub fn figures(&self, name: &str, file: &str) -> Result<Option<String>, Error> {
        let mut texts: Vec<String> = Vec::new();
        let mut is_of_file = false;
        let mut next = vec![self.device(name)?];
        while let Some(device) = next.pop() {
            let described = device.described().into_iter();
            let figures = described.map(|figure| format!("{} {}", figure.key, figure.value));
            let figures: Vec<String> = figures.collect();
            // Figures are rounded, and a table is only counted.
            let mut exact = FxHasher::default();
            let all = (&device.kind, &device.controller, &device.link);
            format!("{all:?}").hash(&mut exact);
            let text = format!(
                "{}: {} (#{:016x})",
                device.name,
                figures.join(", "),
                exact.finish()
            );
            if texts.contains(&text) {
                continue;
            }
            texts.push(text);
            is_of_file |= device.file == file;
            if let Kind::Array(array) = &device.kind {
                let members = array.members.iter();
                next.extend(members.filter_map(|of| self.devices.get(&of.name).map(Cow::Borrowed)));
            }
        }
        Ok(is_of_file.then(|| texts.join("; ")))
    }

    /// A model of a device.
    ///
    /// # Errors
    /// There is no device of this name.
    pub fn model(&self, name: &str, variation: Variation) -> Result<Box<dyn Model>, Error> {
        let device = self.device(name)?;
        Ok(file::model(&device, variation, &|member: &str| {
            self.devices.get(member)
        }))
    }
}

#[cfg(test)]
mod tests;
