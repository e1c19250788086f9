//! `fslab fleet`: a run's blocks on many nodes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Command;

use ::fleet::block::Block;
use ::fleet::{FleetPlan, gather, nodes, script, status};
use lab::{Interrupt, Planned};
use rundir::RunDir;
use words::plural;

use crate::cli::fleet::{FleetBlockArgs, FleetStatusArgs, FleetSubmitArgs};
use crate::cli::{DocumentFormat, LiveFormat};
use crate::commands::{finish, planned, tool};
use crate::terminal::RunTerminal;
use crate::{exit, out};

const SCRIPT: &str = "sbatch.sh";

pub(crate) fn submit(args: &FleetSubmitArgs) -> anyhow::Result<u8> {
    let (dir, fleet, blocks) = if args.missing {
        let (dir, fleet) = FleetPlan::open(Path::new(&args.study.study))?;
        let blocks = status::missing(&status::of(&dir, &fleet)?);
        (dir, fleet, blocks)
    } else {
        let (dir, fleet) = write(args)?;
        let blocks = (0..fleet.plan.blocks).collect();
        (dir, fleet, blocks)
    };
    if blocks.is_empty() {
        out::say("fslab: no block is missing; `fslab fleet gather` makes one run of them");
        return Ok(exit::OK);
    }
    let program = std::env::current_exe()?;
    let text = script::sbatch(&fleet, dir.path(), &program, &blocks, args.at_once);
    dir.replace(SCRIPT, text.as_bytes())
        .map_err(::fleet::Error::from)?;
    submitted(&dir, &text, &blocks, args)
}

/// The folder with its plan.
fn write(args: &FleetSubmitArgs) -> anyhow::Result<(RunDir, FleetPlan)> {
    let tags = record::tags::collect(&args.tag).map_err(lab::Error::Preflight)?;
    let Planned { plan, target, why } = planned(&args.study, &args.target)?;
    let run = args
        .out
        .clone()
        .unwrap_or_else(|| record::folder::default_dir(&plan.study, jiff::Zoned::now().datetime()));
    let command = std::env::args().collect();
    let mut fleet = FleetPlan::new(plan, target.to_string(), tool(), command, tags);
    fleet.why = why;
    Ok((fleet.write(&run)?, fleet))
}

/// Hands the script to sbatch.
fn submitted(
    dir: &RunDir,
    script: &str,
    blocks: &[u32],
    args: &FleetSubmitArgs,
) -> anyhow::Result<u8> {
    let shown = out::path(dir.path());
    let count = plural(blocks.len() as u64, "block");
    if args.dry_run {
        out::say(&format!(
            "fslab: {count} in {shown}; nothing is submitted: `sbatch {}`, or `fslab fleet block {shown} NUMBER` for each",
            out::path(&dir.path().join(SCRIPT))
        ));
        return Ok(exit::OK);
    }
    let log = dir.path().join("logs").join("block-%a.log");
    // The script itself, and not its path: the folder above may be another's to change.
    let mut sbatch = Command::new("sbatch");
    sbatch
        .arg("--parsable")
        .arg(format!("--output={}", log.display()))
        .args(&args.sbatch)
        .stdin(with_text(script)?);
    match sbatch.output() {
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

/// A file of this text, without a name.
fn with_text(text: &str) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

pub(crate) fn block(args: &FleetBlockArgs) -> anyhow::Result<u8> {
    let block = Block::take(&args.run, args.block, tool(), std::env::args().collect())?;
    let interrupt = Interrupt::on_signals()?;
    let terminal = RunTerminal::new(block.request.plan.slots.len(), args.format);
    let finished = block.run(&terminal, &interrupt)?;
    let lost = terminal.finish();
    // A report of one block would be read as the run's.
    let format = match args.format {
        LiveFormat::Text => LiveFormat::Jsonl,
        other => other,
    };
    finish(&finished, format, lost)
}

pub(crate) fn status(args: &FleetStatusArgs) -> anyhow::Result<u8> {
    let (dir, fleet) = FleetPlan::open(&args.run)?;
    let blocks = status::of(&dir, &fleet)?;
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
