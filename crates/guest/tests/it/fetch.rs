//! A kernel fetched for real, where there is a network: 26 MB, the smallest there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use guest::initramfs::{self, Store};
use guest::kernel::{Cache, Error, FetchOptions, Fetched, Form, Has, Kernel};

/// What a machine without a network, or without apt, answers. Anything else is a failure.
fn no_network(error: &Error) -> bool {
    const SIGNS: [&str; 5] = [
        "Temporary failure resolving",
        "Could not resolve",
        "Could not connect",
        "Unable to connect",
        "Network is unreachable",
    ];
    let printed = error.to_string();
    matches!(
        error,
        Error::NoApt { .. } | Error::NoMirror | Error::Architecture { .. }
    ) || SIGNS.iter().any(|sign| printed.contains(sign))
}

fn fetch(cache: &Cache, printed: &mut Vec<String>) -> Option<Fetched> {
    let wanted = "6.1-cloud".parse().unwrap();
    let fetched = cache.fetch(&wanted, &FetchOptions::default(), &mut |line| {
        printed.push(line.to_owned());
    });
    match fetched {
        Ok(fetched) => Some(fetched),
        Err(error) if no_network(&error) => {
            testkit::skip!("needs the network and apt: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_cloud_kernel_comes_whole_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(dir.path())).unwrap();
    let mut printed = Vec::new();
    let Some(fetched) = fetch(&cache, &mut printed) else {
        return;
    };
    let kernel = fetched.kernel;
    assert!(fetched.new);
    assert!(kernel.release.starts_with("6.1.") && kernel.release.ends_with("-cloud-amd64"));
    assert_eq!(
        (kernel.form, &kernel.version()[..2]),
        (Form::Vmlinux, &[6, 1][..])
    );
    assert!(fs::read(&kernel.image).unwrap().starts_with(b"\x7fELF"));
    for (name, has) in [
        ("ext4", Has::Builtin),
        ("xfs", Has::Module),
        ("raid5", Has::Module),
        ("dm-log-writes", Has::Module),
        ("null_blk", Has::Module),
        ("blktrace", Has::Builtin),
        ("ocfs2", Has::No),
        ("hostfs", Has::No),
    ] {
        assert_eq!(kernel.capabilities.get(name), Some(has), "{name}");
    }
    order_is_modprobes(&kernel, dir.path());
    parts_hold_the_modules(&cache, &kernel);

    let again = fetch(&cache, &mut printed).unwrap();
    assert!(!again.new && again.kernel.name == kernel.name);
    let downloads = printed
        .iter()
        .filter(|line| line.starts_with("downloading"))
        .count();
    assert_eq!(downloads, 1, "{printed:?}");
    let left = fs::read_dir(dir.path().join("kernels")).unwrap().count();
    assert_eq!(left, 2, "the kernel and the lock");
}

/// kmod's own tools are a second opinion, where they are installed.
fn order_is_modprobes(kernel: &Kernel, dir: &Path) {
    let base = dir.join("kmod");
    let release = base.join("lib/modules").join(&kernel.release);
    fs::create_dir_all(&release).unwrap();
    let modules = kernel.image.with_file_name("modules/kernel");
    std::os::unix::fs::symlink(modules, release.join("kernel")).unwrap();
    fs::write(release.join("modules.builtin"), "").unwrap();
    fs::write(release.join("modules.order"), "").unwrap();
    let depmod = Command::new("depmod")
        .arg("-b")
        .arg(&base)
        .arg(&kernel.release)
        .output();
    if !depmod.is_ok_and(|output| output.status.success()) {
        testkit::skip!("needs kmod");
        return;
    }
    for name in [
        "xfs",
        "raid456",
        "dm_log_writes",
        "btrfs",
        "virtio_blk",
        "null_blk",
    ] {
        let output = Command::new("modprobe")
            .args(["--show-depends", "-d"])
            .arg(&base)
            .args(["-S", &kernel.release, name])
            .output()
            .unwrap();
        let theirs: BTreeSet<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1)?.rsplit('/').next())
            .map(|file| file.trim_end_matches(".ko").replace('-', "_"))
            .collect();
        assert!(theirs.contains(name), "modprobe does not know {name}");
        let order = kernel.load_order(&[name]).unwrap();
        let ours: BTreeSet<&str> = order.iter().map(|module| module.name.as_str()).collect();
        let missing: Vec<&String> = theirs
            .iter()
            .filter(|m| !ours.contains(m.as_str()))
            .collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        // kmod reads one softdep of a module; btrfs has four.
        let more = order
            .iter()
            .find(|module| !module.soft && !theirs.contains(&module.name));
        assert_eq!(more, None, "{name}");
    }
}

fn parts_hold_the_modules(cache: &Cache, kernel: &Kernel) {
    let store = Store::open(cache).unwrap();
    let modules = kernel
        .modules_for(&["virtio_pci", "virtio_blk", "ext4", "raid0", "dm-delay"])
        .unwrap();
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    let part = store.modules(kernel, &modules).unwrap();
    assert!(part.made && !store.modules(kernel, &modules).unwrap().made);
    let entries = initramfs::read(&fs::read(&part.path).unwrap()).unwrap();
    let list = entries
        .iter()
        .find(|entry| entry.path == Path::new("fslab/modules.order"));
    let list = String::from_utf8(list.unwrap().data.clone()).unwrap();
    for line in list.lines() {
        // A soft one has a mark before it.
        let line = line.trim_start_matches('-');
        let path = Path::new(line.trim_start_matches('/'));
        let module = entries.iter().find(|entry| entry.path == path).unwrap();
        assert!(module.data.starts_with(b"\x7fELF"), "{line}");
    }
    assert!(
        list.lines().last().unwrap().ends_with("dm_delay.ko"),
        "{list}"
    );
}
