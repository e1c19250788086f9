//! `fslab fleet`: a run's blocks on many nodes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::fleet::{FleetPlan, block, gather, nodes, script, status};
use lab::{Interrupt, Planned};
use words::plural;

use crate::cli::fleet::{FleetBlockArgs, FleetStatusArgs, FleetSubmitArgs};
use crate::cli::{DocumentFormat, LiveFormat};
use crate::commands::{finish, planned, tool};
use crate::terminal::RunTerminal;
use crate::{exit, out};

const SCRIPT: &str = "sbatch.sh";

pub(crate) fn submit(args: &FleetSubmitArgs) -> anyhow::Result<u8> {
    let (run, blocks) = if args.missing {
        let run = PathBuf::from(&args.study.study);
        let blocks = status::missing(&status::of(&run)?);
        (std::path::absolute(&run)?, blocks)
    } else {
        let run = write(args)?;
        let blocks = (0..FleetPlan::load(&run)?.plan.blocks).collect();
        (run, blocks)
    };
    if blocks.is_empty() {
        out::say("fslab: no block is missing; `fslab fleet gather` makes one run of them");
        return Ok(exit::OK);
    }
    let fleet = FleetPlan::load(&run)?;
    let program = std::env::current_exe()?;
    let text = script::sbatch(&fleet, &run, &program, &blocks, args.at_once);
    let path = run.join(SCRIPT);
    std::fs::write(&path, text)?;
    submitted(&run, &path, &blocks, args)
}

/// The folder with its plan.
fn write(args: &FleetSubmitArgs) -> anyhow::Result<PathBuf> {
    let tags = record::tags::collect(&args.tag).map_err(lab::Error::Preflight)?;
    let Planned { plan, target, why } = planned(&args.study, &args.target)?;
    let run = args
        .out
        .clone()
        .unwrap_or_else(|| record::folder::default_dir(&plan.study, jiff::Zoned::now().datetime()));
    let run = std::path::absolute(run)?;
    let command = std::env::args().collect();
    let mut fleet = FleetPlan::new(plan, target.to_string(), tool(), command, tags);
    fleet.why = why;
    fleet.write(&run)?;
    Ok(run)
}

fn submitted(
    run: &Path,
    path: &Path,
    blocks: &[u32],
    args: &FleetSubmitArgs,
) -> anyhow::Result<u8> {
    let shown = out::path(run);
    let count = plural(blocks.len() as u64, "block");
    if args.dry_run {
        out::say(&format!(
            "fslab: {count} in {shown}; nothing is submitted: `sbatch {}`, or `fslab fleet block {shown} NUMBER` for each",
            out::path(path)
        ));
        return Ok(exit::OK);
    }
    let log = run.join("logs").join("block-%a.log");
    let sbatch = Command::new("sbatch")
        .arg("--parsable")
        .arg(format!("--output={}", log.display()))
        .args(&args.sbatch)
        .arg(path)
        .output();
    match sbatch {
        Ok(answer) if answer.status.success() => {
            let job = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            out::print(&format!("{job}\n"))?;
            out::say(&format!(
                "fslab: {count} submitted as job {job}; `fslab fleet status {shown}` shows how far they are"
            ));
            Ok(exit::OK)
        }
        Ok(answer) => {
            let why = String::from_utf8_lossy(&answer.stderr);
            let why = why.lines().next().unwrap_or("it says nothing");
            Err(lab::Error::Preflight(format!("sbatch: {why}; the folder {shown} is kept")).into())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            out::say(&format!(
                "fslab: there is no sbatch here; the folder {shown} is kept: run `fslab fleet block {shown} NUMBER` for each of \
                 its {count} with any scheduler or a loop"
            ));
            Ok(exit::USAGE)
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn block(args: &FleetBlockArgs) -> anyhow::Result<u8> {
    let run = std::path::absolute(&args.run)?;
    let request = block::request(&run, args.block, tool(), std::env::args().collect())?;
    let interrupt = Interrupt::on_signals()?;
    let terminal = RunTerminal::new(request.plan.slots.len(), args.format);
    let finished = block::run(&request, &terminal, &interrupt)?;
    let lost = terminal.finish();
    // A report of one block would be read as the run's.
    let format = match args.format {
        LiveFormat::Text => LiveFormat::Jsonl,
        other => other,
    };
    finish(&finished, format, lost)
}

pub(crate) fn status(args: &FleetStatusArgs) -> anyhow::Result<u8> {
    let blocks = status::of(&args.run)?;
    match args.format {
        DocumentFormat::Text => out::print(&status::text(&blocks))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&blocks)?)?,
    }
    Ok(exit::OK)
}

pub(crate) fn gather(args: &FleetStatusArgs) -> anyhow::Result<u8> {
    let run = std::path::absolute(&args.run)?;
    let gathered = gather::gather(&run)?;
    let disagreements = nodes::disagreements(&gathered.run);
    match args.format {
        DocumentFormat::Text => {
            let mut text = nodes::text(&gathered.nodes);
            for found in &disagreements {
                let _ = writeln!(
                    text,
                    "nodes disagree (Q = {:.1}, p = {:.4}): {}",
                    found.q, found.p, found.what
                );
                for (node, ratio) in &found.ratios {
                    let _ = writeln!(text, "  {node}: {ratio:.3}");
                }
            }
            out::print(&text)?;
        }
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&serde_json::json!({
            "nodes": gathered.nodes,
            "missing": gathered.missing,
            "disagreements": disagreements,
        }))?)?,
    }
    if !gathered.missing.is_empty() {
        out::say(&format!(
            "fslab: blocks {} have no whole attempt: the run is not whole; `fslab fleet submit {} --missing` submits them",
            script::ranges(&gathered.missing),
            out::path(&run)
        ));
        return Ok(exit::INCOMPLETE);
    }
    out::say(&format!("report: {}/report.txt", out::path(&run)));
    Ok(exit::OK)
}
