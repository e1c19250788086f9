//! Kernel, distribution, virtualisation, load, time, limits, security: items 1 to 3, 10, 12 to 16.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::collect::{Collector, sha256};
use super::entry::{Entry, How};
use crate::cpu;
use crate::diskstats::{self, Counters, Identity};

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(1, "system.kernel.release", How::Text, "/proc/sys/kernel/osrelease", "kernel release"),
    Entry::new(1, "system.kernel.version", How::Text, "/proc/version", "compiler, build number and date"),
    Entry::new(1, "system.kernel.config_sha256", How::Computed, "/proc/config.gz", "hash of the build configuration as stored (or of /boot/config-RELEASE)"),
    Entry::new(2, "system.kernel.command_line", How::Computed, "/proc/cmdline", "boot parameters; secret-looking values are masked"),
    Entry::new(3, "system.distribution.name", How::Computed, "/etc/os-release", "PRETTY_NAME"),
    Entry::new(3, "system.distribution.id", How::Computed, "/etc/os-release", "ID and VERSION_ID"),
    Entry::new(10, "virtualisation.hypervisor", How::Computed, "/proc/cpuinfo, /sys/class/dmi/id, /sys/hypervisor/type", "none, or which one; by the rules of systemd-detect-virt"),
    Entry::new(10, "virtualisation.container", How::Computed, "/proc/1/environ, /.dockerenv, /run/.containerenv", "none, or which container manager"),
    Entry::new(10, "virtualisation.steal_jiffies", How::Computed, "/proc/stat", "CPU time that the hypervisor took since boot").changing(),
    Entry::new(12, "load.average", How::Computed, "/proc/loadavg", "load average over 1, 5 and 15 minutes").changing(),
    Entry::new(12, "load.running", How::Computed, "/proc/loadavg", "tasks running and tasks in all").changing(),
    Entry::new(12, "load.other_io", How::Computed, "/proc/diskstats", "I/O of others while the disks were watched before the run").changing(),
    Entry::new(13, "clock.source", How::Text, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "clock source"),
    Entry::new(13, "clock.available", How::Text, "/sys/devices/system/clocksource/clocksource0/available_clocksource", "clock sources to choose from"),
    Entry::new(14, "time.wall", How::Computed, "clock_gettime(CLOCK_REALTIME)", "wall clock, UTC").changing(),
    Entry::new(14, "time.uptime_s", How::Computed, "/proc/uptime", "seconds since boot").changing(),
    Entry::new(14, "time.temperatures_c", How::Computed, "/sys/class/hwmon/*/temp*_input, /sys/class/thermal/thermal_zone*/temp", "degrees Celsius by sensor").changing(),
    Entry::new(15, "process.locale", How::Computed, "environment: LANG, LC_*, TZ", "locale and time zone of the run"),
    Entry::new(15, "process.limits.<limit>", How::Computed, "/proc/self/limits", "soft and hard limit (getrlimit)"),
    Entry::new(16, "security.modules", How::Text, "/sys/kernel/security/lsm", "security modules in force"),
    Entry::new(16, "security.audit", How::Computed, "/proc/cmdline, /proc/*/comm (kauditd)", "whether the kernel audits"),
];

pub(super) fn collect(c: &mut Collector<'_>) {
    c.simple(ENTRIES, "", "");
    kernel(c);
    distribution(c);
    hypervisor(c);
    container(c);
    load(c);
    time(c);
    process(c);
    audit(c);
}

fn kernel(c: &mut Collector<'_>) {
    let release = c.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let boot = format!("/boot/config-{release}");
    let found = ["/proc/config.gz", boot.as_str()]
        .into_iter()
        .find_map(|source| c.read_bytes(source).ok().map(|bytes| (source, bytes)));
    match found {
        Some((source, bytes)) => c.put_from(
            "system.kernel.config_sha256",
            Some(source),
            Ok(sha256(&bytes)),
        ),
        None => c.put::<Value>(
            "system.kernel.config_sha256",
            Err(format!("neither /proc/config.gz nor {boot} can be read")),
        ),
    }
    let line = c.read("/proc/cmdline").map(|line| masked(&line));
    c.put("system.kernel.command_line", line);
}

/// The command line with the values of secret-looking parameters replaced.
fn masked(line: &str) -> String {
    let words: Vec<String> = line
        .split(' ')
        .map(|word| match word.split_once('=') {
            Some((key, _)) if looks_secret(key) => format!("{key}=***"),
            _ => word.to_owned(),
        })
        .collect();
    words.join(" ")
}

fn looks_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "api_key",
        "keyfile",
        "credential",
    ]
    .iter()
    .any(|word| key.contains(word))
}

fn distribution(c: &mut Collector<'_>) {
    let fields = c.read("/etc/os-release").map(|text| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.trim_matches(['"', '\'']).to_owned()))
            .collect::<BTreeMap<String, String>>()
    });
    let name = fields.as_ref().map_err(Clone::clone).and_then(|f| {
        f.get("PRETTY_NAME")
            .cloned()
            .ok_or_else(|| "it has no PRETTY_NAME".to_owned())
    });
    let id = fields.map(|f| {
        let part = |key| f.get(key).map_or("", String::as_str);
        format!("{} {}", part("ID"), part("VERSION_ID"))
            .trim()
            .to_owned()
    });
    c.put("system.distribution.name", name);
    c.put("system.distribution.id", id);
}

/// Vendor strings of DMI, from systemd's `detect_vm_dmi_vendor` (src/basic/virt.c).
const DMI: [(&str, &str); 16] = [
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
];

fn hypervisor(c: &mut Collector<'_>) {
    let dmi = [
        "product_name",
        "sys_vendor",
        "board_vendor",
        "bios_vendor",
        "product_version",
    ]
    .iter()
    .filter_map(|f| c.read(&format!("/sys/class/dmi/id/{f}")).ok())
    .find_map(|text| {
        DMI.iter()
            .find(|(v, _)| text.starts_with(v))
            .map(|(_, n)| *n)
    });
    let flag = c.read("/proc/cpuinfo").map(|text| {
        text.lines()
            .filter(|l| l.starts_with("flags"))
            .any(|l| l.split_ascii_whitespace().any(|w| w == "hypervisor"))
    });
    let clock = c
        .read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let by_clock = [
        ("kvm-clock", "kvm"),
        ("hyperv", "microsoft"),
        ("xen", "xen"),
    ]
    .iter()
    .find(|(word, _)| clock.contains(word))
    .map(|(_, name)| *name);
    let found = dmi
        .map(ToOwned::to_owned)
        .or_else(|| c.read("/sys/hypervisor/type").ok())
        .or(by_clock.map(ToOwned::to_owned));
    let outcome = match (found, flag) {
        (Some(name), _) => Ok(name),
        (None, Ok(true)) => Ok("unknown (the CPU says hypervisor)".to_owned()),
        (None, Ok(false)) => Ok("none".to_owned()),
        (None, Err(reason)) => Err(reason),
    };
    c.put("virtualisation.hypervisor", outcome);
    let steal = c.read("/proc/stat").and_then(|text| {
        cpu::parse(&text)
            .map(|stat| stat.all.0[7])
            .ok_or_else(|| "no cpu line".to_owned())
    });
    c.put("virtualisation.steal_jiffies", steal);
}

fn container(c: &mut Collector<'_>) {
    let named = c.read_bytes("/proc/1/environ").map(|bytes| {
        bytes
            .split(|b| *b == 0)
            .find_map(|v| v.strip_prefix(b"container="))
            .map(|v| String::from_utf8_lossy(v).into_owned())
    });
    let marked = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")]
        .iter()
        .find(|(path, _)| c.path(path).exists())
        .map(|(_, name)| (*name).to_owned());
    let outcome = match (named, marked) {
        (Ok(Some(name)), _) | (_, Some(name)) => Ok(name),
        (Ok(None), None) => Ok("none".to_owned()),
        (Err(reason), None) => Err(reason),
    };
    c.put("virtualisation.container", outcome);
}

fn load(c: &mut Collector<'_>) {
    let text = c.read("/proc/loadavg");
    let words = |from: usize, to: usize| {
        text.clone().map(|t| {
            let words: Vec<&str> = t.split_ascii_whitespace().collect();
            words.get(from..to).unwrap_or_default().join(" ")
        })
    };
    let (average, running) = (words(0, 3), words(3, 4));
    c.put("load.average", average);
    c.put("load.running", running);
}

fn time(c: &mut Collector<'_>) {
    c.put("time.wall", Ok(jiff::Timestamp::now().to_string()));
    let uptime = c.read("/proc/uptime").and_then(|text| {
        text.split_ascii_whitespace()
            .next()
            .and_then(|w| w.parse::<f64>().ok())
            .ok_or_else(|| "not a number".to_owned())
    });
    c.put("time.uptime_s", uptime);
    let mut sensors = Map::new();
    for chip in c.list("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{chip}");
        let label = c.read(&format!("{folder}/name")).unwrap_or(chip);
        for file in c.list(&folder) {
            if file.starts_with("temp") && file.ends_with("_input") {
                let celsius = c.read(&format!("{folder}/{file}")).ok();
                add_sensor(&mut sensors, &format!("{label} {file}"), celsius);
            }
        }
    }
    for zone in c.list("/sys/class/thermal") {
        if zone.starts_with("thermal_zone") {
            let celsius = c.read(&format!("/sys/class/thermal/{zone}/temp")).ok();
            add_sensor(&mut sensors, &zone, celsius);
        }
    }
    let outcome = if sensors.is_empty() {
        Err("no temperature sensor".to_owned())
    } else {
        Ok(Value::Object(sensors))
    };
    c.put("time.temperatures_c", outcome);
}

fn add_sensor(sensors: &mut Map<String, Value>, name: &str, millidegrees: Option<String>) {
    if let Some(value) = millidegrees.and_then(|t| t.parse::<f64>().ok()) {
        sensors.insert(name.to_owned(), json!(value / 1000.0));
    }
}

fn process(c: &mut Collector<'_>) {
    let locale: Map<String, Value> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .filter(|(k, _)| k == "LANG" || k == "TZ" || k == "LANGUAGE" || k.starts_with("LC_"))
        .map(|(k, v)| (k, Value::from(v)))
        .collect();
    c.put("process.locale", Ok(Value::Object(locale)));
    match c.read("/proc/self/limits") {
        Ok(text) => {
            for (name, soft, hard) in text.lines().skip(1).filter_map(limit) {
                c.put(
                    &format!("process.limits.{name}"),
                    Ok(json!({ "soft": soft, "hard": hard })),
                );
            }
        }
        Err(reason) => c.put::<Value>("process.limits.<limit>", Err(reason)),
    }
}

/// `Max open files   1024   4096   files`: the name ends where two blanks follow.
fn limit(line: &str) -> Option<(String, &str, &str)> {
    let (name, rest) = line.strip_prefix("Max ")?.split_once("  ")?;
    let mut words = rest.split_ascii_whitespace();
    Some((name.trim().replace(' ', "_"), words.next()?, words.next()?))
}

fn audit(c: &mut Collector<'_>) {
    let parameter = c.read("/proc/cmdline").map(|line| {
        line.split(' ')
            .find_map(|w| w.strip_prefix("audit="))
            .map(|v| !matches!(v, "0" | "off"))
    });
    let thread = c.list("/proc").iter().any(|pid| {
        pid.bytes().all(|b| b.is_ascii_digit())
            && c.read(&format!("/proc/{pid}/comm"))
                .is_ok_and(|n| n == "kauditd")
    });
    let outcome = match parameter {
        Ok(Some(on)) => Ok(if on { "on by audit=" } else { "off by audit=" }),
        Ok(None) if thread => Ok("in the kernel (kauditd runs), not switched by a parameter"),
        Ok(None) => Ok("not in the kernel"),
        Err(reason) => Err(reason),
    };
    c.put("security.audit", outcome);
}

/// Watches the disks for the time that the options ask for, and says what others did.
pub(super) fn observe_idle(c: &mut Collector<'_>) -> Duration {
    let wanted = c.options.observe_idle;
    if wanted.is_zero() {
        c.put::<Value>(
            "load.other_io",
            Err("the disks were not watched (0 s asked for)".to_owned()),
        );
        return Duration::ZERO;
    }
    let begin = Instant::now();
    let sample = |c: &Collector<'_>| c.read("/proc/diskstats").map(|t| devices(&t));
    let first = sample(c);
    std::thread::sleep(wanted);
    let watched = begin.elapsed();
    let outcome = first.and_then(|first| {
        let second = sample(c)?;
        let seen: Map<String, Value> = second
            .iter()
            .filter_map(|(identity, after)| {
                let d = first.get(identity)?.delta(identity, after, identity).ok()?;
                let idle = d.reads() + d.writes() + d.discards() + d.flushes() == 0;
                (!idle).then(|| (identity.name.clone(), io_of(&d)))
            })
            .collect();
        Ok(json!({ "watched_ms": watched.as_secs_f64() * 1e3, "devices": seen }))
    });
    c.put("load.other_io", outcome);
    watched
}

fn devices(text: &str) -> std::collections::HashMap<Identity, Counters> {
    text.lines().filter_map(diskstats::parse_line).collect()
}

fn io_of(d: &Counters) -> Value {
    json!({
        "reads": d.reads(),
        "bytes_read": d.sectors_read() * 512,
        "writes": d.writes(),
        "bytes_written": d.sectors_written() * 512,
        "discards": d.discards(),
        "flushes": d.flushes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_values_are_masked() {
        assert_eq!(
            masked("root=/dev/sda1 ds.token=abc quiet luks_password=x"),
            "root=/dev/sda1 ds.token=*** quiet luks_password=***"
        );
    }

    #[test]
    fn limits_split_at_two_blanks() {
        assert_eq!(
            limit("Max open files            1024                 4096                 files"),
            Some(("open_files".to_owned(), "1024", "4096"))
        );
        assert_eq!(limit("Limit   Soft"), None);
    }
}
