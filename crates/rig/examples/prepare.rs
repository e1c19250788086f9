//! Prepares a filesystem on a loop image and waits: what `clean` is tested with, and the shortest
//! use of this crate.
//!
//! `prepare RUN_FOLDER KIND [limit=BYTES] [memory=BYTES] [MKFS OPTIONS]` prints `prepared MOUNT_POINT` when it is ready, and undoes everything
//! when its standard input ends.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use progress::Silent;
use rig::limits::Limits;
use rig::{Request, Rig, Target};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(run), Some(kind)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: prepare RUN_FOLDER KIND [limit=BYTES] [memory=BYTES] [MKFS OPTIONS]");
        return ExitCode::from(2);
    };
    match prepare(Path::new(&run), &kind, &arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(run: &Path, kind: &str, mkfs: &[String]) -> rig::Result<()> {
    let folder = run.join("images");
    let mut rig = Rig::open(Target::LoopImages { folder }, run)?;
    let bound = |name: &str| {
        let mut words = mkfs.iter();
        words.find_map(|word| word.strip_prefix(name)?.parse().ok())
    };
    let limit = bound("limit=").map(|rate| Limits {
        read_bytes: Some(rate),
        write_bytes: Some(rate),
        ..Limits::default()
    });
    let request = Request {
        image_size: 512 << 20,
        kind: kind.into(),
        limit,
        memory: bound("memory="),
        mkfs: mkfs
            .iter()
            .filter(|word| !is_bound(word))
            .cloned()
            .collect(),
        ..Request::default()
    };
    let prepared = rig.prepare(&request, &Silent)?;
    println!("prepared {}", prepared.mount_point().display());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    eprintln!("{:?}", prepared.finish()?);
    Ok(())
}

fn is_bound(word: &str) -> bool {
    word.starts_with("limit=") || word.starts_with("memory=")
}
