//! What surrounds the cells of a plan: device, memory, check, reference, notes, laws.

use std::fmt::Write as _;

use super::paragraph;
use crate::model::{Cell, CheckSpec, CrashBoundary, CrashMethod, Hints, Plan, Volume};

/// What each trial runs on and under, where it is the same for every cell; what varies is in the
/// cells.
pub(super) fn rig(out: &mut String, plan: &Plan) {
    let same = |show: &dyn Fn(&Cell) -> String| -> Option<String> {
        let first = show(plan.cells.first()?);
        plan.cells
            .iter()
            .all(|cell| show(cell) == first)
            .then_some(first)
    };
    let size = same(&|cell| cell.device.size.to_string());
    let readahead = same(&|cell| {
        let sectors = cell.device.readahead;
        sectors.map_or(String::new(), |n| format!("readahead of {n} sectors"))
    });
    let limit = same(&|cell| {
        let limit = cell.device.limit;
        limit.map_or(String::new(), |limit| format!("held to {limit} a second"))
    });
    let stack = same(&|cell| {
        let stack = cell.device.stack.as_ref();
        stack.map_or(String::new(), ToString::to_string)
    });
    let hints = same(&|cell| hints(cell.device.hints).to_owned());
    let device = [size, stack, hints, readahead, limit].into_iter().flatten();
    let device: Vec<String> = device.filter(|text| !text.is_empty()).collect();
    let volume = same(&|cell| volume(cell).to_owned()).filter(|text| !text.is_empty());
    let memory = same(&|cell| cell.memory.map_or(String::new(), |size| size.to_string()));
    let memory = memory.filter(|size| !size.is_empty());
    let memory = memory.map(|size| {
        format!("each trial, its page cache and its check are held to {size} together")
    });
    let reference = (plan.reference_seconds > 0.0).then(|| {
        format!(
            "the raw device is read for {} s at a time before the first trial",
            plan.reference_seconds
        )
    });
    let lines = [
        ("Device", (!device.is_empty()).then(|| device.join(", "))),
        ("Volume", volume),
        ("Memory", memory),
        ("Check", checks(plan)),
        ("Layout", layout(plan)),
        ("Crash", crash(plan)),
        ("Estimate", estimate(plan)),
        ("Trace", trace(plan)),
        ("Reference", reference),
    ];
    out.push('\n');
    for (label, text) in lines {
        if let Some(text) = text {
            paragraph(out, &format!("{label:<10}"), &" ".repeat(10), &text);
        }
    }
    for note in &plan.notes {
        paragraph(out, &format!("{:<10}", "Note"), &" ".repeat(10), note);
    }
}

/// Where the files come from, where no kernel writes them.
fn volume(cell: &Cell) -> &'static str {
    match cell.volume {
        Volume::Filled => "",
        Volume::Forged => {
            "written directly by fslab forge, once for all trials that read the same; nothing is mounted"
        }
    }
}

/// The stripe geometry that mkfs gets, where it does not ask the kernel.
fn hints(hints: Hints) -> &'static str {
    match hints {
        Hints::Auto => "",
        Hints::Given => "mkfs gets its stripe geometry",
        Hints::Withheld => "mkfs assumes no stripes",
    }
}

/// The devices that cells differ by.
pub(super) fn stacks(out: &mut String, plan: &Plan) {
    let Some((_, levels)) = plan.factors.iter().find(|(name, _)| name == "device") else {
        return;
    };
    out.push_str("\nDevices\n");
    let width = levels.iter().map(String::len).max().unwrap_or(0) + 2;
    for name in levels {
        let first = format!("  {name:<width$}");
        let rest = " ".repeat(first.len());
        let mut stacks = plan
            .cells
            .iter()
            .filter_map(|cell| cell.device.stack.as_ref());
        let Some(stack) = stacks.find(|stack| stack.name == *name) else {
            paragraph(out, &first, &rest, "the target itself");
            continue;
        };
        paragraph(out, &first, &rest, &stack.to_string());
        if !stack.about.is_empty() {
            paragraph(out, &rest, &rest, &stack.about);
        }
    }
}

/// The check and its commands, for the programs and the families that the cells have.
fn checks(plan: &Plan) -> Option<String> {
    let checked = plan.cells.iter();
    let mut checked: Vec<(&Cell, &CheckSpec)> = checked
        .filter_map(|cell| Some((cell, cell.check.as_ref()?)))
        .collect();
    let count = checked.len();
    let (_, spec) = *checked.first()?;
    // fslab check is last.
    checked.sort_by_key(|(cell, spec)| (!spec.checker.is_own(), cell.levels.get("filesystem")));
    let mut commands: Vec<String> = Vec::new();
    for (cell, spec) in checked {
        let command = spec.command(cell.filesystem.kind);
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let cells = if count == plan.cells.len() {
        "each trial".to_owned()
    } else {
        format!("trials of {count} cells")
    };
    let cold = if spec.cold {
        " and with cold caches"
    } else {
        ""
    };
    Some(format!(
        "after {cells}, unmounted{cold}: {}; killed after {} s",
        commands.join(", "),
        spec.timeout_seconds
    ))
}

/// The record of file layouts.
fn layout(plan: &Plan) -> Option<String> {
    let spec = plan.cells.iter().find_map(|cell| cell.layout)?;
    Some(format!(
        "after each phase that writes, outside its clocks: extents, gaps and free space; the {} \
         largest files one by one",
        spec.files
    ))
}

/// How power cuts are simulated.
fn crash(plan: &Plan) -> Option<String> {
    let spec = plan.cells.iter().find_map(|cell| cell.crash.as_ref())?;
    if spec.method == CrashMethod::Cut {
        let phase = match &spec.cut_phase {
            Some(phase) => format!("phase {phase}"),
            None => "the first phase".to_owned(),
        };
        let moment = match spec.cut_after_ms {
            None => format!("after {phase}"),
            Some(ms) => format!("{ms} ms after the beginning of {phase}"),
        };
        return Some(format!(
            "the power is cut {moment}; what remains is recovered, checked, and compared with what was synced"
        ));
    }
    let after = match spec.boundaries {
        CrashBoundary::Flush => "flush",
        CrashBoundary::Fua => "flush and forced write",
        CrashBoundary::Write => "write",
    };
    let most = match spec.most {
        0 => String::new(),
        most => format!(", at most {most} evenly spread"),
    };
    Some(format!(
        "writes are logged; the image as of each {after}{most} is recovered and checked"
    ))
}

/// Where checks are estimated.
fn estimate(plan: &Plan) -> Option<String> {
    let spec = plan.cells.iter().find_map(|cell| cell.estimate.as_ref())?;
    let cpu = if (spec.cpu - 1.0).abs() < f64::EPSILON {
        String::new()
    } else {
        format!(", processor times multiplied by {}", spec.cpu)
    };
    Some(format!(
        "after each check, from its own requests: how long it would take on {} (modelled){cpu}",
        words::list(&spec.devices)
    ))
}

/// The block traces, where all cells have them; what varies is in the cells.
fn trace(plan: &Plan) -> Option<String> {
    let traced = plan.cells.iter().filter(|cell| cell.trace).count();
    let whose = match traced {
        0 => return None,
        all if all == plan.cells.len() => "each trial".to_owned(),
        some => format!("the trials of {some} cells"),
    };
    Some(format!(
        "the block layer's events of {whose}, in traces/ of the run's folder"
    ))
}

/// The laws that the report will fit.
pub(super) fn growth(out: &mut String, plan: &Plan) {
    for law in &plan.growth {
        let mut more = String::new();
        if !law.by.is_empty() {
            let _ = write!(more, ", a law for each {}", words::list(&law.by));
        }
        if !law.projections.is_empty() {
            let to: Vec<String> = law
                .projections
                .iter()
                .map(|x| words::millions(*x))
                .collect();
            let _ = write!(more, "; projected to {} {}", to.join(", "), law.x_unit);
        }
        let text = format!(
            "{} {} of {} against {}{more}",
            law.clock.mark(),
            law.metric,
            law.phase,
            law.x
        );
        paragraph(out, "Growth    ", &" ".repeat(10), &text);
    }
}
