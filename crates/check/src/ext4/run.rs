//! The passes, one after the other.

use std::sync::atomic::Ordering::Relaxed;

use blockio::BlockSource;
use blockio::layer::Counting;
use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::memory::{self, Estimate, Guard};
use super::{
    Failure, Options, Reference, State, Volume, after, pass0, pass1, pass2, pass3, pass4, pass5,
    paths,
};
use crate::log::{Findings, Log};
use crate::meter::{Meter, STAGES, Stage};
use crate::report::{Filesystem, Inventory, Memory, Report, Subject, Unjudged};
use crate::usage::Usage;
use crate::verdict::Verdicts;
use crate::watch::Watch;

/// Checks an ext2, ext3 or ext4 filesystem, from the superblock to the quota files, and never writes.
///
/// # Errors
/// There is no verdict: it was stopped, or its maps do not fit into memory. Damage, unreadable blocks and a superblock that
/// nobody can use are findings.
pub fn check(
    source: &dyn BlockSource,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Report, Failure> {
    let counting = Counting::new(source);
    let mut meter = Meter::new(&counting);
    let outcome = passes(&counting, options, watch, &mut meter)?;
    let (passes, total) = meter.finish();
    Ok(Report {
        subject: Subject {
            name: source.name().to_string(),
            bytes: source.len(),
            filesystem: outcome.filesystem,
        },
        reference: match options.reference {
            Reference::E2fsck1474 => "1.47.4",
            Reference::E2fsck1470 => "1.47.0",
        },
        verdicts: Verdicts::of(&outcome.findings, options.reference),
        unstable: false,
        findings: outcome.findings,
        unjudged: outcome.unjudged,
        inventory: outcome.inventory,
        passes,
        total,
        memory: Memory {
            stated: outcome.estimate,
            stated_total: outcome.estimate.map(|estimate| estimate.total()),
            peak: Usage::now().peak_memory,
        },
        sequential_rate: None,
    })
}

/// What the passes have left when they have come as far as they could.
struct Outcome {
    findings: Findings,
    filesystem: Option<Filesystem>,
    estimate: Option<Estimate>,
    unjudged: Unjudged,
    inventory: Option<Inventory>,
}

/// Runs a pass under the meter, and tells who watches.
macro_rules! pass {
    ($meter:expr, $watch:expr, $number:literal, $run:expr, $count:expr) => {{
        let stage: &Stage = &STAGES[$number];
        $watch.begin(stage.name);
        if $watch.cancelled() {
            return Err(Failure::Stopped);
        }
        let result = $meter.pass(stage, || $run, $count);
        if let Some(cost) = $meter.last() {
            $watch.end(cost);
        }
        result
    }};
}

fn passes<'a, S: BlockSource>(
    source: &'a Counting<S>,
    options: &Options,
    watch: &'a dyn Watch,
    meter: &mut Meter<'a, S>,
) -> Result<Outcome, Failure> {
    let mut log = Log::new(options.keep);
    let opened = pass!(
        meter,
        watch,
        0,
        open(source, options, watch, &mut log),
        |opened| match opened {
            Ok(Some(volume)) => volume.geometry.groups.into(),
            _ => 0,
        }
    )?;
    let Some(mut volume) = opened else {
        return Ok(Outcome {
            findings: log.finish(),
            filesystem: None,
            estimate: None,
            unjudged: Unjudged::default(),
            inventory: None,
        });
    };
    let estimate = memory::fit(&mut volume)?;
    watch.memory(estimate.total());
    watch.foresee(memory::bytes_to_read(&volume));
    let volume = &volume;
    let log = &mut log;
    let state = pass!(meter, watch, 1, pass1::run(volume, log), |state| {
        state
            .as_ref()
            .map_or(0, |state| state.used.count(0..state.used.len()))
    })?;
    let state = &state;
    let directories = state.directories.list.len() as u64;
    let runs = state.directories.runs.iter();
    let blocks = runs.map(|run| u64::from(run.len)).sum();
    watch.foresee(memory::bytes_behind(volume, blocks));
    pass!(meter, watch, 2, pass2::run(volume, state, log), |_| blocks)?;
    pass!(meter, watch, 3, pass3::run(volume, state, log), |_| {
        directories
    })?;
    let inventory = inventory(volume, state);
    pass!(meter, watch, 4, pass4::run(volume, state, log), |_| {
        inventory.files.inodes
    })?;
    let groups = volume.geometry.groups.into();
    pass!(meter, watch, 5, pass5::run(volume, state, log), |_| groups)?;
    pass!(meter, watch, 6, after::run(volume, state, log), |_| 0)?;
    let mut findings = std::mem::replace(log, Log::new(0)).finish();
    if options.paths {
        pass!(
            meter,
            watch,
            7,
            paths::fill(volume, state, &mut findings),
            |told| { told.as_ref().map_or(0, |told| *told) }
        )?;
    }
    Ok(Outcome {
        findings,
        filesystem: Some(filesystem(volume)),
        estimate: Some(estimate),
        unjudged: Unjudged {
            names: state.unjudged_names.load(Relaxed),
        },
        inventory: Some(inventory),
    })
}

/// Opens it and checks what is before pass 1; none when nothing can be opened, which then is a finding.
fn open<'a>(
    source: &'a dyn BlockSource,
    options: &Options,
    watch: &'a dyn Watch,
    log: &mut Log,
) -> Result<Option<Volume<'a>>, Failure> {
    let guard = Guard::new(options.memory);
    let mut volume = match pass0::open(source, options, log) {
        Ok(volume) => volume,
        Err(unusable) => {
            return match unusable.memory {
                Some((needs, limit)) => Err(Failure::Memory { needs, limit }),
                None => Ok(None),
            };
        }
    };
    volume.watch = watch;
    volume.guard = guard;
    pass0::check(&volume, log);
    Ok(Some(volume))
}

/// What is in use, by pass 1's maps.
fn inventory(volume: &Volume<'_>, state: &State) -> Inventory {
    let cluster = u64::from(volume.geometry.cluster_blocks);
    let clusters = state.blocks.count(0..state.blocks.len());
    Inventory {
        blocks: (clusters * cluster).min(volume.geometry.blocks_count),
        files: state.statistics,
    }
}

fn filesystem(volume: &Volume<'_>) -> Filesystem {
    let (sb, geometry) = (&volume.sb, &volume.geometry);
    Filesystem {
        format: format(sb),
        label: String::from_utf8_lossy(sb.volume_name()).into_owned(),
        uuid: words::uuid(&sb.s_uuid),
        features: features(sb),
        block_size: geometry.block_size,
        blocks: geometry.blocks_count,
        inode_size: geometry.inode_size,
        inodes: geometry.inodes_count(),
        groups: geometry.groups,
        free_blocks: sb.free_blocks_count(),
        free_inodes: sb.s_free_inodes_count.get(),
    }
}

/// As blkid decides: ext4 has features that the ext3 driver does not know, ext3 a journal.
fn format(sb: &Superblock) -> &'static str {
    let incompat = Incompat::FILETYPE
        .with(Incompat::RECOVER)
        .with(Incompat::META_BG);
    let ro_compat = RoCompat::SPARSE_SUPER
        .with(RoCompat::LARGE_FILE)
        .with(RoCompat::BTREE_DIR);
    if sb.incompat().without(incompat).0 != 0 || sb.ro_compat().without(ro_compat).0 != 0 {
        "ext4"
    } else if sb.has_compat(Compat::HAS_JOURNAL) {
        "ext3"
    } else {
        "ext2"
    }
}

fn features(sb: &Superblock) -> Vec<String> {
    let (compat, incompat, ro_compat) = (sb.compat(), sb.incompat(), sb.ro_compat());
    let unknown = [
        ("compat", compat.unknown()),
        ("incompat", incompat.unknown()),
        ("ro_compat", ro_compat.unknown()),
    ];
    let named = compat
        .names()
        .chain(incompat.names())
        .chain(ro_compat.names());
    let unknown = unknown
        .iter()
        .filter(|(_, bits)| *bits != 0)
        .map(|(set, bits)| format!("{set}:0x{bits:x}"));
    named.map(str::to_owned).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::meter::Cost;
    use blockio::Ram;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(String, u64)>>);

    impl Watch for Heard {
        fn begin(&self, pass: &'static str) {
            self.0.lock().unwrap().push((format!("begin {pass}"), 0));
        }

        fn end(&self, cost: &Cost) {
            let said = (format!("end {}", cost.pass), cost.bytes);
            self.0.lock().unwrap().push(said);
        }
    }

    #[test]
    fn who_watches_is_told_what_a_pass_cost() {
        let heard = Heard::default();
        let report = check(&Ram::sparse(1 << 20), &Options::default(), &heard).unwrap();
        assert_eq!(report.verdicts.e2fsck.exit_code, 8);
        let told = heard.0.into_inner().unwrap();
        let read = report.passes[0].bytes;
        assert!(read >= 1024);
        assert_eq!(
            told,
            [("begin 0".to_owned(), 0), ("end 0".to_owned(), read)]
        );
    }
}
