//! Sweeps an image or a device once and says what it cost: the ideal time of any checker.
//!
//! `cargo run --release -p blockio --example sweep -- PATH [buffered|direct|mapped] [MIB] [DEPTH] [THREADS]`

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use blockio::layer::Counting;
use blockio::{BlockSource, Content, Mode, Span, Sweep, open};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = words
        .first()
        .ok_or("usage: sweep PATH [MODE] [MIB] [DEPTH] [THREADS]")?;
    let mode = match words.get(1).map(String::as_str) {
        None => Mode::Auto,
        Some("buffered") => Mode::Buffered,
        Some("direct") => Mode::Direct,
        Some("mapped") => Mode::Mapped,
        Some(other) => {
            return Err(format!("{other}: not a mode; buffered, direct or mapped").into());
        }
    };
    let number = |at: usize, default: usize| words.get(at).map_or(Ok(default), |word| word.parse());
    let sweep = Sweep {
        request: number(2, 1)? << 20,
        depth: number(3, 8)?,
        threads: number(4, 1)?,
        ..Sweep::default()
    };
    let opened = open(path, mode)?;
    if let Some(why) = &opened.not_direct {
        eprintln!("{why}");
    }
    let source = Counting::new(opened.source);
    let whole = Span {
        tag: 0,
        range: 0..source.len(),
    };
    let begin = Instant::now();
    let swept = sweep.run(
        &source,
        [whole],
        |_| 0_u64,
        |bad, piece| {
            if let Content::Failed(error) = piece.content {
                eprintln!("{error}");
                *bad += 1;
            }
            ControlFlow::Continue(())
        },
    )?;
    let seconds = begin.elapsed().as_secs_f64();
    let (counts, io) = (swept.counts, source.counts());
    println!(
        "{}: {} bytes, read {:?}",
        source.name(),
        source.len(),
        opened.mode
    );
    println!(
        "data {} bytes, holes {}, failed {}",
        counts.data, counts.holes, counts.failed
    );
    println!(
        "{} requests of {:.0} bytes, {} seeks, {} buffers' bytes",
        io.requests,
        io.mean_request(),
        io.seeks,
        sweep.memory(source.geometry())
    );
    let rate = counts.data as f64 / 1e6 / seconds;
    println!(
        "{seconds:.3} s, {rate:.1} MB/s of data, waited {:.3} s",
        io.waited().as_secs_f64()
    );
    if swept.states.iter().sum::<u64>() > 0 {
        return Err("some of it cannot be read".into());
    }
    Ok(())
}
