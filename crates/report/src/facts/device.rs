//! What the measured device is, and the devices below it.

use std::collections::BTreeSet;

use record::Run;

use super::{Answer, Fact, gib};

/// The values that the measured devices gave for one fact, each once.
fn measured(run: &Run, name: &str) -> Vec<String> {
    let values: BTreeSet<String> = run
        .trials
        .iter()
        .filter_map(|t| t.mounted.as_ref()?.device_facts.get(name).cloned())
        .filter(|value| !value.is_empty())
        .collect();
    values.into_iter().collect()
}

/// The cache of the measured device before those of the other disks.
pub(super) fn write_cache(run: &Run, others: Fact) -> Fact {
    let own = measured(run, "write_cache");
    if own.is_empty() {
        return others;
    }
    let own = format!("measured device {}", own.join(" or "));
    let answer = match others.answer {
        Answer::Known(text, source) => Answer::Known(format!("{own}; {text}"), source),
        Answer::Absent(_) => Answer::Known(own, Some("/sys/block/*/queue/write_cache".to_owned())),
    };
    Fact {
        name: others.name,
        answer,
    }
}

/// What the measured device is: what decides how its numbers must be read.
pub(super) fn device(run: &Run) -> Fact {
    const FACTS: [(&str, &str); 8] = [
        ("model", "model"),
        ("size", "size"),
        ("direct_io", "loop direct I/O"),
        ("host_filesystem", "image on"),
        ("scheduler", "scheduler"),
        ("rotational", "rotational"),
        ("read_ahead_kb", "readahead KiB"),
        ("fua", "FUA"),
    ];
    let parts: Vec<String> = FACTS
        .iter()
        .filter_map(|(key, words)| {
            let values = measured(run, key);
            let mut values: Vec<String> = values
                .iter()
                .map(|v| match v.parse::<f64>() {
                    Ok(bytes) if *key == "size" => gib(bytes),
                    _ => chosen(v).to_owned(),
                })
                .collect();
            // Kernels offer other schedulers beside the same choice.
            values.sort();
            values.dedup();
            (!values.is_empty()).then(|| format!("{words} {}", values.join(" or ")))
        })
        .collect();
    let answer = if parts.is_empty() {
        Answer::Absent("no trial recorded its device".to_owned())
    } else {
        let parts: Vec<String> = layers(run).into_iter().chain(parts).collect();
        Answer::Known(parts.join("; "), Some("/sys/block".to_owned()))
    };
    Fact {
        name: "device",
        answer,
    }
}

/// What devices of several layers are made of, where trials had any: a stripe decides more than a scheduler.
fn layers(run: &Run) -> Option<String> {
    let all = run.plan.cells.iter();
    let layers: BTreeSet<String> = all
        .map(|cell| match &cell.device.stack {
            Some(stack) => stack.to_string(),
            None => "a plain disk".to_owned(),
        })
        .collect();
    let some = run
        .plan
        .cells
        .iter()
        .any(|cell| cell.device.stack.is_some());
    some.then(|| layers.into_iter().collect::<Vec<_>>().join(" or "))
}

/// The word in brackets of sysfs's `[none] mq-deadline kyber`, or the whole value.
fn chosen(value: &str) -> &str {
    let inside = |text| -> Option<&str> {
        let (_, rest) = str::split_once(text, '[')?;
        Some(rest.split_once(']')?.0)
    };
    inside(value).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_layers_says_what_it_is_made_of() {
        let mut run = fixtures::example::run();
        let device_of = |run: &Run| match device(run).answer {
            Answer::Known(text, _) => text,
            Answer::Absent(why) => panic!("{why}"),
        };
        let plain = device_of(&run);
        assert!(!plain.contains("plain"), "{plain}");
        run.plan.cells[0].device.stack = Some(study::Stack {
            name: "stripe8".into(),
            layers: study::Layers::Stripe(study::Striped {
                members: 8,
                chunk: study::Bytes(128 << 10),
            }),
            about: String::new(),
        });
        assert_eq!(
            device_of(&run),
            format!("a plain disk or dm stripe of 8 disks, chunk 128k; {plain}")
        );
    }

    #[test]
    fn sysfs_marks_the_chosen_scheduler() {
        assert_eq!(chosen("mq-deadline kyber [bfq] none"), "bfq");
        assert_eq!(chosen("write back"), "write back");
        assert_eq!(chosen("a ] b [ c"), "a ] b [ c");
    }
}
