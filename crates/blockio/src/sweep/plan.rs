//! From spans to requests: cut, joined, and around the holes.

use std::ops::Range;

use super::{Span, Sweep};
use crate::source::BlockSource;

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Read this range; these parts of spans are in it.
    Read { range: Range<u64>, parts: Vec<Span> },
    /// A part of a span that is zeros.
    Hole(Span),
    /// A part of a span past the end.
    PastEnd(Span),
}

/// Spans, turned into tasks one by one.
pub(super) struct Plan<'a, S: ?Sized, I> {
    source: &'a S,
    spans: I,
    /// The span in work, without what is done of it.
    current: Option<Span>,
    /// Data as last asked for: none in `asked..data.start`, then data.
    asked: u64,
    data: Range<u64>,
    /// The data after these, if they have been asked for: from where, and which.
    ahead: Option<(u64, Range<u64>)>,
    len: u64,
    request: u64,
    block: u64,
    gap: u64,
}

impl<'a, S: BlockSource + ?Sized, I: Iterator<Item = Span>> Plan<'a, S, I> {
    pub(super) fn new(source: &'a S, sweep: &Sweep, spans: I) -> Plan<'a, S, I> {
        Plan {
            source,
            spans,
            current: None,
            asked: 0,
            data: 0..0,
            ahead: None,
            len: source.len(),
            request: sweep.request as u64,
            block: u64::from(sweep.block),
            gap: sweep.gap,
        }
    }

    /// The next task; `None` when all spans are done.
    pub(super) fn next(&mut self) -> Option<Task> {
        let mut span = self.span()?;
        let at = span.range.start;
        if at >= self.len {
            return Some(Task::PastEnd(span));
        }
        let data = self.data_from(at);
        let wanted = span.range.end.min(self.len);
        if data.start > at {
            let part = take(&mut span, wanted.min(data.start));
            self.current = Some(span);
            return Some(Task::Hole(part));
        }
        let limit = (at.saturating_add(self.request) / self.block * self.block)
            .max(at + 1)
            .min(data.end);
        let mut parts = vec![take(&mut span, wanted.min(limit))];
        self.current = Some(span);
        let end = self.join(&mut parts, limit);
        Some(Task::Read {
            range: at..end,
            parts,
        })
    }

    /// Adds spans that follow closely, up to `limit`; the end of them all.
    fn join(&mut self, parts: &mut Vec<Span>, limit: u64) -> u64 {
        let mut end = parts.last().map_or(0, |part| part.range.end);
        while end < limit {
            let Some(mut span) = self.span() else { break };
            let start = span.range.start;
            let near = start >= end && start - end <= self.gap && start < limit;
            if near {
                let wanted = span.range.end.min(self.len);
                parts.push(take(&mut span, wanted.min(limit)));
                end = parts.last().map_or(end, |part| part.range.end);
            }
            self.current = Some(span);
            if !near {
                break;
            }
        }
        end
    }

    /// The span in work, or the next one that is not empty.
    fn span(&mut self) -> Option<Span> {
        let unfinished = self.current.take().filter(|span| !span.range.is_empty());
        unfinished.or_else(|| self.spans.find(|span| !span.range.is_empty()))
    }

    /// The first data at or after `at`, in whole blocks; small holes count as data. Empty at the end
    /// of the source when there is none.
    fn data_from(&mut self, at: u64) -> Range<u64> {
        if at < self.asked || at >= self.data.end {
            self.asked = at;
            self.data = self.look(at).unwrap_or(self.len..u64::MAX);
        }
        self.data.clone()
    }

    fn look(&mut self, at: u64) -> Option<Range<u64>> {
        let known = self.ahead.take();
        let known = known.filter(|(from, data)| *from <= at && at < data.end);
        let mut data = match known {
            Some((_, data)) => data,
            None => self.next_data(at)?,
        };
        // Only as far as one request reaches: a file may have millions of small holes.
        while data.end < data.start.max(at).saturating_add(self.request) && data.end < self.len {
            let Some(next) = self.next_data(data.end) else {
                break;
            };
            if next.start.saturating_sub(data.end) > self.gap {
                self.ahead = Some((data.end, next));
                break;
            }
            data.end = next.end.max(data.end + 1);
        }
        Some(data)
    }

    /// The first data at or after `at`, in whole blocks.
    fn next_data(&self, at: u64) -> Option<Range<u64>> {
        let data = self.source.next_data(at)?;
        let end = data.end.checked_next_multiple_of(self.block);
        let end = end.unwrap_or(self.len).min(self.len);
        Some(data.start / self.block * self.block..end)
    }
}

/// Cuts the beginning off a span.
fn take(span: &mut Span, end: u64) -> Span {
    let range = span.range.start..end;
    span.range.start = end;
    Span {
        tag: span.tag,
        range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::Ram;

    const K: u64 = 1024;

    fn span(tag: u64, range: Range<u64>) -> Span {
        Span { tag, range }
    }

    fn tasks(source: &Ram, sweep: &Sweep, spans: Vec<Span>) -> Vec<Task> {
        let mut plan = Plan::new(source, sweep, spans.into_iter());
        std::iter::from_fn(|| plan.next()).collect()
    }

    fn read(range: Range<u64>, parts: &[Span]) -> Task {
        Task::Read {
            range,
            parts: parts.to_vec(),
        }
    }

    fn sweep(request: u64, gap: u64) -> Sweep {
        Sweep {
            request: request as usize,
            gap,
            ..Sweep::default()
        }
    }

    #[test]
    fn long_spans_are_cut_at_blocks_and_close_ones_joined() {
        let ram = Ram::new(&vec![1; 1 << 20]);
        let spans = vec![
            span(1, 100..200),
            span(2, 200..200),
            span(3, 4 * K..6 * K),
            span(4, 20 * K..60 * K),
            span(5, 900 * K..901 * K),
        ];
        assert_eq!(
            tasks(&ram, &sweep(32 * K, 16 * K), spans),
            [
                // Joined over 14 KiB of nothing; 4 is cut at a block below 100 + 32 KiB.
                read(
                    100..32 * K,
                    &[
                        span(1, 100..200),
                        span(3, 4 * K..6 * K),
                        span(4, 20 * K..32 * K)
                    ]
                ),
                read(32 * K..60 * K, &[span(4, 32 * K..60 * K)]),
                read(900 * K..901 * K, &[span(5, 900 * K..901 * K)]),
            ]
        );
    }

    #[test]
    fn holes_are_stepped_over_whole_and_the_end_is_said() {
        let mut ram = Ram::sparse(1 << 40);
        ram.put(1 << 30, &[1]);
        assert_eq!(
            tasks(&ram, &sweep(1 << 20, 4096), vec![span(7, 0..(1 << 40) + 5)]),
            [
                Task::Hole(span(7, 0..1 << 30)),
                read(
                    1 << 30..(1 << 30) + 64 * K,
                    &[span(7, 1 << 30..(1 << 30) + 64 * K)]
                ),
                Task::Hole(span(7, (1 << 30) + 64 * K..1 << 40)),
                Task::PastEnd(span(7, 1 << 40..(1 << 40) + 5)),
            ]
        );
    }

    #[test]
    fn a_hole_as_small_as_a_gap_is_read_and_one_span_back_is_a_request_of_its_own() {
        let mut ram = Ram::sparse(1 << 20);
        ram.put(0, &[1]);
        ram.put(128 * K, &[1]);
        let one = 0..192 * K;
        assert_eq!(
            tasks(&ram, &sweep(1 << 20, 64 * K), vec![span(1, one.clone())]),
            [read(one.clone(), &[span(1, one)])]
        );
        let spans = vec![span(1, 130 * K..140 * K), span(2, 0..K)];
        assert_eq!(
            tasks(&ram, &sweep(1 << 20, 4 * K), spans),
            [
                read(130 * K..140 * K, &[span(1, 130 * K..140 * K)]),
                read(0..K, &[span(2, 0..K)]),
            ]
        );
    }
}
