//! Every block device of the stack: items 37 to 49, and the block layer's part of 17, 30 and 31.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::collect::{Collector, sha256};
use super::entry::{Entry, How};
use super::stack::{Stacks, disk_of, folder};
use crate::diskstats::Counters;

// A table: one item a line.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(17, "block.<dev>.bdi.min_ratio", How::Number, "/sys/class/block/<dev>/bdi/min_ratio", "percent of the dirty limit kept for this device"),
    Entry::new(17, "block.<dev>.bdi.max_ratio", How::Number, "/sys/class/block/<dev>/bdi/max_ratio", "percent of the dirty limit this device may take"),
    Entry::new(17, "block.<dev>.bdi.strict_limit", How::Number, "/sys/class/block/<dev>/bdi/strict_limit", "1 when max_ratio always holds"),
    Entry::new(30, "block.<dev>.queue.write_cache", How::Text, "/sys/class/block/<dev>/queue/write_cache", "write back: flushes are sent; write through: they are dropped"),
    Entry::new(30, "block.<dev>.queue.fua", How::Number, "/sys/class/block/<dev>/queue/fua", "1 when forced unit access is used"),
    Entry::new(30, "block.<dev>.flushes", How::Computed, "/sys/class/block/<dev>/stat", "flushes completed since boot (F16); the delta over a run is the proof").changing(),
    Entry::new(31, "block.<dev>.queue.discard_max_bytes", How::Number, "/sys/class/block/<dev>/queue/discard_max_bytes", "largest discard; 0: none"),
    Entry::new(31, "block.<dev>.queue.discard_granularity", How::Number, "/sys/class/block/<dev>/queue/discard_granularity", "unit of discards, bytes"),
    Entry::new(37, "block.stack", How::Computed, "/sys/class/block/*/{slaves,partition,loop,dm,md}", "tree of devices under the filesystem, from the top"),
    Entry::new(37, "block.<dev>.holders", How::Computed, "/sys/class/block/<dev>/holders", "devices that are built on this one"),
    Entry::new(37, "block.<dev>.dm", How::Computed, "/sys/class/block/<dev>/dm", "device mapper: name, uuid, suspended"),
    Entry::new(37, "block.<dev>.md", How::Computed, "/sys/class/block/<dev>/md", "RAID: level, chunk, layout, bitmap, degraded, sync_action"),
    Entry::new(38, "block.<dev>.queue.scheduler", How::Chosen, "/sys/class/block/<dev>/queue/scheduler", "I/O scheduler in force"),
    Entry::new(38, "block.<dev>.iosched.<tunable>", How::Computed, "/sys/class/block/<dev>/queue/iosched/<tunable>", "tunable of the scheduler"),
    Entry::new(39, "block.<dev>.queue.nr_requests", How::Number, "/sys/class/block/<dev>/queue/nr_requests", "requests in the queue"),
    Entry::new(39, "block.<dev>.queue.max_sectors_kb", How::Number, "/sys/class/block/<dev>/queue/max_sectors_kb", "largest request in use, KiB"),
    Entry::new(39, "block.<dev>.queue.max_hw_sectors_kb", How::Number, "/sys/class/block/<dev>/queue/max_hw_sectors_kb", "largest request of the hardware, KiB"),
    Entry::new(39, "block.<dev>.queue.max_segments", How::Number, "/sys/class/block/<dev>/queue/max_segments", "segments in a request"),
    Entry::new(39, "block.<dev>.queue.nomerges", How::Number, "/sys/class/block/<dev>/queue/nomerges", "0: all merges are tried"),
    Entry::new(39, "block.<dev>.queue.rq_affinity", How::Number, "/sys/class/block/<dev>/queue/rq_affinity", "where completions run"),
    Entry::new(39, "block.<dev>.queue.wbt_lat_usec", How::Number, "/sys/class/block/<dev>/queue/wbt_lat_usec", "latency target of writeback throttling; 0: off"),
    Entry::new(39, "block.<dev>.queue.io_poll", How::Number, "/sys/class/block/<dev>/queue/io_poll", "1 when completions may be polled"),
    Entry::new(39, "block.<dev>.queue.iostats", How::Number, "/sys/class/block/<dev>/queue/iostats", "1 when the device counts its I/O"),
    Entry::new(40, "block.<dev>.queue.read_ahead_kb", How::Number, "/sys/class/block/<dev>/queue/read_ahead_kb", "readahead, KiB (blockdev --setra counts 512-byte sectors)"),
    Entry::new(41, "block.<dev>.queue.rotational", How::Number, "/sys/class/block/<dev>/queue/rotational", "1 for spindles, or when nothing else is known"),
    Entry::new(41, "block.<dev>.queue.logical_block_size", How::Number, "/sys/class/block/<dev>/queue/logical_block_size", "smallest addressable unit, bytes"),
    Entry::new(41, "block.<dev>.queue.physical_block_size", How::Number, "/sys/class/block/<dev>/queue/physical_block_size", "smallest unit written without a read, bytes"),
    Entry::new(41, "block.<dev>.queue.minimum_io_size", How::Number, "/sys/class/block/<dev>/queue/minimum_io_size", "preferred unit, bytes (RAID chunk)"),
    Entry::new(41, "block.<dev>.queue.optimal_io_size", How::Number, "/sys/class/block/<dev>/queue/optimal_io_size", "optimal unit, bytes (RAID stripe); 0: not reported"),
    Entry::new(41, "block.<dev>.alignment_offset", How::Number, "/sys/class/block/<dev>/alignment_offset", "bytes off the natural alignment"),
    Entry::new(41, "block.<dev>.queue.zoned", How::Text, "/sys/class/block/<dev>/queue/zoned", "zone model"),
    Entry::new(42, "block.<dev>.transport", How::Computed, "/sys/class/block/<dev> (its device's path)", "virtio, nvme, ata, sas, usb, iscsi, loop, ..."),
    Entry::new(42, "block.<dev>.model", How::Text, "/sys/class/block/<dev>/device/model", "model"),
    Entry::new(42, "block.<dev>.vendor", How::Text, "/sys/class/block/<dev>/device/vendor", "vendor"),
    Entry::new(42, "block.<dev>.firmware", How::Computed, "/sys/class/block/<dev>/device/{firmware_rev,rev}", "firmware revision"),
    Entry::new(42, "block.<dev>.serial_sha256", How::Computed, "/sys/class/block/<dev>/{serial,device/serial,device/vpd_pg80}", "first 16 digits of the serial number's SHA-256"),
    Entry::new(42, "block.<dev>.bytes", How::Computed, "/sys/class/block/<dev>/size", "capacity"),
    Entry::new(43, "block.<dev>.device_write_cache", How::Computed, "/sys/class/block/<dev>/{cache_type,device/scsi_disk/*/cache_type}", "write cache of the device"),
    Entry::new(43, "block.<dev>.device_write_cache_protection", How::Manual, "", "whether that cache survives a power cut"),
    Entry::new(44, "block.controller_cache", How::Manual, "", "controller cache, battery state, read and write share"),
    Entry::new(44, "manual.<name>", How::Manual, "", "anything else the user notes of the hardware"),
    Entry::new(45, "block.<dev>.loop.backing_file", How::Text, "/sys/class/block/<dev>/loop/backing_file", "backing file of the loop device"),
    Entry::new(45, "block.<dev>.loop.dio", How::Number, "/sys/class/block/<dev>/loop/dio", "1 when the file is read and written directly, without a second page cache"),
    Entry::new(45, "block.<dev>.loop.offset", How::Number, "/sys/class/block/<dev>/loop/offset", "bytes skipped at the file's start"),
    Entry::new(46, "block.<dev>.health", How::Computed, "/sys/class/block/<dev>/device/{ioerr_cnt,iotmo_cnt,iodone_cnt}", "error counters that the kernel keeps; SMART and NVMe logs need the vendor's tool").changing(),
    Entry::new(47, "block.<dev>.partition_offset_bytes", How::Computed, "/sys/class/block/<dev>/start", "where the partition begins on its disk"),
    Entry::new(48, "block.<dev>.queue_map", How::Computed, "/sys/class/block/<dev>/mq/*/cpu_list", "CPUs of each hardware queue"),
    Entry::new(48, "block.<dev>.irq_affinity", How::Computed, "/proc/irq/*/effective_affinity_list of the device's msi_irqs", "CPUs that serve the device's interrupts"),
    Entry::new(49, "block.raw_reference", How::Manual, "", "raw sequential and random reads of the device on the same day"),
];

pub(super) fn collect(c: &mut Collector<'_>, stacks: &Stacks) {
    match &stacks.tree {
        Some(tree) => c.put("block.stack", Ok(tree.clone())),
        None => c.put::<Value>(
            "block.stack",
            Err("no block device under the subject (or none was named)".to_owned()),
        ),
    }
    for device in &stacks.devices {
        describe(c, device);
    }
}

/// Entries that make sense for a device of this kind: a partition has its disk's queue, and what
/// is no loop device has no backing file.
fn fitting(c: &Collector<'_>, device: &str) -> Vec<Entry> {
    let has = |file: &str| c.path(&format!("{}/{file}", folder(device))).exists();
    let (partition, loops, hardware) = (has("partition"), has("loop"), has("device"));
    ENTRIES
        .iter()
        .filter(|e| {
            !(partition && (e.source.contains("/queue/") || e.source.contains("/bdi/")))
                && (loops || !e.source.contains("/loop/"))
                && (hardware || !e.source.contains("/device/"))
        })
        .copied()
        .collect()
}

fn describe(c: &mut Collector<'_>, device: &str) {
    let base = folder(device);
    let fitting = fitting(c, device);
    c.simple(&fitting, "<dev>", device);
    let stat = c.read(&format!("{base}/stat")).and_then(|text| {
        Counters::parse(&text)
            .map(|counters| counters.flushes())
            .ok_or_else(|| "it does not have the expected fields".to_owned())
    });
    put(c, device, "flushes", "stat", stat);
    let sectors = |text: String| {
        text.parse::<u64>()
            .map(|n| n.saturating_mul(512))
            .map_err(|_| format!("not a number: {text:?}"))
    };
    let bytes = c.read(&format!("{base}/size")).and_then(sectors);
    put(c, device, "bytes", "size", bytes);
    let holders = c.list(&format!("{base}/holders"));
    put(c, device, "holders", "holders", Ok(holders));
    if disk_of(c, device).is_some() {
        let start = c.read(&format!("{base}/start")).and_then(sectors);
        put(c, device, "partition_offset_bytes", "start", start);
        return;
    }
    scheduler(c, device);
    layers(c, device);
    hardware(c, device);
    queues(c, device);
}

fn put<V: Into<Value>>(
    c: &mut Collector<'_>,
    device: &str,
    item: &str,
    file: &str,
    outcome: Result<V, String>,
) {
    let source = format!("{}/{file}", folder(device));
    c.put_from(&format!("block.{device}.{item}"), Some(&source), outcome);
}

fn scheduler(c: &mut Collector<'_>, device: &str) {
    for tunable in c.list(&format!("{}/queue/iosched", folder(device))) {
        let file = format!("queue/iosched/{tunable}");
        let text = c.read(&format!("{}/{file}", folder(device)));
        put(c, device, &format!("iosched.{tunable}"), &file, text);
    }
}

/// The files of a folder that can be read, as an object.
fn object(c: &Collector<'_>, base: &str, files: &[&str]) -> Map<String, Value> {
    files
        .iter()
        .filter_map(|f| {
            let text = c.read(&format!("{base}/{f}")).ok()?;
            Some(((*f).to_owned(), Value::from(text)))
        })
        .collect()
}

fn layers(c: &mut Collector<'_>, device: &str) {
    const LAYERS: [(&str, &[&str]); 2] = [
        (
            "dm",
            &[
                "name",
                "uuid",
                "suspended",
                "rq_based_seq_io_merge_deadline",
            ],
        ),
        (
            "md",
            &[
                "level",
                "chunk_size",
                "layout",
                "raid_disks",
                "degraded",
                "sync_action",
                "array_state",
                "bitmap/location",
                "stripe_cache_size",
            ],
        ),
    ];
    for (layer, files) in LAYERS {
        let base = format!("{}/{layer}", folder(device));
        if c.path(&base).is_dir() {
            let fields = object(c, &base, files);
            put(c, device, layer, layer, Ok(Value::Object(fields)));
        }
    }
}

/// What the path of a device says of how it is attached.
fn transport(real: &Path, device: &str) -> Option<&'static str> {
    let path = real.to_string_lossy();
    // In this order: an iSCSI or USB disk is a SCSI disk as well.
    [
        ("/virtual/block/loop", "loop"),
        ("/virtual/block/dm-", "dm"),
        ("/virtual/block/md", "md"),
        ("/virtual/block/zram", "zram"),
        ("/virtual/block/ram", "ram"),
        ("/virtual/block/nbd", "nbd"),
        ("/nvme", "nvme"),
        ("/mmc", "mmc"),
        ("/usb", "usb"),
        ("/session", "iscsi"),
        ("/rport-", "fibre channel"),
        ("/end_device-", "sas"),
        ("/ata", "ata"),
        ("/virtio", "virtio"),
        ("/vbd-", "xen"),
        ("/host", "scsi"),
    ]
    .iter()
    .find(|(part, _)| path.contains(part))
    .map(|(_, name)| *name)
    .or_else(|| device.starts_with("loop").then_some("loop"))
}

fn hardware(c: &mut Collector<'_>, device: &str) {
    let base = folder(device);
    let real = std::fs::canonicalize(c.path(&base)).unwrap_or_default();
    let found = transport(&real, device).ok_or_else(|| "its path names no transport".to_owned());
    put(c, device, "transport", "", found);
    let cache = first_of(c, &base, &["cache_type"]).or_else(|| {
        let disks = c.list(&format!("{base}/device/scsi_disk"));
        let file = format!("device/scsi_disk/{}/cache_type", disks.first()?);
        first_of(c, &base, &[&file])
    });
    let (file, text) = cache.unwrap_or_default();
    let outcome = if file.is_empty() {
        Err("the driver does not tell; see queue.write_cache".to_owned())
    } else {
        Ok(text)
    };
    put(c, device, "device_write_cache", &file, outcome);
    if !c.path(&format!("{base}/device")).exists() {
        return;
    }
    let firmware = first_of(c, &base, &["device/firmware_rev", "device/rev"]);
    let (file, text) = firmware.unwrap_or_default();
    let outcome = if file.is_empty() {
        Err("the driver does not tell".to_owned())
    } else {
        Ok(text)
    };
    put(c, device, "firmware", &file, outcome);
    let serial = first_of(
        c,
        &base,
        &["serial", "device/serial", "device/vpd_pg80", "device/wwid"],
    )
    .map(|(file, text)| (file, sha256(text.as_bytes())[..16].to_owned()));
    let (file, hash) = serial.unwrap_or_default();
    let outcome = if file.is_empty() {
        Err("the device reports no serial number".to_owned())
    } else {
        Ok(hash)
    };
    put(c, device, "serial_sha256", &file, outcome);
    let health = object(
        c,
        &format!("{base}/device"),
        &["ioerr_cnt", "iotmo_cnt", "iodone_cnt"],
    );
    let outcome = if health.is_empty() {
        Err(
            "the kernel keeps no error counters for it; SMART and NVMe logs need smartctl or nvme"
                .to_owned(),
        )
    } else {
        Ok(Value::Object(health))
    };
    put(c, device, "health", "device", outcome);
}

/// The first of some files that holds something, with its name.
fn first_of(c: &Collector<'_>, base: &str, files: &[&str]) -> Option<(String, String)> {
    files.iter().find_map(|file| {
        let text = c.read(&format!("{base}/{file}")).ok()?;
        (!text.is_empty()).then(|| ((*file).to_owned(), text))
    })
}

fn queues(c: &mut Collector<'_>, device: &str) {
    let base = folder(device);
    let map: Map<String, Value> = c
        .list(&format!("{base}/mq"))
        .into_iter()
        .filter_map(|queue| {
            let cpus = c.read(&format!("{base}/mq/{queue}/cpu_list")).ok()?;
            Some((queue, cpus.into()))
        })
        .collect();
    let outcome = if map.is_empty() {
        Err("no hardware queues: a stacked or bio-based device".to_owned())
    } else {
        Ok(Value::Object(map))
    };
    put(c, device, "queue_map", "mq", outcome);
    let Some(irqs) = interrupts(&std::fs::canonicalize(c.path(&base)).unwrap_or_default()) else {
        return;
    };
    let served: Map<String, Value> = irqs
        .into_iter()
        .filter_map(|irq| {
            let read = |file| c.read(&format!("/proc/irq/{irq}/{file}"));
            let cpus = read("effective_affinity_list")
                .ok()
                .filter(|t| !t.is_empty())
                .or_else(|| read("smp_affinity_list").ok())?;
            Some((irq, json!(cpus)))
        })
        .collect();
    c.put(
        &format!("block.{device}.irq_affinity"),
        Ok(Value::Object(served)),
    );
}

/// Interrupt numbers of the nearest bus device above a block device.
fn interrupts(real: &Path) -> Option<Vec<String>> {
    let folder = real
        .ancestors()
        .map(|a| a.join("msi_irqs"))
        .find(|p| p.is_dir())?;
    let mut irqs: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    irqs.sort_unstable();
    Some(irqs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_transport() {
        for (path, expected) in [
            (
                "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda",
                Some("virtio"),
            ),
            (
                "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
                Some("ata"),
            ),
            (
                "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
                Some("nvme"),
            ),
            (
                "/sys/devices/pci0/0000:00:14.0/usb2/2-1/host6/target6:0:0/6:0:0:0/block/sdb",
                Some("usb"),
            ),
            (
                "/sys/devices/platform/host7/session1/target7:0:0/block/sdc",
                Some("iscsi"),
            ),
            ("/sys/devices/virtual/block/dm-0", Some("dm")),
            ("/sys/devices/odd", None),
        ] {
            assert_eq!(transport(Path::new(path), "x"), expected, "{path}");
        }
    }
}
