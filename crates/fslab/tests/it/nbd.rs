//! A modelled disk of the kernel's driver of network block devices, in a guest whose kernel has it.

use crate::common;

use crate::served_disk::{KNOWN, assert_known_is_found};
use common::guest_script::{Script, guest_with, line};

const SCRIPT: &str = r#"
size() { cat /sys/block/nbd0/size; }
controlled known --devices-file /known.toml --size 128m --nbd /dev/nbd0
for _ in {1..300}; do [ "$(size)" != 0 ] && break; sleep 0.1; done
echo "advertised: $(size) sectors, $(cat /sys/block/nbd0/queue/write_cache)"
exercise /dev/nbd0
counted
alive
for node in /dev/nbd0 /dev/null /dev/none; do
  /init device serve nvme-2018 --size 64m --nbd $node 2> other.txt
  echo "refused $node: $? $(cat other.txt)"
done
kill -INT $server
wait $server
echo "code $?"
echo "after: $(size) sectors"
"#;

#[test]
fn a_disk_of_the_kernels_nbd_driver_serves_a_filesystem_and_leaves_nothing_needs_qemu() {
    let Some((cache, kernel)) = guest_with("nbd", "6.1") else {
        return;
    };
    let console = Script {
        tools: &[],
        modules: &["virtio_pci", "virtio_console", "nbd", "ext4"],
        text: SCRIPT,
        files: &[("/known.toml", KNOWN)],
    }
    .printed(&cache, &kernel);
    // The SSD below the controller has a buffer that a flush drains.
    assert_eq!(line(&console, "advertised: "), "262144 sectors, write back");
    for result in ["read back", "clean", "the end"] {
        assert!(
            console.lines().any(|line| line == result),
            "{result}: {console}"
        );
    }
    assert!(
        line(&console, "refused /dev/nbd0: 2 ").contains("busy"),
        "{console}"
    );
    let none = line(&console, "refused /dev/null: 2 ");
    assert!(none.contains("not a device of the driver nbd"), "{console}");
    assert!(
        line(&console, "refused /dev/none: 2 ").contains("No such file"),
        "{console}"
    );
    // A busy machine may answer late.
    assert!(matches!(line(&console, "code "), "0" | "7"), "{console}");
    assert_eq!(line(&console, "after: "), "0 sectors");
    // A request and its answer wake threads of the driver, 2 ms in an emulated guest of a machine without other work.
    assert_known_is_found(&console, 5e-3);
}
