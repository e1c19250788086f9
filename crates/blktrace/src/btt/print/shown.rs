//! The devices that have rows, their names, and the heads of sections.

use std::fmt::Write;

use crate::btt::device::Device;
use crate::btt::engine::Engine;

/// A device that has rows, with the names of its rows.
pub(super) struct Shown<'a> {
    pub(super) device: &'a Device,
    /// `(  8,  0)`, or its given name.
    pub(super) name: String,
    /// `8,0`, or the name.
    pub(super) plain: String,
}

impl<'a> Shown<'a> {
    /// The devices asked for in the order asked for, or all in their order of appearance.
    pub(super) fn of(engine: &'a Engine) -> Vec<Shown<'a>> {
        match &engine.options.devices[..] {
            [] => engine
                .devices
                .iter()
                .map(|d| Shown::one(engine, d))
                .collect(),
            asked => {
                let find = |number: &u32| engine.devices.iter().find(|d| d.number == *number);
                let found = asked.iter().filter_map(find);
                found.map(|d| Shown::one(engine, d)).collect()
            }
        }
    }

    fn one(engine: &Engine, device: &'a Device) -> Shown<'a> {
        let (major, minor) = device.numbers();
        let given = engine.options.names.get(&device.number);
        Shown {
            device,
            name: given.map_or_else(|| format!("({major:>3},{minor:>3})"), |name| cut(name)),
            plain: given.map_or_else(|| format!("{major},{minor}"), |name| cut(name)),
        }
    }
}

/// A name as btt cuts it.
pub(super) fn cut(name: &str) -> String {
    name.chars().take(14).collect()
}

/// Writes the head of a section as btt does.
pub(super) fn section(text: &mut String, title: &str) {
    let line = "=".repeat(20);
    let _ = write!(text, "{line} {title} {line}\n\n");
}
