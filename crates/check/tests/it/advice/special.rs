//! Advice on what no case damages: lost superblocks, images that begin elsewhere or end early, logs, disks that fail.

use check::report::Report;
use check::{Checker, Step, ext4, ocfs2, xfs};

use super::follow::Place;

/// Follows the advice, which must have these commands, and all must work.
fn follow(place: &Place, checker: &dyn Checker, expected: &[&str]) -> Vec<Step> {
    let (report, steps) = place.advice(checker);
    follow_report(place, checker, &report, &steps, expected);
    steps
}

fn follow_report(
    place: &Place,
    checker: &dyn Checker,
    report: &Report,
    steps: &[Step],
    expected: &[&str],
) {
    let commands: Vec<&str> = steps
        .iter()
        .flat_map(|step| step.commands.iter().map(String::as_str))
        .collect();
    for part in expected {
        let found = commands.iter().any(|command| command.contains(part));
        assert!(found, "{part}: {commands:#?}");
    }
    let followed = place.follow(checker, report, steps);
    assert!(followed.failed.is_empty(), "{:#?}", followed.failed);
}

/// Whether a program is installed; otherwise the skip is reported.
pub(super) fn has(program: &str) -> bool {
    let found = std::process::Command::new(program)
        .arg("-V")
        .output()
        .is_ok();
    if !found {
        testkit::skip!("{program} is not installed");
    }
    found
}

fn e2fsck_1470(superblock: Option<u64>) -> ext4::Checker {
    ext4::Checker::new(ext4::Options {
        reference: ext4::Reference::E2fsck1470,
        superblock,
        ..ext4::Options::default()
    })
}

/// An ext4 of 64 MiB with a file, from this byte of the image on.
fn small_ext4(offset: u64) -> Place {
    let mut place = Place::new();
    place.offset = offset;
    let at = format!(
        "disk.img{}",
        if offset > 0 {
            format!("?offset={offset}")
        } else {
            String::new()
        }
    );
    place.prepare(&format!(
        "truncate -s {} disk.img && mke2fs -q -F -t ext4 -b 1024 -E offset={offset} disk.img 65536 && \
         seq 1 9000 > numbers && debugfs -w -R 'write numbers numbers' '{at}'",
        offset + (64 << 20)
    ));
    place
}

#[test]
fn a_lost_superblock_is_taken_from_a_copy_that_was_not_tried() {
    let place = small_ext4(0);
    place.prepare("dd if=/dev/zero of=disk.img bs=1024 seek=1 count=1 conv=notrunc status=none");
    // The first copy is gone, too, and is what the user has tried.
    place.prepare("dd if=/dev/zero of=disk.img bs=1024 seek=8193 count=1 conv=notrunc status=none");
    let (report, steps) = place.advice(&e2fsck_1470(Some(8193)));
    follow_report(
        &place,
        &e2fsck_1470(None),
        &report,
        &steps,
        &["-b 24577 -B 1024"],
    );
}

#[test]
fn where_the_filesystem_begins_elsewhere_the_commands_do_needs_root() {
    // A counter, which is at no risk; a file that is gone, which is.
    for (damage, expected) in [
        (
            "sif numbers links_count 7",
            "losetup --find --show --offset 1048576 disk.img",
        ),
        (
            "clri numbers",
            "dd if=disk.img of=copy.img bs=1M iflag=skip_bytes,count_bytes skip=1048576",
        ),
    ] {
        let place = small_ext4(1 << 20);
        place.prepare(&format!(
            "debugfs -w -R '{damage}' 'disk.img?offset=1048576'"
        ));
        follow(&place, &e2fsck_1470(None), &[expected, "e2fsck -fy $LOOP"]);
    }
}

#[test]
fn an_image_that_ends_early_is_lengthened() {
    let place = small_ext4(0);
    place.prepare("truncate -s 40M disk.img");
    let steps = follow(
        &place,
        &e2fsck_1470(None),
        &["truncate --size=67108864 copy.img"],
    );
    assert!(
        !steps
            .iter()
            .any(|step| step.commands.iter().any(|line| line.contains("ddrescue")))
    );
}

#[test]
fn a_disk_that_fails_is_rescued_first() {
    if !has("ddrescue") {
        return;
    }
    let place = small_ext4(0);
    place.prepare("printf '\\001' | dd of=disk.img bs=1 seek=1036 conv=notrunc status=none");
    let checker = e2fsck_1470(None);
    let mut report = place.report(&checker);
    report.total.errors = 1;
    // Data is at risk where reads fail, whatever else is wrong.
    let steps = place.steps(&checker, &report);
    follow_report(
        &place,
        &checker,
        &report,
        &steps,
        &["ddrescue --sparse disk.img copy.img"],
    );
}

#[test]
fn of_a_sound_xfs_of_one_group_works() {
    if !has("mkfs.xfs") {
        return;
    }
    let place = Place::new();
    place.prepare("truncate -s 400M disk.img && mkfs.xfs -q --unsupported -d agcount=1 disk.img");
    let steps = follow(
        &place,
        &xfs::Checker::default(),
        &["xfs_repair -n -f -o force_geometry disk.img"],
    );
    assert_eq!(steps.len(), 1);
}

#[test]
fn a_log_that_is_to_be_replayed_is_replayed_needs_root() {
    if !has("mkfs.xfs") {
        return;
    }
    let place = Place::new();
    place.prepare(
        "truncate -s 400M disk.img && mkfs.xfs -q disk.img && mkdir -p mnt && mount -o loop disk.img mnt && \
         seq 1 20000 | sed 's,^,mnt/,' | head -300 | xargs touch && xfs_io -x -c 'shutdown -f' mnt && umount mnt",
    );
    follow(
        &place,
        &xfs::Checker::default(),
        &["mount -o", "umount /mnt"],
    );
}

#[test]
fn a_lost_superblock_of_ocfs2_is_taken_from_a_backup() {
    if !has("mkfs.ocfs2") {
        return;
    }
    let place = Place::new();
    place.prepare(
        "truncate -s 1100M disk.img && mkfs.ocfs2 -q -x -F -b 4096 -C 4096 -N 2 -M local -J size=4M disk.img && \
         dd if=/dev/zero of=disk.img bs=4096 seek=2 count=1 conv=notrunc status=none",
    );
    follow(&place, &ocfs2::Checker, &["fsck.ocfs2 -fy -r 1 copy.img"]);
}
