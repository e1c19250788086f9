//! Trials in virtual time: the same numbers each time, for tests that watch for regressions.
//!
//! QEMU can derive a guest's clock from the instructions that it has executed. What then takes the same time in
//! every run is what happens within the guest: its processor, and a device that is a timer and a piece of its own
//! memory. A disk of the host answers when it answers, so trials in virtual time run on `null_blk`, or on a modelled disk that is
//! served within the guest from its memory. The numbers
//! say nothing of any hardware; that two of them differ shows that the kernel or the programs do.

use study::{Layers, NullBlk, Plan, Stack};

use crate::error::Error;

/// Microseconds that a request takes: about a fast disk's.
const LATENCY_US: u32 = 200;
/// UUID and seed of hashes of every ext filesystem.
const SEED: &str = "5f7c1f5a-0f0e-4a55-9d6e-2009010720ab";

/// Puts every cell's filesystem on `null_blk`, where it is on a plain device.
///
/// # Errors
/// A cell on another device, which would not be in virtual time.
pub fn prepare(plan: &mut Plan) -> Result<(), Error> {
    for cell in &mut plan.cells {
        if cell.filesystem.kind.is_ext() {
            same_names(&mut cell.filesystem.mkfs);
        }
        match &cell.device.stack {
            // Both are a timer of the guest's clock and its own memory.
            Some(stack) if matches!(stack.layers, Layers::NullBlk(_) | Layers::Model(_)) => {
                continue;
            }
            None => {}
            Some(stack) => {
                return Err(Error::Preflight(format!(
                    "{}: device {} is made of disks, which are not in virtual time; leave out \
                     --virtual-time, or name a modelled disk (model:NAME) or a device of the kind null_blk",
                    cell.label(),
                    stack.name
                )));
            }
        }
        cell.device.stack = Some(Stack {
            name: "null_blk".into(),
            about: format!("null_blk in the guest's memory, {LATENCY_US} us a request"),
            layers: Layers::NullBlk(NullBlk {
                latency_us: LATENCY_US,
                mbps: 0,
                memory_backed: true,
                zone_size: None,
            }),
        });
    }
    plan.reference_seconds = 0.0;
    Ok(())
}

/// mke2fs draws a UUID and a seed of directories' hashes, by which names are sorted: with another seed files are
/// read and removed in another order.
fn same_names(mkfs: &mut Vec<String>) {
    if !mkfs.iter().any(|word| word == "-U") {
        mkfs.extend(["-U".to_owned(), SEED.to_owned()]);
    }
    let option = format!("hash_seed={SEED}");
    // mke2fs heeds the last -E alone.
    let last = mkfs.iter().rposition(|word| word == "-E");
    match last.and_then(|at| mkfs.get_mut(at + 1)) {
        Some(options) if options.contains("hash_seed=") => {}
        Some(options) => {
            options.push(',');
            options.push_str(&option);
        }
        None => mkfs.extend(["-E".to_owned(), option]),
    }
}

#[cfg(test)]
mod tests {
    use study::{Overrides, Study};

    use super::*;

    #[test]
    fn names_hash_alike_in_every_run() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut mkfs = words("-E lazy_itable_init=0 -b 4096");
        same_names(&mut mkfs);
        let once = mkfs.join(" ");
        assert_eq!(
            once,
            format!("-E lazy_itable_init=0,hash_seed={SEED} -b 4096 -U {SEED}")
        );
        same_names(&mut mkfs);
        assert_eq!(mkfs.join(" "), once);
        let mut none = Vec::new();
        same_names(&mut none);
        assert_eq!(none.join(" "), format!("-U {SEED} -E hash_seed={SEED}"));
    }

    #[test]
    fn plain_devices_become_null_blk_and_others_are_refused() {
        let study = Study::load("journal").unwrap();
        let mut plan = study::plan(&study, &Overrides::default()).unwrap();
        prepare(&mut plan).unwrap();
        let memory = |plan: &Plan| {
            plan.cells
                .iter()
                .all(|c| c.device.needs().contains(&"null_blk"))
        };
        assert!(memory(&plan));
        let before = plan.clone();
        prepare(&mut plan).unwrap();
        assert_eq!(plan, before);
        if let Some(stack) = &mut plan.cells[0].device.stack {
            stack.layers = Layers::LogWrites(study::LogWrites { log_size: None });
        }
        assert!(
            prepare(&mut plan)
                .unwrap_err()
                .to_string()
                .contains("--virtual-time")
        );
    }
}
