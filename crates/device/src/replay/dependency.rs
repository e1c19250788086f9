//! What each submission of a record waited for.

use std::collections::HashMap;

use super::Recorded;
use crate::model::Nanoseconds;

/// Gaps up to this are always think time.
const SHORTEST_LIMIT: Nanoseconds = 1_000_000;

/// What must have happened before a request is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing but the time since the start of the record.
    Start(Nanoseconds),
    /// A request (by index) is done, and this time has passed: think time.
    Completion(u32, Nanoseconds),
    /// A request was submitted, and this time has passed.
    Submission(u32, Nanoseconds),
}

/// How many submissions are bound in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// By a completion.
    pub by_completion: u64,
    /// By a submission shortly before, with no completion between: a burst.
    pub by_burst: u64,
    /// By time.
    pub by_time: u64,
}

/// What is known of a process while its requests are passed in order.
#[derive(Clone, Copy, Default)]
struct Process {
    /// Its last submission.
    submitted: Option<u32>,
    /// Its last completion.
    completed: Option<(u32, Nanoseconds)>,
}

/// A submission, its process's last submission, and its last completion with the gap since.
struct Link {
    last: Option<u32>,
    completion: Option<(u32, Nanoseconds)>,
}

/// Dependencies of all requests, in their order.
pub(super) fn dependencies(
    record: &[Recorded],
    think_limit: Option<Nanoseconds>,
) -> (Vec<After>, Bound) {
    let links = links(record);
    let limit = think_limit.unwrap_or_else(|| default_limit(&links));
    let start = record.first().map_or(0, |first| first.submitted);
    let mut bound = Bound::default();
    let after =
        record
            .iter()
            .zip(&links)
            .map(|(request, link)| match (link.completion, link.last) {
                (Some((index, gap)), _) if gap <= limit => {
                    bound.by_completion += 1;
                    After::Completion(index, gap)
                }
                (completion, Some(last)) => {
                    let since = request.submitted - record[last as usize].submitted;
                    if completion.is_none() {
                        bound.by_burst += 1;
                    } else {
                        bound.by_time += 1;
                    }
                    After::Submission(last, since)
                }
                (_, None) => {
                    bound.by_time += 1;
                    After::Start(request.submitted - start)
                }
            });
    let after = after.collect();
    (after, bound)
}

/// For each submission the completion since its process's last one.
fn links(record: &[Recorded]) -> Vec<Link> {
    let mut ends: Vec<(Nanoseconds, u32)> = record
        .iter()
        .enumerate()
        // A request is done after it was submitted, so that none depends on itself.
        .filter_map(|(index, r)| {
            Some((
                r.completed?.max(r.submitted.saturating_add(1)),
                index as u32,
            ))
        })
        .collect();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut processes: HashMap<u32, Process> = HashMap::new();
    let mut links = Vec::with_capacity(record.len());
    for (index, request) in record.iter().enumerate() {
        while let Some((at, ended)) = ends.next_if(|(at, _)| *at <= request.submitted) {
            let owner = record[ended as usize].process;
            processes.entry(owner).or_default().completed = Some((ended, at));
        }
        let process = processes.entry(request.process).or_default();
        // A completion that an earlier submission already reacted to binds no further one.
        links.push(Link {
            last: process.submitted,
            completion: process
                .completed
                .take()
                .map(|(i, at)| (i, request.submitted - at)),
        });
        process.submitted = Some(index as u32);
    }
    links
}

fn default_limit(links: &[Link]) -> Nanoseconds {
    let gaps = links.iter().filter_map(|link| link.completion);
    let mut gaps: Vec<Nanoseconds> = gaps.map(|(_, gap)| gap).collect();
    gaps.sort_unstable();
    let rank = gaps.len() * 95 / 100;
    gaps.get(rank)
        .map_or(SHORTEST_LIMIT, |gap| (*gap).max(SHORTEST_LIMIT))
}
