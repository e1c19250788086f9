//! Prepares a filesystem on a loop image and waits: what `clean` is tested with, and the shortest
//! use of this crate.
//!
//! `prepare RUN_FOLDER KIND [MKFS OPTIONS]` prints `prepared MOUNT_POINT` when it is ready, and undoes everything
//! when its standard input ends.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use rig::{Request, Rig, Target};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(run), Some(kind)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: prepare RUN_FOLDER KIND [MKFS OPTIONS]");
        return ExitCode::from(2);
    };
    match prepare(Path::new(&run), &kind, arguments.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(run: &Path, kind: &str, mkfs: Vec<String>) -> rig::Result<()> {
    let folder = run.join("images");
    let mut rig = Rig::open(Target::LoopImages { folder }, run)?;
    let request = Request {
        image_size: 512 << 20,
        kind: kind.into(),
        mkfs,
        ..Request::default()
    };
    let prepared = rig.prepare(&request, &|| false)?;
    println!("prepared {}", prepared.mount_point().display());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    eprintln!("{:?}", prepared.finish()?);
    Ok(())
}
