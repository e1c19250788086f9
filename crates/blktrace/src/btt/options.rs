//! How to analyse: btt's options.

use std::collections::BTreeMap;

/// Which devices are stacked on others: their queueing and completion are counted apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stacked {
    /// btt's guess: majors 9, 253 and 254.
    ByMajor,
    /// Those of major 9, which is md's alone, and these (major << 20 | minor), as sysfs knows them by its
    /// folders `md` and `dm`.
    These(Vec<u32>),
}

/// How to analyse.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which devices are stacked on others.
    pub stacked: Stacked,
    /// btt's answers where ours differ on purpose.
    pub as_btt: bool,
    /// Distances always from the end of the last I/O (btt -a).
    pub absolute_seeks: bool,
    /// Events closer than this belong to one range of activity, seconds (btt -d).
    pub range_seconds: f64,
    /// Ignore remaps (btt -r); chains still use them.
    pub ignore_remaps: bool,
    /// The devices that have rows, in this order (btt -D): major << 20 | minor; none: all. Sums over all
    /// devices are not affected.
    pub devices: Vec<u32>,
    /// The processes that have rows, in this order (btt -e); none: all.
    pub processes: Vec<String>,
    /// Events before this time do not count, seconds from the first (btt -t).
    pub from_seconds: Option<f64>,
    /// Nor do events after this one (btt -T).
    pub to_seconds: Option<f64>,
    /// Names of devices in tables (btt -M, which btt 2.09 reads and does not use).
    pub names: BTreeMap<u32, String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            stacked: Stacked::These(Vec::new()),
            as_btt: false,
            absolute_seeks: false,
            range_seconds: 0.1,
            ignore_remaps: false,
            devices: Vec::new(),
            processes: Vec::new(),
            from_seconds: None,
            to_seconds: None,
            names: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Everything as btt computes it.
    pub fn btt() -> Options {
        Options {
            stacked: Stacked::ByMajor,
            as_btt: true,
            ..Options::default()
        }
    }
}

/// The names of a file as `btt -M` takes it: a line for each device, its name first and its numbers
/// (`8,0`) last, as in the table of SCSI devices that came with btt. Other lines are left out.
pub fn device_names(text: &str) -> BTreeMap<u32, String> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, numbers) = (words.next()?, words.next_back()?);
        let (major, minor) = numbers.split_once(',')?;
        let number = major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?;
        Some((number, name.to_owned()))
    };
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_read_from_either_table() {
        let text = "Device Model Host Bus Target LUN Node PCI IRQ CPU MajorMinor\n\
            sda ST3 0 0 1 0 sda 0000:00:1f.2 19 0 8,0\nswap 8,16\n\nword\n";
        let expected = [
            (8 << 20, "sda".to_owned()),
            ((8 << 20) | 16, "swap".to_owned()),
        ];
        assert_eq!(device_names(text), BTreeMap::from(expected));
    }
}
