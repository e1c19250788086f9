//! A study's devices of several layers, in the rig's words.

use rig::device::stack::{Geometry, Hints, Md, Model, NullBlk, Stack, Stacking};
use study::{Bytes, DeviceSpec, Failing, Layers};

/// What the rig makes for a cell's device; none for a plain one.
pub(crate) fn stacking(device: &DeviceSpec, devices_file: Option<&str>) -> Option<Stacking> {
    let stack = device.stack.as_ref()?;
    let geometry = stack.geometry().map(|geometry| Geometry {
        chunk: geometry.chunk.get(),
        width: geometry.width,
    });
    Some(Stacking {
        stack: layers(&stack.layers, devices_file),
        sizes: device.disks().into_iter().map(Bytes::get).collect(),
        size: device.size.get(),
        words: stack.to_string(),
        geometry,
        hints: match device.hints {
            study::Hints::Auto => Hints::Auto,
            study::Hints::Given => Hints::Given,
            study::Hints::Withheld => Hints::Withheld,
        },
    })
}

/// One stack; a modelled disk may be of a devices file with this text.
pub(crate) fn layers(layers: &Layers, devices_file: Option<&str>) -> Stack {
    match layers {
        Layers::Md(md) => Stack::Md(Md {
            level: md.level.name(),
            chunk: md.chunk.map(Bytes::get),
            metadata: md.metadata.word(),
            assume_clean: md.assume_clean,
        }),
        Layers::Stripe(striped) => Stack::Stripe {
            chunk: striped.chunk.get(),
        },
        Layers::Lvm(striped) => Stack::Lvm {
            chunk: striped.chunk.get(),
        },
        Layers::Delay(delay) => Stack::Delay {
            read_ms: delay.read_ms,
            write_ms: delay.write_ms,
        },
        Layers::Flakey(flakey) => Stack::Flakey {
            up_seconds: flakey.up_seconds,
            down_seconds: flakey.down_seconds,
            feature: match flakey.failure {
                Failing::Error => None,
                Failing::DropWrites => Some("drop_writes"),
                Failing::ErrorWrites => Some("error_writes"),
            },
        },
        Layers::LogWrites(_) => Stack::LogWrites,
        Layers::Model(model) => Stack::Model(Model {
            device: model.device.clone(),
            devices_file: devices_file.map(str::to_owned),
        }),
        Layers::NullBlk(null) => Stack::NullBlk(NullBlk {
            latency_ns: u64::from(null.latency_us) * 1000,
            mbps: null.mbps,
            zone: null.zone_size.map(Bytes::get),
        }),
    }
}
