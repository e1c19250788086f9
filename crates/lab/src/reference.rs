//! What the disks themselves can do, measured before the first trial: the raw-device reference.
//!
//! The readers of each of the founding mails asked how far its numbers are from the disk's own. So
//! the disk below is read as `hdparm -t` reads it, and for loop images an image as the trials have
//! it, once for each limit of the plan: that is the ceiling under which a trial's file system worked.
//! It is measured the same day, on the same host, before anything else of the run.
//!
//! It is measurement and not the lab's own time. It is kept short: a study says how many seconds a
//! pass has, and the trials are what a run is for.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use progress::{Progress, Within};
use record::Reference;
use rig::reference::{Measured, Options, measure as measure_device};
use rig::{Class, Rig};
use study::{Limit, Plan};

use crate::convert;
use crate::target::Target;

/// Bytes of the image that is read; less where the host has little room.
const IMAGE: u64 = 256 << 20;
/// The least that is worth reading.
const LEAST: u64 = 16 << 20;
const MIB: f64 = (1_u64 << 20) as f64;
/// Share of the free space that a reference may take.
const SHARE: u64 = 8;
/// What a loop image of our own is called; a node it has for the moment only.
const IMAGE_DEVICE: &str = "loop image";
/// What it measures.
const IMAGE_ABOUT: &str = "a loop image like the trials'";

/// Everything that is to be measured, in order; each as measured, or the line with the reason why not. An
/// interrupt ends it early.
pub(crate) fn measure(
    plan: &Plan,
    target: &Target,
    rig: &mut Rig,
    images: &Path,
    host_disk: Option<&str>,
    progress: &dyn Progress,
) -> Vec<Result<Reference, String>> {
    let options = options(plan.reference_seconds);
    let mut found = Vec::new();
    let subjects = match subjects(plan, target, host_disk) {
        Ok(subjects) => subjects,
        Err((why, subjects)) => {
            found.push(Err(why));
            subjects
        }
    };
    for (number, subject) in (1..).zip(&subjects) {
        if progress.cancelled() {
            break;
        }
        // `raw-device reference 2/3: a loop image held to 70m`
        let count = subjects.len();
        let name = format!("raw-device reference {number}/{count}: {}", subject.name());
        let part = Within::begin(progress, name);
        let begun = Instant::now();
        let measured = if let Some(node) = &subject.node {
            measure_device(node, &options, &part)
        } else {
            let Some(size) = image_size(images) else {
                found.push(Err(no_room(subject, images)));
                break;
            };
            let held = subject.limit.map(convert::limits);
            rig.reference_image(size, held, &options, &part)
        };
        found.extend(reported(measured, subject, &options, begun));
    }
    found
}

/// Something to measure.
struct Subject {
    /// A device that is there; none: an image made for it.
    node: Option<PathBuf>,
    about: &'static str,
    limit: Option<Limit>,
}

impl Subject {
    fn device(&self) -> String {
        self.node
            .as_ref()
            .map_or_else(|| IMAGE_DEVICE.into(), |node| node.display().to_string())
    }

    fn name(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        name(&self.device(), self.about, limit.as_deref())
    }
}

/// What there is to measure, in order. An error has the line that says what there is not, and the
/// rest.
fn subjects(
    plan: &Plan,
    target: &Target,
    host_disk: Option<&str>,
) -> Result<Vec<Subject>, (String, Vec<Subject>)> {
    let of_disk = |node: PathBuf, about| Subject {
        node: Some(node),
        about,
        limit: None,
    };
    let are_models = plan.cells.iter().all(|cell| cell.device.is_modelled());
    match target {
        Target::LoopImages if are_models => Ok(Vec::new()),
        Target::Directory(_) | Target::Ranks { .. } | Target::Disks(_) | Target::Guest(_) => {
            Ok(Vec::new())
        }
        Target::Device { path, .. } => Ok(vec![of_disk(path.clone(), "the disk itself")]),
        Target::LoopImages => {
            let images = limits(plan).into_iter().map(|limit| Subject {
                node: None,
                about: IMAGE_ABOUT,
                limit,
            });
            let Some(disk) = host_disk else {
                let why = "raw-device reference: no disk can be named under the images; see \
                           `fslab context`";
                return Err((why.into(), images.collect()));
            };
            let disk = of_disk(Path::new("/dev").join(disk), "the disk under the images");
            Ok(std::iter::once(disk).chain(images).collect())
        }
    }
}

/// `/dev/vda (the disk under the images)`, `a loop image like the trials', held to 70m`.
fn name(device: &str, about: &str, limit: Option<&str>) -> String {
    let limit = limit.map_or_else(String::new, |limit| format!(", held to {limit}"));
    if about.contains(device) {
        format!("{about}{limit}")
    } else {
        format!("{device} ({about}){limit}")
    }
}

fn no_room(subject: &Subject, images: &Path) -> String {
    format!(
        "raw-device reference: {}: no room for an image of {} MiB in {}; free some space to have it",
        subject.name(),
        LEAST >> 20,
        images.display()
    )
}

/// Five passes as hdparm's manual asks for several; three where even a pass is kept short.
fn options(seconds: f64) -> Options {
    let pass = Duration::from_secs_f64(seconds.clamp(0.01, 60.0));
    Options {
        pass,
        passes: if seconds < 1.0 { 3 } else { 5 },
        random: pass,
    }
}

/// Every limit of the plan once, in the order of the cells; `None` is a device as fast as it is.
fn limits(plan: &Plan) -> Vec<Option<Limit>> {
    let mut all = Vec::new();
    for cell in &plan.cells {
        let limit = cell.device.limit.filter(|limit| *limit != Limit::default());
        if !all.contains(&limit) {
            all.push(limit);
        }
    }
    all
}

/// How large an image may be; none when there is no room for one.
fn image_size(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let size = IMAGE.min((free / SHARE) >> 20 << 20);
    (size >= LEAST).then_some(size)
}

/// A measurement as the log keeps it. An interrupt is neither a result nor a fault.
fn reported(
    measured: rig::Result<Measured>,
    subject: &Subject,
    options: &Options,
    begun: Instant,
) -> Option<Result<Reference, String>> {
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) if error.class() == Class::Interrupted => return None,
        Err(error) => {
            // The error names the device.
            let limit = subject.limit.map(|limit| limit.to_string());
            let about = name("", subject.about, limit.as_deref());
            return Some(Err(format!("raw-device reference: {about}: {error}")));
        }
    };
    Some(Ok(Reference {
        device: subject.device(),
        about: subject.about.into(),
        limit: subject.limit.map(|limit| limit.to_string()),
        sequential: measured.sequential,
        sequential_direct: measured.sequential_direct,
        pass_seconds: options.pass.as_secs_f64(),
        random_reads_per_s: measured.random_reads_per_s,
        random_read_us: measured.random_us,
        line: measured.line,
        notes: measured.notes,
        seconds: begun.elapsed().as_secs_f64(),
    }))
}

/// One line for the context record: `/dev/vda (the disk under the images): 1893 MiB/s buffered,
/// 2011 MiB/s O_DIRECT (medians of 5), 9120 random reads of 4 KiB a second`.
pub(crate) fn summary(reference: &Reference) -> String {
    let rate = |rates: &[f64], how: &str| {
        let mut sorted = rates.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len().saturating_sub(1) / 2)?;
        Some(format!("{:.0} MiB/s {how}", median / MIB))
    };
    let words: Vec<String> = [
        rate(&reference.sequential, "buffered"),
        rate(&reference.sequential_direct, "O_DIRECT"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "{}: {} (medians of {}), {:.0} random reads of 4 KiB a second",
        name(
            &reference.device,
            &reference.about,
            reference.limit.as_deref()
        ),
        words.join(", "),
        reference.sequential.len(),
        reference.random_reads_per_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_one_line_of_the_context() {
        let reference = Reference {
            device: "/dev/vda".into(),
            about: "the disk under the images".into(),
            sequential: [100.0, 300.0, 200.0].map(|rate| rate * MIB).into(),
            sequential_direct: vec![250.0 * MIB],
            random_reads_per_s: 9120.4,
            ..Reference::default()
        };
        assert_eq!(
            summary(&reference),
            "/dev/vda (the disk under the images): 200 MiB/s buffered, 250 MiB/s O_DIRECT \
             (medians of 3), 9120 random reads of 4 KiB a second"
        );
    }

    #[test]
    fn every_name_says_each_thing_once() {
        let image = |limit| Subject {
            node: None,
            about: IMAGE_ABOUT,
            limit,
        };
        let limit = "read=40m,write=80m".parse().unwrap();
        assert_eq!(image(None).name(), "a loop image like the trials'");
        assert_eq!(
            image(Some(limit)).name(),
            "a loop image like the trials', held to read=40m,write=80m"
        );
        let disk = Subject {
            node: Some("/dev/vda".into()),
            about: "the disk itself",
            limit: None,
        };
        assert_eq!(disk.name(), "/dev/vda (the disk itself)");
    }

    #[test]
    fn short_studies_get_short_passes() {
        let (quick, standard) = (options(0.25), options(3.0));
        assert_eq!((quick.passes, quick.pass), (3, Duration::from_millis(250)));
        assert_eq!(
            (standard.passes, standard.pass),
            (5, Duration::from_secs(3))
        );
    }

    #[test]
    fn an_image_is_no_larger_than_there_is_room_for() {
        let here = tempfile::tempdir().unwrap();
        let size = image_size(here.path()).unwrap_or(LEAST);
        assert!((LEAST..=IMAGE).contains(&size) && size.is_multiple_of(1 << 20));
        assert_eq!(image_size(Path::new("/no-such-folder")), None);
    }
}
