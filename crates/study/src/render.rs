//! The plan as text, within 78 columns: what `fslab plan` prints.

mod cells;
mod setup;

use std::fmt::Write as _;

use crate::capacity::human;
use crate::estimate::Estimate;
use crate::model::{FilesystemVariant, Measured, Order, Plan, VariantCosts};
use crate::units::Bytes;

/// Columns of a mail.
const WIDTH: usize = 78;
/// Most cells and trials that are listed.
const MOST_CELLS: usize = 48;
const MOST_TRIALS: usize = 12;

/// The plan as text. `destroys` describes what the target would lose.
pub fn render(plan: &Plan, estimate: &Estimate, destroys: &str) -> String {
    let mut out = String::new();
    head(&mut out, plan);
    filesystems(&mut out, plan);
    setup::stacks(&mut out, plan);
    workloads(&mut out, plan);
    setup::rig(&mut out, plan);
    cells::cells(&mut out, plan);
    trials(&mut out, plan);
    costs(&mut out, plan, estimate);
    setup::growth(&mut out, plan);
    out.push_str("\nDestroyed\n");
    paragraph(&mut out, "  ", "  ", destroys);
    out
}

fn head(out: &mut String, plan: &Plan) {
    let repeats = plan.repeats.as_deref().unwrap_or("nothing published");
    let name = format!("{} (profile {})", plan.study, plan.profile);
    let pairs = [
        ("Study", name.as_str()),
        ("Title", &plan.title),
        ("Question", &plan.question),
        ("Repeats", repeats),
    ];
    for (label, text) in pairs {
        paragraph(out, &format!("{label:<10}"), &" ".repeat(10), text);
    }
}

fn filesystems(out: &mut String, plan: &Plan) {
    out.push_str("\nFilesystems\n");
    let width = plan.filesystems.keys().map(String::len).max().unwrap_or(0) + 2;
    for (name, variant) in in_order(plan) {
        let first = format!("  {name:<width$}");
        let rest = " ".repeat(first.len());
        paragraph(out, &first, &rest, &commands(variant));
        if !variant.about.is_empty() {
            paragraph(out, &rest, &rest, &variant.about);
        }
    }
}

/// Variants in the order of their factor's levels.
fn in_order(plan: &Plan) -> impl Iterator<Item = (&String, &FilesystemVariant)> {
    let factor = plan.factors.iter().find(|(name, _)| name == "filesystem");
    let levels = factor.map_or(&[][..], |(_, levels)| levels);
    levels
        .iter()
        .filter_map(|name| plan.filesystems.get_key_value(name))
}

fn commands(variant: &FilesystemVariant) -> String {
    let mut words = vec![format!("mkfs.{}", family(variant))];
    words.extend(variant.mkfs.iter().cloned());
    if !variant.mount.is_empty() {
        words.push(format!("; mount -o {}", variant.mount.join(",")));
    }
    words.join(" ").replace(" ;", ";")
}

fn family(variant: &FilesystemVariant) -> String {
    format!("{:?}", variant.kind).to_lowercase()
}

fn workloads(out: &mut String, plan: &Plan) {
    out.push_str("\nWorkloads\n");
    let mut seen: Vec<&str> = Vec::new();
    for cell in &plan.cells {
        if seen.contains(&cell.workload_name.as_str()) {
            continue;
        }
        seen.push(&cell.workload_name);
        let first = format!("  {:<14}", cell.workload_name);
        let parameters = parameters(plan, &cell.workload_name);
        let text = format!("{}: {parameters}", cell.workload.kind());
        paragraph(out, &first, &" ".repeat(16), &text);
    }
}

/// Parameters that are not factors, as the file would write them; those that follow from a factor
/// with their least and largest value.
fn parameters(plan: &Plan, name: &str) -> String {
    let cells = plan.cells.iter().filter(|cell| cell.workload_name == name);
    let levels = cells.clone();
    let cells: Vec<serde_json::Value> = cells
        .clone()
        .map(|cell| serde_json::to_value(&cell.workload).unwrap_or_default())
        .collect();
    // Another workload's factor is a parameter of this one.
    let factor = |key: &str| levels.clone().any(|cell| cell.levels.contains_key(key));
    let fields = cells.first().and_then(serde_json::Value::as_object);
    let fields = fields.into_iter().flatten().map(|(key, _)| key.as_str());
    let fields = fields.filter(|key| *key != "kind" && !factor(key));
    let show = |key: &str| {
        let first = cells.first().map(|cell| &cell[key])?;
        if cells.iter().all(|cell| cell[key] == *first) {
            return (!first.is_null()).then(|| format!("{key}={}", value(key, first)));
        }
        let by_size = |value: &&serde_json::Value| value.as_u64().unwrap_or(u64::MAX);
        let values = || cells.iter().map(|cell| &cell[key]);
        let (least, most) = (values().min_by_key(by_size)?, values().max_by_key(by_size)?);
        Some(format!("{key}={}..{}", value(key, least), value(key, most)))
    };
    let fields: Vec<String> = fields.filter_map(show).collect();
    fields.join(" ")
}

/// A parameter's value, sizes with their suffix.
fn value(key: &str, value: &serde_json::Value) -> String {
    let sizes = [
        "size",
        "record",
        "buffer",
        "scan_buffer",
        "block",
        "transfer",
        "write_size",
    ];
    match value.as_u64() {
        Some(n) if sizes.contains(&key) => Bytes(n).to_string(),
        _ => value.to_string(),
    }
}

fn trials(out: &mut String, plan: &Plan) {
    const HEAD: usize = "  12345  block 1234 ".len();
    let order = match plan.order {
        Order::Blocked => "each block holds every cell once, in a random order of its own",
        Order::Sequential => "all repetitions of a cell together, cells in the file's order",
    };
    let text = format!(
        "{} = {} blocks of {} cells; seed {}; {order}",
        plan.slots.len(),
        plan.blocks,
        plan.cells.len(),
        plan.seed
    );
    out.push('\n');
    paragraph(out, "Trials    ", &" ".repeat(10), &text);
    let labels = cells::labels(plan, WIDTH - HEAD);
    for slot in plan.slots.iter().take(MOST_TRIALS) {
        let label = labels.get(slot.cell as usize).map_or("", String::as_str);
        let (trial, block) = (slot.trial + 1, slot.block + 1);
        let line = format!("  {trial:>5}  block {block:<4} {label}");
        out.push_str(&cut(&line));
        out.push('\n');
    }
    more(out, plan.slots.len(), MOST_TRIALS);
}

/// `and 5 more`, where not all are listed.
fn more(out: &mut String, count: usize, shown: usize) {
    if count > shown {
        let _ = writeln!(out, "  and {} more", count - shown);
    }
}

/// What a probe measured, as ranges over the variants.
fn probed(measured: &Measured) -> String {
    let range = |unit: &str, values: &dyn Fn(&VariantCosts) -> Option<f64>| {
        let values = measured.variants.iter().filter_map(values);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let number = |value: f64| match value {
            v if v >= 100.0 => format!("{v:.0}"),
            v if v >= 1.0 => format!("{v:.1}"),
            v => format!("{v:.2}"),
        };
        let (low, high) = (number(low), number(high));
        if low == high {
            format!("{low} {unit}")
        } else {
            format!("{low} to {high} {unit}")
        }
    };
    let mut parts = Vec::new();
    if measured.variants.iter().any(|costs| costs.rates.is_some()) {
        parts.push(range("MB/s written", &|c| Some(c.rates?.write / 1e6)));
        parts.push(range("MB/s read", &|c| Some(c.rates?.read / 1e6)));
        parts.push(range("ms an fsync", &|c| Some(c.rates?.fsync * 1e3)));
        parts.push(range("small files a second", &|c| Some(c.rates?.files)));
    }
    parts.push(range(
        "s of mkfs, mount, lazy initialisation and umount for each trial",
        &|c| Some(c.trial_seconds()),
    ));
    parts.join(", ")
}

fn costs(out: &mut String, plan: &Plan, estimate: &Estimate) {
    let rates = estimate.rates;
    let time = match &plan.measured {
        Some(measured) => format!(
            "about {} (from a probe of {:.1} s: {})",
            words::clock_time(estimate.seconds),
            measured.seconds,
            probed(measured)
        ),
        None => format!(
            "about {} (estimated without a probe; `fslab plan --probe` measures; assumed: {:.0} MB/s in \
             sequence, {:.0} MB/s at random, {:.0} small files a second, {} s of mkfs, mount and umount \
             for each trial{})",
            words::clock_time(estimate.seconds),
            rates.bytes_per_s / 1e6,
            rates.random_bytes_per_s / 1e6,
            rates.files_per_s,
            rates.trial_seconds,
            if plan.cells.iter().any(|cell| cell.device.is_modelled()) {
                "; a modelled disk is no faster than its model"
            } else {
                ""
            }
        ),
    };
    let disk = format!(
        "at most about {} at one time; about {} written in total",
        human(Bytes(estimate.disk_bytes_peak)),
        human(Bytes(estimate.bytes_written))
    );
    out.push('\n');
    paragraph(out, "Time      ", &" ".repeat(10), &time);
    paragraph(out, "Disk      ", &" ".repeat(10), &disk);
}

/// Text within the width: the first line begins with `first`, others with blanks as wide as `rest`.
fn paragraph(out: &mut String, first: &str, rest: &str, text: &str) {
    out.push_str(&words::wrap(first, rest.len(), text, WIDTH));
}

/// A line that is too long ends in `...`.
fn cut(line: &str) -> String {
    cut_to(line, WIDTH)
}

fn cut_to(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{head}...")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Rates, estimate};
    use crate::{Overrides, Study, plan};

    fn journal(overrides: &Overrides) -> String {
        rendered("journal", overrides)
    }

    fn rendered(study: &str, overrides: &Overrides) -> String {
        let study = Study::load(study).unwrap();
        let plan = plan(&study, overrides).unwrap();
        let estimate = estimate(&plan, Rates::default());
        render(
            &plan,
            &estimate,
            "nothing: loop images are made in the run's folder",
        )
    }

    fn profile(name: &str) -> Overrides {
        Overrides {
            profile: Some(name.to_owned()),
            ..Overrides::default()
        }
    }

    #[test]
    fn the_quick_plan_reads_well() {
        insta::assert_snapshot!(journal(&profile("quick")));
    }

    #[test]
    fn the_paper_plan_reads_well() {
        insta::assert_snapshot!(journal(&profile("paper")));
    }

    #[test]
    fn the_streaming_plan_reads_well() {
        insta::assert_snapshot!(rendered("streaming", &profile("quick")));
    }

    #[test]
    fn the_fsck_scale_plan_reads_well() {
        insta::assert_snapshot!(rendered("fsck-scale", &profile("quick")));
    }

    #[test]
    fn the_check_of_a_plan_names_every_program() {
        let line = |overrides: &Overrides| {
            let text = rendered("fsck-scale", overrides);
            let words: Vec<&str> = text.split_whitespace().collect();
            let all = words.join(" ");
            let (_, rest) = all.split_once("cold caches: ").unwrap();
            rest.split_once(';').unwrap().0.to_owned()
        };
        let mut overrides = profile("forged");
        let both = "e2fsck -fn -tt, xfs_repair -n -v, fslab check";
        assert_eq!(line(&overrides), both);
        overrides.filter = vec!["checker=fslab".into()];
        assert_eq!(line(&overrides), "fslab check");
        overrides.filter = vec!["checker=own".into(), "filesystem=xfs".into()];
        assert_eq!(line(&overrides), "xfs_repair -n -v");
    }

    #[test]
    fn the_fsck_io_plan_reads_well() {
        insta::assert_snapshot!(rendered("fsck-io", &profile("quick")));
    }

    #[test]
    fn limits_of_the_command_line_are_printed() {
        let mut overrides = profile("quick");
        overrides.set = [
            "memory=512M",
            "limit=70m",
            "readahead=256",
            "check.enabled=true",
            "check.timeout_seconds=60",
        ]
        .map(str::to_owned)
        .to_vec();
        overrides.filter = vec!["filesystem=ext4,xfs".into(), "threads=1".into()];
        insta::assert_snapshot!(journal(&overrides));
    }

    #[test]
    fn no_line_is_wider_than_a_mail() {
        for name in ["quick", "standard", "paper", "base"] {
            let mut overrides = profile(name);
            let long = "x".repeat(300);
            overrides.set = vec![
                format!("filesystem.ext4.about={long} {long}"),
                format!("factors.mount=['', 'noatime,{}']", "y".repeat(70)),
                format!("title=word {long}"),
            ];
            for line in journal(&overrides).lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
    }

    #[test]
    fn devices_of_several_layers_are_printed() {
        let mut overrides = profile("quick");
        overrides.set = ["device=['plain', 'raid0x11']", "filesystem.ext4.about=''"]
            .map(str::to_owned)
            .to_vec();
        overrides.filter = vec!["filesystem=ext4,xfs".into(), "mount=default".into()];
        insta::assert_snapshot!(rendered("streaming", &overrides));
        overrides.set = vec!["device=raid5".into(), "hints=withheld".into()];
        insta::assert_snapshot!(rendered("streaming", &overrides));
    }
}
