//! CPU, frequency, mitigations, NUMA: items 4 to 7.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::collect::Collector;
use super::entry::{Entry, How};

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(4, "cpu.model", How::Computed, "/proc/cpuinfo", "model name"),
    Entry::new(4, "cpu.vendor", How::Computed, "/proc/cpuinfo", "vendor_id"),
    Entry::new(4, "cpu.stepping", How::Computed, "/proc/cpuinfo", "family, model and stepping"),
    Entry::new(4, "cpu.microcode", How::Computed, "/proc/cpuinfo", "microcode revision"),
    Entry::new(4, "cpu.sockets", How::Computed, "/proc/cpuinfo", "different physical ids"),
    Entry::new(4, "cpu.cores", How::Computed, "/proc/cpuinfo", "different cores, all sockets together"),
    Entry::new(4, "cpu.threads", How::Computed, "/proc/cpuinfo", "CPUs that are online"),
    Entry::new(4, "cpu.cache", How::Computed, "/proc/cpuinfo", "cache size"),
    Entry::new(4, "cpu.present", How::Text, "/sys/devices/system/cpu/present", "CPUs present"),
    Entry::new(4, "cpu.online", How::Text, "/sys/devices/system/cpu/online", "CPUs online"),
    Entry::new(4, "cpu.isolated", How::Text, "/sys/devices/system/cpu/isolated", "CPUs taken out of scheduling"),
    Entry::new(4, "cpu.smt_active", How::Number, "/sys/devices/system/cpu/smt/active", "1 when cores run two threads"),
    Entry::new(4, "cpu.allowed", How::Computed, "/proc/self/status", "CPUs on which this process may run"),
    Entry::new(5, "cpu.frequency.policies", How::Computed, "/sys/devices/system/cpu/cpufreq/policy*", "governor, driver, limits (kHz) by policy"),
    Entry::new(5, "cpu.frequency.current_mhz", How::Computed, "/proc/cpuinfo", "MHz of each CPU now").changing(),
    Entry::new(5, "cpu.frequency.boost", How::Number, "/sys/devices/system/cpu/cpufreq/boost", "1 when turbo is allowed (acpi-cpufreq, amd-pstate)"),
    Entry::new(5, "cpu.frequency.no_turbo", How::Number, "/sys/devices/system/cpu/intel_pstate/no_turbo", "1 when turbo is off (intel_pstate)"),
    Entry::new(5, "cpu.idle.driver", How::Text, "/sys/devices/system/cpu/cpuidle/current_driver", "cpuidle driver"),
    Entry::new(6, "cpu.vulnerability.<name>", How::Computed, "/sys/devices/system/cpu/vulnerabilities/<name>", "mitigation in force"),
    Entry::new(7, "numa.nodes", How::Text, "/sys/devices/system/node/online", "NUMA nodes online"),
    Entry::new(7, "numa.balancing", How::Number, "/proc/sys/kernel/numa_balancing", "automatic NUMA balancing"),
    Entry::new(7, "numa.node.<node>.cpus", How::Text, "/sys/devices/system/node/<node>/cpulist", "CPUs of the node"),
    Entry::new(7, "numa.node.<node>.distance", How::Text, "/sys/devices/system/node/<node>/distance", "distances to all nodes"),
    Entry::new(7, "numa.node.<node>.memory_kib", How::Computed, "/sys/devices/system/node/<node>/meminfo", "memory of the node"),
];

pub(super) fn collect(c: &mut Collector<'_>) {
    c.simple(ENTRIES, "", "");
    cpuinfo(c);
    frequency(c);
    for name in c.list("/sys/devices/system/cpu/vulnerabilities") {
        let source = format!("/sys/devices/system/cpu/vulnerabilities/{name}");
        let text = c.read(&source);
        c.put_from(&format!("cpu.vulnerability.{name}"), Some(&source), text);
    }
    for node in c.list("/sys/devices/system/node") {
        if node
            .strip_prefix("node")
            .is_some_and(|n| n.parse::<u32>().is_ok())
        {
            c.simple(ENTRIES, "<node>", &node);
            let source = format!("/sys/devices/system/node/{node}/meminfo");
            let total = c.read(&source).and_then(|text| node_total(&text));
            c.put_from(
                &format!("numa.node.{node}.memory_kib"),
                Some(&source),
                total,
            );
        }
    }
    let allowed = c.read("/proc/self/status").and_then(|text| {
        text.lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))
            .map(|l| l.trim().to_owned())
            .ok_or_else(|| "no line Cpus_allowed_list".to_owned())
    });
    c.put("cpu.allowed", allowed);
}

/// `Node 0 MemTotal:  8174288 kB`.
fn node_total(text: &str) -> Result<u64, String> {
    text.lines()
        .find_map(|line| line.split_once("MemTotal:"))
        .and_then(|(_, rest)| rest.split_ascii_whitespace().next()?.parse().ok())
        .ok_or_else(|| "no line MemTotal".to_owned())
}

/// The fields of each processor.
fn processors(text: &str) -> Vec<Map<String, Value>> {
    text.split("\n\n")
        .map(|block| {
            block
                .lines()
                .filter_map(|line| line.split_once(':'))
                .map(|(k, v)| (k.trim().to_owned(), Value::from(v.trim())))
                .collect()
        })
        .filter(|fields: &Map<String, Value>| fields.contains_key("processor"))
        .collect()
}

fn cpuinfo(c: &mut Collector<'_>) {
    let all = match c.read("/proc/cpuinfo") {
        Ok(text) => processors(&text),
        Err(reason) => {
            for name in [
                "model",
                "vendor",
                "stepping",
                "microcode",
                "sockets",
                "cores",
                "threads",
                "cache",
                "frequency.current_mhz",
            ] {
                c.put::<Value>(&format!("cpu.{name}"), Err(reason.clone()));
            }
            return;
        }
    };
    let first = |key: &str| {
        all.first()
            .and_then(|p| p.get(key))
            .cloned()
            .ok_or_else(|| format!("no line {key:?} on this architecture"))
    };
    let word = |key: &str| {
        first(key)
            .ok()
            .and_then(|v| v.as_str().map(ToOwned::to_owned))
    };
    let stepping = match (word("cpu family"), word("model"), word("stepping")) {
        (Some(f), Some(m), Some(s)) => Ok(format!("family {f} model {m} stepping {s}")),
        _ => Err("no family, model and stepping on this architecture".to_owned()),
    };
    let distinct = |keys: &[&str]| -> u64 {
        let set: BTreeSet<Vec<Option<&str>>> = all
            .iter()
            .map(|p| {
                keys.iter()
                    .map(|k| p.get(*k).and_then(Value::as_str))
                    .collect()
            })
            .collect();
        set.len() as u64
    };
    let counted = |keys: &[&str]| first(keys[keys.len() - 1]).map(|_| distinct(keys));
    let mhz: Vec<f64> = all
        .iter()
        .filter_map(|p| p.get("cpu MHz")?.as_str()?.parse().ok())
        .collect();
    c.put("cpu.model", first("model name"));
    c.put("cpu.vendor", first("vendor_id"));
    c.put("cpu.stepping", stepping);
    c.put("cpu.microcode", first("microcode"));
    c.put("cpu.cache", first("cache size"));
    c.put("cpu.sockets", counted(&["physical id"]));
    c.put("cpu.cores", counted(&["physical id", "core id"]));
    c.put("cpu.threads", Ok(all.len() as u64));
    let mhz = if mhz.is_empty() {
        Err("no line \"cpu MHz\" on this architecture".to_owned())
    } else {
        Ok(mhz)
    };
    c.put("cpu.frequency.current_mhz", mhz);
}

fn frequency(c: &mut Collector<'_>) {
    const FIELDS: [&str; 6] = [
        "scaling_driver",
        "scaling_governor",
        "scaling_min_freq",
        "scaling_max_freq",
        "cpuinfo_max_freq",
        "energy_performance_preference",
    ];
    let mut policies = Map::new();
    for policy in c.list("/sys/devices/system/cpu/cpufreq") {
        if !policy.starts_with("policy") {
            continue;
        }
        let fields: Map<String, Value> = FIELDS
            .iter()
            .filter_map(|f| {
                let text = c.read(&format!("/sys/devices/system/cpu/cpufreq/{policy}/{f}"));
                Some(((*f).to_owned(), Value::from(text.ok()?)))
            })
            .collect();
        policies.insert(policy, Value::Object(fields));
    }
    let outcome = if policies.is_empty() {
        Err("no cpufreq policy: the firmware or hypervisor rules the frequency".to_owned())
    } else {
        Ok(Value::Object(policies))
    };
    c.put("cpu.frequency.policies", outcome);
}
