//! `fslab kernel probe`: which kernels run on this machine.

use guest::boot_probe::{Answer, Outcome, Prober};
use guest::kernel::{Cache, Error, Form, Kernel};
use guest::machine::{Accelerator, Engine};

use crate::cli::{DocumentFormat, KernelProbeArgs};
use crate::{exit, out};

/// Tries kernels. The exit code is 0 when one of them runs, so that a script can test for it.
pub(crate) fn run(args: &KernelProbeArgs) -> anyhow::Result<u8> {
    let cache = Cache::open(args.cache.cache.as_deref())?;
    let prober = Prober::new(&cache);
    let mut answers = Vec::new();
    for kernel in kernels(&cache, &args.names)? {
        let answer = prober
            .answer(&kernel, args.again, &mut out::say)
            .map_err(lab::Error::Guest)?;
        if args.format == DocumentFormat::Text {
            out::print(&line(&answer))?;
        }
        answers.push(answer);
    }
    if args.format == DocumentFormat::Json {
        let document = serde_json::json!({ "cache": cache.root(), "probes": answers });
        out::print(&serde_json::to_string_pretty(&document)?)?;
    }
    if answers.iter().any(|answer| answer.failure().is_none()) {
        return Ok(exit::OK);
    }
    out::say(if answers.is_empty() {
        "fslab: no such kernel; `fslab kernel fetch uml 6.1` brings two"
    } else {
        "fslab: none of these kernels runs on this machine; `fslab kernel fetch uml` brings the newest User-mode Linux"
    });
    Ok(exit::TROUBLE)
}

/// The kernels of these names; without names, all whose machine is installed.
fn kernels(cache: &Cache, names: &[String]) -> Result<Vec<Kernel>, Error> {
    if names.is_empty() {
        let mut all = uml(cache)?;
        all.extend(qemu(cache)?);
        return Ok(all);
    }
    let mut all: Vec<Kernel> = Vec::new();
    for name in names {
        let found = match name.as_str() {
            "uml" => uml(cache)?,
            "qemu" => qemu(cache)?,
            name => vec![cache.kernel(name)?],
        };
        for kernel in found {
            if all.iter().all(|known| known.name != kernel.name) {
                all.push(kernel);
            }
        }
    }
    Ok(all)
}

fn uml(cache: &Cache) -> Result<Vec<Kernel>, Error> {
    match Engine::Uml.present() {
        Ok(()) => cache.uml_kernels(),
        Err(_) => Ok(Vec::new()),
    }
}

fn qemu(cache: &Cache) -> Result<Vec<Kernel>, Error> {
    if Engine::Qemu(Accelerator::Tcg).present().is_err() {
        return Ok(Vec::new());
    }
    let mut all = cache.kernels()?;
    all.retain(|kernel| kernel.form == Form::Vmlinux);
    all.reverse();
    Ok(all)
}

/// The answer for a kernel that was just fetched, in one line. If the probe cannot be made, the line has the reason, and the kernel
/// is kept.
pub(super) fn tried(cache: &Cache, kernel: &Kernel) -> String {
    match Prober::new(cache).answer(kernel, false, &mut out::say) {
        Ok(answer) => line(&answer),
        Err(error) => out::line(&format!("{}: not tried: {error}", kernel.name)),
    }
}

/// `uml-7.2.7 runs on this machine: first line after 0.9 s, seccomp=on`.
pub(crate) fn line(answer: &Answer) -> String {
    let name = &answer.kernel;
    match &answer.outcome {
        Outcome::Works {
            append,
            boot_seconds,
            ..
        } => {
            let append: Vec<String> = append.iter().map(|word| format!(", {word}")).collect();
            let append = append.concat();
            format!("{name} runs on this machine: first line after {boot_seconds:.1} s{append}")
        }
        Outcome::Fails { reason, .. } => {
            out::line(&format!("{name} does not run on this machine: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use guest::boot_probe::Key;

    use super::*;

    #[test]
    fn an_answer_is_one_line() {
        let answer = |outcome| Answer {
            kernel: "uml-7.2.7".into(),
            key: Key::default(),
            at: 1,
            outcome,
        };
        let works = answer(Outcome::Works {
            append: vec!["seccomp=on".into()],
            boot_seconds: 0.94,
            seconds: 1.2,
        });
        assert_eq!(
            line(&works),
            "uml-7.2.7 runs on this machine: first line after 0.9 s, seccomp=on"
        );
        let fails = answer(Outcome::Fails {
            reason: "ptrace set fp regs failed, errno = 14".into(),
            timed_out: false,
        });
        assert_eq!(
            line(&fails),
            "uml-7.2.7 does not run on this machine: ptrace set fp regs failed, errno = 14"
        );
    }
}
