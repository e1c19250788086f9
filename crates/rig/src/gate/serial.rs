//! A disk's serial number, by which it is named beyond doubt: node names change between boots.

use std::fs;

use crate::host::Host;

/// The serial of a whole disk by its sysfs name.
///
/// In order: the driver's own (`device/serial`, as NVMe and MMC have), SCSI's unit serial number
/// page (VPD page 80h), virtio's, the device's world-wide name, device mapper's and md's UUID. A
/// loop device is called `loop:` and its backing file's name: it has nothing better, and it is
/// how tests name one.
pub(crate) fn of(host: &Host, disk: &str) -> Option<String> {
    let folder = format!("sys/block/{disk}");
    host.text(format!("{folder}/device/serial"))
        .or_else(|| unit_serial_page(host, &folder))
        .or_else(|| host.text(format!("{folder}/serial")))
        .or_else(|| host.text(format!("{folder}/device/wwid")))
        .or_else(|| host.text(format!("{folder}/wwid")))
        .or_else(|| host.text(format!("{folder}/dm/uuid")))
        .or_else(|| host.text(format!("{folder}/md/uuid")))
        .or_else(|| {
            let lo = host.loops().into_iter().find(|lo| lo.name == disk)?;
            let name = lo.backing.file_name()?.to_string_lossy().into_owned();
            Some(format!("loop:{name}"))
        })
}

/// SPC-4 7.8.15: byte 1 is the page code, bytes 2-3 the length, then ASCII padded with spaces.
fn unit_serial_page(host: &Host, folder: &str) -> Option<String> {
    let page = fs::read(host.path(format!("{folder}/device/vpd_pg80"))).ok()?;
    let (&code, length) = (page.get(1)?, page.get(2..4)?);
    if code != 0x80 {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let text = page.get(4..)?;
    let text = &text[..length.min(text.len())];
    let text = String::from_utf8_lossy(text)
        .trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .to_string();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_gives_its_serial() {
        let cases: &[(&str, &[u8], &str)] = &[
            ("device/serial", b"S5G NX0\n", "S5G NX0"),
            ("device/vpd_pg80", b"\0\x80\0\x08  WD-1   ", "WD-1"),
            ("serial", b"virtio-7", "virtio-7"),
            ("dm/uuid", b"LVM-abc\n", "LVM-abc"),
            (
                "loop/backing_file",
                b"/x/y z.img (deleted)\n",
                "loop:y z.img",
            ),
        ];
        for (file, bytes, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sys/block/loop1").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            let host = Host::below(folder.path());
            assert_eq!(of(&host, "loop1").as_deref(), Some(*expected), "{file}");
        }
    }

    #[test]
    fn a_torn_page_and_an_empty_serial_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("sys/block/sda/device");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("serial"), "\n").unwrap();
        fs::write(device.join("vpd_pg80"), b"\0\x80\0").unwrap();
        assert_eq!(of(&Host::below(folder.path()), "sda"), None);
    }
}
