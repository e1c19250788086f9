//! `fslab doctor`: what works on this machine: measurements, tracing methods, guest kernels.

use std::fmt::Write as _;

use guest::boot_probe::{Answer, Prober};
use guest::kernel::{Cache, Form, Kernel};
use lab::facilities::{Facility, facilities};
use probe::capture::{Method, methods};
use serde_json::{Value, json};

use crate::cli::{DoctorArgs, DocumentFormat};
use crate::commands::kernel::probe::line;
use crate::{exit, out};

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<u8> {
    let (methods, guests, facilities) = (methods(), guests(), facilities());
    out::print(&match args.format {
        DocumentFormat::Text => {
            facilities_text(&facilities) + &text(&methods) + &guests_text(&guests)
        }
        DocumentFormat::Json => {
            let guests: Vec<Value> = guests.iter().map(Guest::json).collect();
            serde_json::to_string_pretty(&json!({
                "machine": facilities, "block_traces": methods, "guests": guests
            }))?
        }
    })?;
    Ok(exit::OK)
}

/// A kernel that guests can run, and its probe on this machine.
struct Guest {
    kernel: String,
    executor: &'static str,
    /// `None`: not tried yet.
    answer: Option<Answer>,
}

impl Guest {
    fn json(&self) -> Value {
        json!({ "kernel": self.kernel, "executor": self.executor, "probe": self.answer })
    }
}

/// The kernels of the cache; none where there is no cache. Nothing is booted.
fn guests() -> Vec<Guest> {
    let Ok(cache) = Cache::open(None) else {
        return Vec::new();
    };
    let prober = Prober::new(&cache);
    let one = |kernel: Kernel| Guest {
        executor: match kernel.form {
            Form::Uml => "uml",
            Form::Vmlinux => "qemu",
        },
        answer: prober.known(&kernel).ok().flatten(),
        kernel: kernel.name,
    };
    let kernels = cache.kernels().unwrap_or_default();
    kernels.into_iter().map(one).collect()
}

fn guests_text(guests: &[Guest]) -> String {
    let mut text = String::from("guest kernels (fslab run --executor uml|qemu):\n");
    if guests.is_empty() {
        text.push_str("  none in the cache; `fslab kernel fetch uml 6.1` brings two\n");
    }
    for guest in guests {
        let is = match guest.answer.as_ref().map(Answer::failure) {
            Some(None) => "ok",
            Some(Some(_)) => "does not run",
            None => "not tried",
        };
        let _ = writeln!(
            text,
            "  {:<18}: {is}",
            format!("{} ({})", guest.kernel, guest.executor)
        );
        let note = match &guest.answer {
            Some(answer) => line(answer),
            None => "`fslab kernel probe` tries it".to_owned(),
        };
        let _ = writeln!(text, "    {}", out::line(&note));
    }
    text
}

fn facilities_text(facilities: &[Facility]) -> String {
    let mut text = String::from("measurements (fslab run, fslab check):\n");
    for one in facilities {
        let is = if one.available { "ok" } else { "missing" };
        let _ = writeln!(text, "  {:<18}: {is}", one.name);
        for line in [one.serves, &one.note] {
            let _ = writeln!(text, "    {}", out::line(line));
        }
    }
    text
}

fn text(methods: &[Method]) -> String {
    let mut text = String::from("block traces (fslab trace record):\n");
    for method in methods {
        let is = match (method.available, method.chosen) {
            (true, true) => "ok, used",
            (true, false) => "ok",
            (false, _) => "missing",
        };
        let _ = writeln!(text, "  {:<18}: {is}", method.name);
        for line in [method.reads, &method.note] {
            let _ = writeln!(text, "    {}", out::line(line));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use guest::boot_probe::{Key, Outcome};

    use super::*;

    #[test]
    fn each_guest_kernel_has_its_answer() {
        let guest = |kernel: &str, executor, outcome: Option<Outcome>| Guest {
            kernel: kernel.into(),
            executor,
            answer: outcome.map(|outcome| Answer {
                kernel: kernel.into(),
                key: Key::default(),
                at: 1,
                outcome,
            }),
        };
        let works = Outcome::Works {
            append: vec!["seccomp=on".into()],
            boot_seconds: 0.94,
            seconds: 1.2,
        };
        let fails = Outcome::Fails {
            reason: "userspace - ptrace set fp regs failed, errno = 14".into(),
            timed_out: false,
        };
        insta::assert_snapshot!(guests_text(&[
            guest("uml-6.1.176", "uml", Some(fails)),
            guest("uml-7.2.7", "uml", Some(works)),
            guest("6.1.0-56-amd64", "qemu", None),
        ]));
        assert!(guests_text(&[]).contains("none in the cache"));
    }

    #[test]
    fn what_is_missing_has_its_reason() {
        let facility = |name, available, note: &str| Facility {
            name,
            serves: "the engine io-uring",
            available,
            note: note.into(),
        };
        insta::assert_snapshot!(facilities_text(&[
            facility("io_uring", false, "Operation not permitted (os error 1)"),
            facility("pressure", true, "/proc/pressure/io is read"),
        ]));
    }

    #[test]
    fn each_way_says_what_it_reads_and_what_is_known() {
        let method = |name, available, chosen, note: &str| Method {
            name,
            reads: "tracefs: something",
            available,
            note: note.into(),
            chosen,
        };
        insta::assert_snapshot!(text(&[
            method("blk tracer", true, true, "3 devices can be traced"),
            method("block tracepoints", true, false, "not used: no devices"),
            method("relay files", false, false, "kernel lockdown (integrity)"),
        ]));
    }
}
