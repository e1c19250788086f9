//! btt's tables as text, one file for each kind of table.

mod activity;
mod averages;
mod easy;
mod merges;
mod plugs;
mod ranges;
mod seeks;
mod shown;

use super::average::Averages;
use super::engine::Engine;
pub(super) use easy::easy;
pub(super) use ranges::ranges;
use shown::{Shown, cut, section};

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
