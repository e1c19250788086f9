//! The values of a report, and how they are printed.

#[cfg(test)]
mod tests;
mod text;

use device::replay::{Bound, Mark};
use device::{Catalogue, Device, Kind, Nanoseconds, Origin, Served, Usage};
use serde::Serialize;

use crate::trace::Source;

/// What a replay gave, for each device.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Always `modelled`: no number of a device below is measured.
    pub timing: &'static str,
    /// What was replayed.
    pub subject: String,
    /// `dependent`, `open`, `closed`, `saturate`; `program` for a checker's own record.
    pub mode: &'static str,
    /// Which events of the trace are requests; none for a checker's own record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Source>,
    /// Requests in flight of the mode saturate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// `scale` or `wrap` where requests were moved to fit the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<&'static str>,
    /// Longest think time that was given, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_limit_ms: Option<f64>,
    /// Whether its recorded time is that of reads that waited for the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// How late these reads were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// What the mode cannot tell.
    pub cannot_tell: &'static str,
    /// Factor of processor times.
    pub cpu: f64,
    /// Replays with drawn figures for each interval.
    pub runs: u32,
    /// Where chance began.
    pub seed: u64,
    /// Requests of the stretches that the runs replayed; none where they replayed all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<u64>,
    /// Commands without an address (passthrough) in the trace, which are not replayed.
    #[serde(skip_serializing_if = "is_zero")]
    pub commands: u64,
    /// What speaks against the record.
    pub doubts: Vec<String>,
    /// One for each device.
    pub devices: Vec<DeviceReport>,
}

/// How late the answers of a device in real time were.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answers {
    /// Requests that were answered.
    pub count: u64,
    /// Mean time by which answers were late, us.
    pub mean_late_us: f64,
    /// Answers that were more than 50 us late, percent.
    pub late_percent: f64,
    /// Whether times that were measured with them stand for the device.
    pub in_time: bool,
}

impl From<Served> for Answers {
    fn from(served: Served) -> Answers {
        Answers {
            count: served.requests,
            mean_late_us: served.mean_lateness() / 1e3,
            late_percent: served.late_percent(),
            in_time: served.is_sound(),
        }
    }
}

/// A device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// Its name.
    pub device: String,
    /// What it stands for.
    pub stands_for: String,
    /// The whole first, then its parts: passes, or reads and writes.
    pub rows: Vec<Row>,
    /// Where time went.
    pub spent: Spent,
    /// Share of the time in which the busiest member worked, percent.
    pub modelled_busy_percent: f64,
    /// Share of the time in which nothing was in flight, percent.
    pub modelled_idle_percent: f64,
    /// What decides how long it takes.
    pub limit: String,
    /// Requests that a buffer or a cache answered.
    pub modelled_hits: u64,
    /// How busy each disk or SSD was, percent: least, mean, most.
    pub modelled_members_busy_percent: Option<[f64; 3]>,
    /// How busy each of them was, percent, in the order of the device file; none where there is one alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modelled_busy_percent_of_members: Vec<f64>,
    /// Members.
    pub members: usize,
    /// Most requests that a replay held at once, in flight or waiting to go out: its memory grows by these.
    pub modelled_held: u64,
    /// What its models leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<&'static str>,
    /// Seconds in other modes: name and time.
    pub modelled_other_modes_s: Vec<(&'static str, f64)>,
    /// How submissions were bound, percent: by a completion, in a burst, by time.
    pub bound_percent: Option<[f64; 3]>,
    /// Figures without a source: device and key.
    pub assumed: Vec<String>,
    /// Figures that were fitted: device, key, and to what.
    pub fitted: Vec<String>,
    /// The studies whose published results were measured on it.
    pub studies: Vec<String>,
}

/// Whether there is nothing to say of a count.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The device, a pass, or a kind of request.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// How long it took where it was recorded.
    pub recorded_s: Option<f64>,
    /// The modelled numbers.
    pub modelled: Modelled,
}

/// Modelled numbers of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Modelled {
    /// The median of the runs; none for a row that is not timed.
    pub seconds: Option<f64>,
    /// 5 % are below.
    pub low_s: Option<f64>,
    /// 5 % are above.
    pub high_s: Option<f64>,
    /// With the figures of the device file.
    pub nominal_s: Option<f64>,
    /// By the recorded time.
    pub ratio: Option<f64>,
    /// Response times with the figures of the device file.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Of a phase: share of the time in which the busiest part worked, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
    /// Of a phase: share of the time in which nothing was in flight, percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// Of a phase: what decides how long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

impl Modelled {
    /// Adds what the device did in the phase of the row.
    pub(crate) fn set_work(&mut self, work: &Work, mode: &str) {
        self.busy_percent = Some(work.busy);
        self.idle_percent = Some(work.idle);
        self.limit = Some(limit(work.part, work.members, work.busy, work.idle, mode));
    }
}

/// What a device did in a phase.
pub(crate) struct Work {
    /// The busiest part.
    part: &'static str,
    /// Disks and SSDs.
    members: usize,
    /// Share of the time in which it worked, percent.
    busy: f64,
    /// Share of the time in which nothing was in flight, percent.
    idle: f64,
}

impl Work {
    /// Between two marks that are this long apart.
    pub(crate) fn between(before: &Mark, after: &Mark, elapsed: Nanoseconds) -> Work {
        let share = |ns: u64| (100.0 * ns as f64 / elapsed.max(1) as f64).min(100.0);
        let is_member = |part: &&Usage| matches!(part.part, "disk" | "ssd");
        let members = after.usage.iter().filter(is_member).count();
        let parts = after.usage.iter().enumerate().map(|(index, part)| {
            let then = before.usage.get(index).map_or(0, |part| part.busy);
            (part.busy.saturating_sub(then), part.part)
        });
        let (busy, part) = parts.max_by_key(|part| part.0).unwrap_or((0, "device"));
        Work {
            members,
            part,
            busy: share(busy),
            idle: share(after.idle.saturating_sub(before.idle)),
        }
    }
}

/// Where time went, seconds summed over all requests and parts; parts work at the same time, so the sums may exceed the
/// duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Requests waited for others.
    pub modelled_queue_s: f64,
    /// Heads moved.
    pub modelled_seek_s: f64,
    /// Heads waited for the first byte.
    pub modelled_rotation_s: f64,
    /// Media moved bytes.
    pub modelled_transfer_s: f64,
    /// Drives processed commands.
    pub modelled_command_s: f64,
    /// Controllers.
    pub modelled_controller_s: f64,
    /// Links.
    pub modelled_link_s: f64,
    /// Nothing was in flight.
    pub modelled_host_s: f64,
}

impl Spent {
    /// From the parts of a device, the sum of all response times and the time without requests, ns.
    pub(crate) fn of(usage: &[Usage], responses: f64, idle: Nanoseconds) -> Spent {
        let mut spent = Spent::default();
        let s = |ns: u64| ns as f64 / 1e9;
        for part in usage {
            match part.part {
                "controller" => spent.modelled_controller_s += s(part.overhead + part.transfer),
                "link" => spent.modelled_link_s += s(part.overhead + part.transfer),
                _ => {
                    spent.modelled_seek_s += s(part.seek);
                    spent.modelled_rotation_s += s(part.rotation);
                    spent.modelled_transfer_s += s(part.transfer);
                    spent.modelled_command_s += s(part.overhead);
                }
            }
        }
        let served: f64 = spent.columns()[1..7].iter().map(|(_, s)| s).sum();
        spent.modelled_queue_s = (responses / 1e9 - served).max(0.0);
        spent.modelled_host_s = s(idle);
        spent
    }

    /// Names and seconds.
    pub(crate) fn columns(&self) -> [(&'static str, f64); 8] {
        [
            ("queue", self.modelled_queue_s),
            ("seek", self.modelled_seek_s),
            ("rotation", self.modelled_rotation_s),
            ("transfer", self.modelled_transfer_s),
            ("command", self.modelled_command_s),
            ("controller", self.modelled_controller_s),
            ("link", self.modelled_link_s),
            ("host", self.modelled_host_s),
        ]
    }
}

/// What a device's report is made of.
pub(crate) struct Facts {
    pub(crate) rows: Vec<Row>,
    pub(crate) spent: Spent,
    pub(crate) elapsed: Nanoseconds,
    pub(crate) idle: Nanoseconds,
    pub(crate) usage: Vec<Usage>,
    pub(crate) bound: Bound,
    pub(crate) held: usize,
    pub(crate) others: Vec<(&'static str, f64)>,
    pub(crate) mode: &'static str,
}

impl DeviceReport {
    pub(crate) fn new(catalogue: &Catalogue, device: &Device, facts: Facts) -> DeviceReport {
        // What was cached is destaged also when the last request is done.
        let share = |ns: u64| (100.0 * ns as f64 / facts.elapsed.max(1) as f64).min(100.0);
        let is_member = |part: &&Usage| matches!(part.part, "disk" | "ssd");
        let members: Vec<f64> = facts
            .usage
            .iter()
            .filter(is_member)
            .map(|part| share(part.busy))
            .collect();
        let busiest = facts.usage.iter().max_by_key(|part| part.busy);
        let busy = busiest.map_or(0.0, |part| share(part.busy));
        let idle = share(facts.idle);
        let bounds = [
            facts.bound.by_completion,
            facts.bound.by_burst,
            facts.bound.by_time,
        ];
        let all: u64 = bounds.iter().sum();
        let (assumed, fitted) = sources(catalogue, device);
        DeviceReport {
            device: device.name.clone(),
            stands_for: device.stands_for.clone(),
            limit: limit(
                busiest.map_or("device", |part| part.part),
                members.len(),
                busy,
                idle,
                facts.mode,
            ),
            rows: facts.rows,
            spent: facts.spent,
            modelled_busy_percent: busy,
            modelled_idle_percent: idle,
            modelled_hits: facts.usage.iter().map(|part| part.hits).sum(),
            modelled_members_busy_percent: spread(&members),
            members: members.len(),
            modelled_busy_percent_of_members: if members.len() > 1 {
                members
            } else {
                Vec::new()
            },
            modelled_held: facts.held as u64,
            left_out: facts
                .usage
                .iter()
                .any(|part| part.part == "ssd")
                .then_some("garbage collection as a process, and a cache of single-level cells"),
            modelled_other_modes_s: facts.others,
            bound_percent: (all > 0).then(|| bounds.map(|count| 100.0 * count as f64 / all as f64)),
            assumed,
            fitted,
            studies: device.studies.clone(),
        }
    }

    /// The whole.
    pub(crate) fn whole(&self) -> Option<&Row> {
        self.rows.first()
    }
}

fn spread(members: &[f64]) -> Option<[f64; 3]> {
    let least = members.iter().copied().min_by(f64::total_cmp)?;
    let most = members.iter().copied().max_by(f64::total_cmp)?;
    let mean = members.iter().sum::<f64>() / members.len() as f64;
    Some([least, mean, most])
}

/// Above this the part is what everything waits for.
const SATURATED: f64 = 85.0;

/// What decides how long the job takes, in a sentence.
fn limit(part: &str, members: usize, busy: f64, idle: f64, mode: &str) -> String {
    let part = match part {
        "disk" | "ssd" if members > 1 => "busiest member",
        "ssd" => "SSD",
        part => part,
    };
    let busy_words = format!("the {part} is {busy:.0} % busy");
    if busy >= SATURATED {
        format!("the device: {busy_words}")
    } else if idle >= 50.0 {
        format!("the host: {busy_words}, and nothing is in flight for {idle:.0} % of the time")
    } else if mode == "open" {
        format!("the times of the record: {busy_words}")
    } else {
        format!(
            "neither the host nor the device alone: {busy_words}, and nothing is in flight for {idle:.0} % of the time; more requests at once would use it better"
        )
    }
}

/// Assumed and fitted figures of a device and of what it is made of.
fn sources(catalogue: &Catalogue, device: &Device) -> (Vec<String>, Vec<String>) {
    let (mut assumed, mut fitted) = (Vec::new(), Vec::new());
    let mut seen: Vec<String> = Vec::new();
    let mut next = std::collections::VecDeque::from([device.clone()]);
    while let Some(device) = next.pop_front() {
        if seen.contains(&device.name) {
            continue;
        }
        let keys: Vec<&str> = device.assumed().collect();
        // A name with a count is a stripe set that was asked for.
        if !keys.is_empty() && catalogue.devices().any(|known| known.name == device.name) {
            assumed.push(format!("{}: {}", device.name, words::list(&keys)));
        }
        for figure in &device.figures {
            if figure.origin == Origin::Fitted {
                fitted.push(format!("{}: {} to {}", device.name, figure.key, figure.of));
            }
        }
        if let Kind::Array(array) = &device.kind {
            let members = array.members.iter();
            let members = members.filter_map(|of| catalogue.device(&of.name).ok());
            next.extend(members.map(std::borrow::Cow::into_owned));
        }
        seen.push(device.name);
    }
    (assumed, fitted)
}

impl Report {
    /// As one JSON document.
    ///
    /// # Errors
    /// None in practice: all values are numbers and texts.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// As text, at most 100 columns wide.
    pub fn text(&self) -> String {
        text::text(self)
    }
}

/// What a mode cannot tell, for [`Report::cannot_tell`].
pub(crate) fn cannot_tell(mode: &str) -> &'static str {
    match mode {
        "open" => "how long the job takes: each request comes at its recorded time",
        "closed" => "who waited for whom, and think time, which is lost",
        "saturate" => "anything about a host: it is the bound of the device",
        "program" => "what another program, or another number of threads, would ask for",
        _ => {
            "what else the host would do there: other readahead windows, writeback thresholds, commits by time, cache hits"
        }
    }
}
