//! `fslab plan`.

use lab::{Interrupt, Planned, Target};

use crate::cli::{DocumentFormat, LiveFormat, PlanArgs};
use crate::commands::planned;
use crate::terminal::RunTerminal;
use crate::{exit, out};

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<u8> {
    let Planned {
        mut plan,
        target,
        why,
    } = planned(&args.study, &args.target)?;
    lab::preflight::gate(&target)?;
    if args.probe {
        let interrupt = Interrupt::on_signals()?;
        let terminal = RunTerminal::new(1, LiveFormat::Text);
        plan.measured = lab::probe(&plan, &target, &terminal, &interrupt)?;
        drop(terminal);
        if plan.measured.is_none() {
            out::say("fslab: --probe measures nothing in guests: each trial boots its own machine");
        }
    }
    let destroyed = match target {
        Target::LoopImages => "nothing: loop images are made in the run's own folder".to_owned(),
        Target::Directory(dir) => format!(
            "nothing: files are made and removed in a new folder below {}",
            dir.display()
        ),
        Target::Ranks { dir, launcher } => format!(
            "nothing: files are made and removed in a new folder below {}, by ranks that {} starts",
            dir.display(),
            launcher.command.join(" ")
        ),
        Target::Device { path, serial } => {
            format!("everything on {} (serial {serial})", path.display())
        }
        Target::Disks(disks) => format!("everything on {} disks", disks.len()),
        Target::Guest(guest) => format!("nothing: the disks are made for the {guest}"),
    };
    let estimate = study::estimate::estimate(&plan, study::estimate::Rates::default());
    match args.format {
        DocumentFormat::Text => out::print(&study::render::render(&plan, &estimate, &destroyed))?,
        DocumentFormat::Json => out::print(&serde_json::to_string_pretty(&serde_json::json!({
            "plan": plan,
            "estimate": estimate,
            "destroyed": destroyed,
            "choice": why,
        }))?)?,
    }
    Ok(exit::OK)
}
