//! Memory and its policy: items 8, 9, 17 to 21.

use serde_json::Value;

use super::collect::Collector;
use super::entry::{Entry, How};
use crate::{meminfo, vmstat};

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(8, "memory.total_kib", How::Computed, "/proc/meminfo", "MemTotal"),
    Entry::new(8, "memory.swap_total_kib", How::Computed, "/proc/meminfo", "SwapTotal"),
    Entry::new(8, "memory.swap_devices", How::Computed, "/proc/swaps", "swap files and devices with type, size (KiB) and priority"),
    Entry::new(8, "memory.available_kib", How::Computed, "/proc/meminfo", "MemAvailable").changing(),
    Entry::new(8, "vm.swappiness", How::Number, "/proc/sys/vm/swappiness", "readiness to swap, 0 to 200"),
    Entry::new(8, "vm.overcommit_memory", How::Number, "/proc/sys/vm/overcommit_memory", "overcommit policy"),
    Entry::new(8, "vm.watermark_scale_factor", How::Number, "/proc/sys/vm/watermark_scale_factor", "how early kswapd wakes"),
    Entry::new(8, "memory.zswap", How::Text, "/sys/module/zswap/parameters/enabled", "compressed swap cache"),
    Entry::new(9, "memory.thp.enabled", How::Chosen, "/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages"),
    Entry::new(9, "memory.thp.defrag", How::Chosen, "/sys/kernel/mm/transparent_hugepage/defrag", "who compacts for them"),
    Entry::new(9, "memory.free_page_reporting", How::Number, "/sys/module/page_reporting/parameters/page_reporting_order", "of a guest: order from which free pages go back to the host, which has to bring them again when they are touched"),
    Entry::new(17, "vm.dirty_ratio", How::Number, "/proc/sys/vm/dirty_ratio", "percent of available memory at which writers are throttled"),
    Entry::new(17, "vm.dirty_background_ratio", How::Number, "/proc/sys/vm/dirty_background_ratio", "percent of available memory at which writeback begins"),
    Entry::new(17, "vm.dirty_bytes", How::Number, "/proc/sys/vm/dirty_bytes", "as dirty_ratio, in bytes; 0: the ratio counts"),
    Entry::new(17, "vm.dirty_background_bytes", How::Number, "/proc/sys/vm/dirty_background_bytes", "as dirty_background_ratio, in bytes"),
    Entry::new(17, "vm.dirty_expire_centisecs", How::Number, "/proc/sys/vm/dirty_expire_centisecs", "age at which dirty data is written"),
    Entry::new(17, "vm.dirty_writeback_centisecs", How::Number, "/proc/sys/vm/dirty_writeback_centisecs", "how often the flusher wakes"),
    Entry::new(17, "vm.dirtytime_expire_seconds", How::Number, "/proc/sys/vm/dirtytime_expire_seconds", "age at which lazy time stamps are written"),
    Entry::new(17, "vm.effective_dirty_threshold_pages", How::Computed, "/proc/vmstat", "nr_dirty_threshold: where writers are throttled now").changing(),
    Entry::new(17, "vm.effective_dirty_background_threshold_pages", How::Computed, "/proc/vmstat", "nr_dirty_background_threshold").changing(),
    Entry::new(18, "vm.vfs_cache_pressure", How::Number, "/proc/sys/vm/vfs_cache_pressure", "readiness to reclaim inodes and dentries"),
    Entry::new(18, "vm.min_free_kbytes", How::Number, "/proc/sys/vm/min_free_kbytes", "memory kept free"),
    Entry::new(19, "memory.cached_kib", How::Computed, "/proc/meminfo", "page cache now; before and after each phase in the telemetry").changing(),
    Entry::new(19, "memory.dirty_kib", How::Computed, "/proc/meminfo", "dirty pages now").changing(),
    Entry::new(19, "memory.writeback_kib", How::Computed, "/proc/meminfo", "pages under writeback now").changing(),
    Entry::new(20, "cache.dropped", How::PerTrial, "", "whether caches were dropped, how, and the residency check"),
    Entry::new(21, "memory.working_set_ratio", How::Computed, "the study, /proc/meminfo", "bytes the workload touches by MemTotal"),
];

pub(super) fn collect(c: &mut Collector<'_>) {
    c.simple(ENTRIES, "", "");
    let memory = c.read("/proc/meminfo");
    for (name, key) in [
        ("memory.total_kib", "MemTotal"),
        ("memory.swap_total_kib", "SwapTotal"),
        ("memory.available_kib", "MemAvailable"),
        ("memory.cached_kib", "Cached"),
        ("memory.dirty_kib", "Dirty"),
        ("memory.writeback_kib", "Writeback"),
    ] {
        let value = memory.clone().and_then(|text| {
            meminfo::parse(&text)
                .get(key)
                .copied()
                .ok_or_else(|| format!("no line {key}"))
        });
        c.put(name, value);
    }
    let swaps = c.read("/proc/swaps").map(|text| {
        text.lines()
            .skip(1)
            .map(|line| {
                let words: Vec<&str> = line.split_ascii_whitespace().collect();
                // The fourth is the use of the moment.
                let stable: Vec<&str> = words
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != 3)
                    .map(|(_, w)| *w)
                    .collect();
                Value::from(stable.join(" "))
            })
            .collect::<Vec<Value>>()
    });
    c.put("memory.swap_devices", swaps);
    let vm = c.read("/proc/vmstat");
    for (name, key) in [
        ("vm.effective_dirty_threshold_pages", "nr_dirty_threshold"),
        (
            "vm.effective_dirty_background_threshold_pages",
            "nr_dirty_background_threshold",
        ),
    ] {
        let value = vm.clone().and_then(|text| {
            vmstat::parse(&text)
                .get(key)
                .copied()
                .ok_or_else(|| format!("no line {key}"))
        });
        c.put(name, value);
    }
    working_set(c, memory.ok());
}

fn working_set(c: &mut Collector<'_>, meminfo: Option<String>) {
    let total = meminfo.and_then(|text| meminfo::parse(&text).get("MemTotal").copied());
    let outcome = match (c.subject.working_set_bytes, total) {
        (Some(bytes), Some(kib)) if kib > 0 => Ok(bytes as f64 / (kib as f64 * 1024.0)),
        (None, _) => Err("the caller did not tell the bytes that the workload touches".to_owned()),
        _ => Err("MemTotal cannot be read".to_owned()),
    };
    c.put("memory.working_set_ratio", outcome);
}
