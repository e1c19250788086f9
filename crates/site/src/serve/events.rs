//! The log of a run as server-sent events (HTML Standard, section 9.2): each whole line is an event, its `seq` the event's id,
//! by which a browser that connects again goes on.
//!
//! The log is read like a file that grows; the run's lock is not touched. A line is parsed and written anew: a carriage return
//! between two fields of a hostile log would otherwise begin another field of the event.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::sleep;

use super::body::Body;

/// Between two looks at the log.
const TICK: Duration = Duration::from_millis(250);
/// Looks after which a silent connection gets a comment, by which a client that is gone is noticed.
const SILENT: u32 = 60;
/// Most bytes read in one look.
const PIECE: u64 = 1 << 20;
/// Longest line of a log, in bytes.
const LONGEST_LINE: usize = 32 << 20;
/// Longest line that is sent whole, in bytes; of longer ones the number, time and kind are.
const LONGEST_SENT: usize = 64 << 10;

/// The events after `last`, now and as they come.
pub(super) fn response(log: File, last: Option<u64>, slot: OwnedSemaphorePermit) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        follow(log, last, sender).await;
        drop(slot);
    });
    let mut response = Response::new(Body::Pieces(receiver));
    let stream = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, stream);
    response
}

async fn follow(log: File, last: Option<u64>, sender: Sender<Bytes>) {
    let mut reader = Follower::new(log, last);
    let mut silent = 0;
    if sender
        .send(Bytes::from_static(b"retry: 1000\n\n"))
        .await
        .is_err()
    {
        return;
    }
    loop {
        match reader.look() {
            Look::Events(text) => {
                silent = 0;
                if !text.is_empty() && sender.send(Bytes::from(text)).await.is_err() {
                    return;
                }
            }
            Look::Nothing => {
                silent += 1;
                if silent % SILENT == 0 && sender.send(Bytes::from_static(b":\n\n")).await.is_err()
                {
                    return;
                }
                if sender.is_closed() {
                    return;
                }
                sleep(TICK).await;
            }
            Look::End => return,
        }
    }
}

/// What a look at the log gave.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Events.
    Events(String),
    /// Nothing new.
    Nothing,
    /// The log cannot be read on: it is damaged, or a line is too long.
    End,
}

/// A log that is followed.
struct Follower<R> {
    log: R,
    /// The begin of a line whose end is not written yet.
    rest: Vec<u8>,
    last: Option<u64>,
}

impl<R: Read> Follower<R> {
    fn new(log: R, last: Option<u64>) -> Follower<R> {
        Follower {
            log,
            rest: Vec::new(),
            last,
        }
    }

    fn look(&mut self) -> Look {
        let before = self.rest.len();
        let read = (&mut self.log).take(PIECE).read_to_end(&mut self.rest);
        match read {
            Ok(0) => return Look::Nothing,
            Ok(_) => {}
            Err(_) => return Look::End,
        }
        let Some(end) = self.rest[before..].iter().rposition(|byte| *byte == b'\n') else {
            return if self.rest.len() > LONGEST_LINE {
                Look::End
            } else {
                Look::Events(String::new())
            };
        };
        let rest = self.rest.split_off(before + end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let mut text = String::new();
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let Some((seq, event)) = event(line) else {
                return Look::End;
            };
            if self.last.is_none_or(|last| seq > last) {
                self.last = Some(seq);
                text.push_str(&format!("id: {seq}\ndata: {event}\n\n"));
            }
        }
        Look::Events(text)
    }
}

/// The number of a line's event, and the event in one line.
fn event(line: &[u8]) -> Option<(u64, String)> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let seq = value.get("seq")?.as_u64()?;
    let short = if line.len() > LONGEST_SENT {
        json!({ "seq": seq, "at": value.get("at"), "event": value.get("event"), "cut": true })
    } else {
        value
    };
    Some((seq, short.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(log: &[u8], last: Option<u64>) -> Vec<String> {
        let Look::Events(text) = Follower::new(log, last).look() else {
            panic!("no events");
        };
        text.split_terminator("\n\n").map(str::to_owned).collect()
    }

    #[test]
    fn whole_lines_are_events_and_a_begun_line_waits() {
        let log = b"{\"seq\":0,\"event\":\"a\"}\n{\"seq\":1,\"event\":\"b\"}\n{\"seq\":2,";
        let all = events(log, None);
        assert_eq!(all.len(), 2);
        assert!(all[0].starts_with("id: 0\ndata: {"), "{}", all[0]);
        assert_eq!(events(log, Some(0)).len(), 1);
        assert_eq!(events(log, Some(9)).len(), 0);
    }

    #[test]
    fn a_line_that_comes_in_pieces_is_one_event() {
        let (first, second) = (&b"{\"seq\":0,\"ev"[..], &b"ent\":\"a\"}\n"[..]);
        let mut follower = Follower::new(first, None);
        assert_eq!(follower.look(), Look::Events(String::new()));
        let mut follower = Follower {
            log: second,
            rest: follower.rest,
            last: None,
        };
        let Look::Events(text) = follower.look() else {
            panic!("no event")
        };
        let data = text.strip_prefix("id: 0\ndata: ").unwrap().trim_end();
        let event: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event, json!({ "seq": 0, "event": "a" }));
        assert_eq!(follower.look(), Look::Nothing);
    }

    #[test]
    fn no_line_can_add_a_field_to_its_event() {
        // Valid JSON with carriage returns between its parts.
        let all = events(b"{\"seq\":0,\r\"id: 99\":1,\r\"event\":\"a\"}\n", None);
        assert_eq!(all.len(), 1);
        assert!(!all[0].contains('\r'), "{:?}", all[0]);
        assert_eq!(all[0].lines().count(), 2, "an id and its data");
    }

    #[test]
    fn what_is_no_event_ends_the_stream() {
        for log in [
            &b"no json\n"[..],
            b"{}\n",
            b"[]\n",
            b"{\"seq\":-1}\n",
            b"\xff\n",
        ] {
            assert_eq!(Follower::new(log, None).look(), Look::End);
        }
    }

    #[test]
    fn a_long_line_is_cut_to_what_identifies_it() {
        let log = format!(
            "{{\"seq\":3,\"at\":\"t\",\"event\":\"context\",\"context\":\"{}\"}}\n",
            "x".repeat(LONGEST_SENT)
        );
        let all = events(log.as_bytes(), None);
        assert!(
            all[0].len() < 200 && all[0].contains("\"cut\":true"),
            "{}",
            all[0]
        );
    }
}
