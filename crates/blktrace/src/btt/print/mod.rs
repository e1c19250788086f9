//! btt's tables as text, one file for each kind of table.

mod activity;
mod averages;
mod easy;
mod merges;
mod plugs;
mod ranges;
mod seeks;

use std::fmt::Write;

use super::average::Averages;
use super::device::Device;
use super::engine::Engine;
pub(super) use easy::easy;
pub(super) use ranges::ranges;

/// A device that has rows, with the names of its rows.
struct Shown<'a> {
    device: &'a Device,
    /// `(  8,  0)`, or the name that it was given.
    name: String,
    /// `8,0`, or the name.
    plain: String,
}

impl<'a> Shown<'a> {
    /// The devices asked for in the order asked for, or all as they came.
    fn of(engine: &'a Engine) -> Vec<Shown<'a>> {
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
fn cut(name: &str) -> String {
    name.chars().take(14).collect()
}

pub(super) fn tables(engine: &Engine, all: bool) -> String {
    let mut text = String::new();
    let devices = Shown::of(engine);
    if all {
        section(&mut text, "Per Process");
        let processes = engine.shown_processes();
        let rows: Vec<(String, &Averages)> = processes
            .map(|process| (cut(&process.name), &process.averages))
            .collect();
        averages::each(&mut text, &rows);
        section(&mut text, "Per Device");
        let rows: Vec<(String, &Averages)> = devices
            .iter()
            .map(|shown| (shown.name.clone(), &shown.device.averages))
            .collect();
        averages::each(&mut text, &rows);
    }
    averages::totals(&mut text, &engine.all);
    averages::overhead(&mut text, &devices);
    merges::merges(&mut text, &devices);
    let as_btt = engine.options.as_btt;
    section(&mut text, "Device Q2Q Seek Information");
    seeks::seeks(&mut text, &devices, as_btt, |d| d.q2q.summary());
    section(&mut text, "Device D2D Seek Information");
    seeks::seeks(&mut text, &devices, as_btt, |d| d.d2d.summary());
    plugs::plugs(&mut text, &devices);
    activity::active(&mut text, &devices);
    activity::live(&mut text, engine, &devices);
    if all {
        activity::q2d(&mut text, &devices);
    }
    text
}

fn section(text: &mut String, title: &str) {
    let line = "=".repeat(20);
    let _ = write!(text, "{line} {title} {line}\n\n");
}
