//! Modelled devices of the tests.

/// An SSD that takes a fraction of a microsecond.
pub(crate) const FLASH: &str = r#"
[device.flash]
kind = "ssd"
capacity = "1 GB"
flash = { channels = 1, dies = 1, page = "4k", read_us = 0.1, program_us = 0.1, channel_rate = "100 GB/s" }
firmware_us = { read = 0, write = 0 }
buffer = "1m"
link = { rate = "100 GB/s" }
"#;

/// A device of these files.
pub(crate) fn model(files: &[&str], name: &str) -> Box<dyn device::Model> {
    let mut catalogue = device::Catalogue::default();
    catalogue.add("models.toml", &files.concat()).unwrap();
    catalogue.model(name, device::Variation::Nominal).unwrap()
}
