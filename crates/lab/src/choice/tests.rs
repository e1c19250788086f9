//! The matrix: who has what, and what was asked for.

use std::fs;

use guest::machine;
use serde_json::json;

use super::*;

/// A machine that lacks what a test says, with its own cache.
struct Lacking {
    /// What the host's kernel lacks, whatever is needed.
    host: &'static [&'static str],
    /// The programs that are installed.
    programs: &'static [GuestMachine],
    /// Kernels whose test boot fails.
    do_not_run: &'static [&'static str],
    cache: tempfile::TempDir,
}

const BOTH: &[GuestMachine] = &[GuestMachine::Uml, GuestMachine::Qemu];

impl HostInfo for Lacking {
    fn host(&self, _: &Needs) -> (String, Vec<String>) {
        let lacks = self.host.iter().map(|&name| name.to_owned()).collect();
        ("6.18.0".to_owned(), lacks)
    }

    fn present(&self, machine: GuestMachine) -> Result<(), machine::Error> {
        if self.programs.contains(&machine) {
            return Ok(());
        }
        Err(missing("qemu-system-x86_64", "qemu-system-x86"))
    }

    fn uml_kernels(&self, cache: &Cache) -> Result<Vec<Kernel>, Error> {
        let mut all = cache.kernels()?;
        all.retain(|kernel| kernel.form == Form::Uml);
        all.reverse();
        Ok(all)
    }

    fn fails(&self, _: &Cache, kernel: &Kernel, _: fn(&str)) -> Result<Option<String>, Error> {
        let fails = self.do_not_run.contains(&kernel.name.as_str());
        Ok(fails.then(|| "ptrace set fp regs failed, errno = 14".to_owned()))
    }
}

fn missing(program: &str, package: &'static str) -> machine::Error {
    machine::Error::MissingProgram {
        program: program.to_owned(),
        package,
    }
}

impl Lacking {
    /// A machine without any kernel for guests.
    fn new(host: &'static [&'static str]) -> Self {
        Lacking {
            host,
            programs: BOTH,
            do_not_run: &[],
            cache: tempfile::tempdir().unwrap(),
        }
    }

    /// The usual ones: User-mode Linux with raid0, Linux 5.10, 6.1 and 6.12 for QEMU, of which the last has no XFS.
    fn with_kernels(host: &'static [&'static str]) -> Self {
        let machine = Lacking::new(host);
        machine.keep(
            "uml-6.1.176",
            "6.1.176",
            "uml",
            &["EXT4_FS", "BLK_DEV_MD", "MD_RAID0"],
        );
        let both = &["EXT4_FS", "XFS_FS", "BLK_DEV_MD", "MD_RAID5", "MD_RAID456"];
        machine.keep("5.10.0-46-amd64", "5.10.262", "vmlinux", both);
        machine.keep("6.1.0-56-amd64", "6.1.192", "vmlinux", both);
        machine.keep(
            "6.12.117-amd64",
            "6.12.117",
            "vmlinux",
            &["EXT4_FS", "BTRFS_FS"],
        );
        machine
    }

    /// A kernel with these symbols built in.
    fn keep(&self, name: &str, version: &str, form: &str, symbols: &[&str]) {
        let dir = self.cache.path().join("kernels").join(name);
        fs::create_dir_all(&dir).unwrap();
        let release = name.strip_prefix("uml-").unwrap_or(name);
        let manifest = json!({
            "schema": 1, "release": release, "version": version, "form": form,
            "source": { "kind": "added", "image": "/boot/image" }, "image": "image", "bytes": 0,
        });
        let modules = json!({ "kept": {}, "builtin": [], "left_out": [] });
        let config: Vec<String> = (symbols.iter())
            .map(|name| format!("CONFIG_{name}=y"))
            .collect();
        for (file, text) in [
            ("kernel.json", manifest.to_string()),
            ("modules.json", modules.to_string()),
            ("config", config.join("\n")),
            ("image", String::new()),
        ] {
            fs::write(dir.join(file), text).unwrap();
        }
    }

    fn request(&self, runner: Option<Runner>) -> ExecutorRequest {
        ExecutorRequest {
            runner,
            virtual_time: false,
            cache: Some(self.cache.path().to_owned()),
            say: None,
        }
    }

    fn choose(&self, plan: &Plan, runner: Option<Runner>) -> Choice {
        choose_on(self, plan, &self.request(runner)).unwrap()
    }

    /// Why no executor runs it: one line, the cache's folder called CACHE.
    fn refused(&self, plan: &Plan, runner: Option<Runner>) -> String {
        self.refused_as(plan, &self.request(runner))
    }

    fn refused_as(&self, plan: &Plan, request: &ExecutorRequest) -> String {
        let printed = choose_on(self, plan, request).unwrap_err().to_string();
        assert!(!printed.contains('\n'), "{printed}");
        printed.replace(&self.cache.path().display().to_string(), "CACHE")
    }
}

const HOST: Option<Runner> = Some(Runner::Host);
const UML: Option<Runner> = Some(Runner::Guest(GuestMachine::Uml));
const QEMU: Option<Runner> = Some(Runner::Guest(GuestMachine::Qemu));

/// The journal study on one filesystem, with these settings.
fn plan(filesystem: &str, set: &[&str]) -> Plan {
    let study = study::Study::load("journal").unwrap();
    let overrides = study::Overrides {
        set: set.iter().map(|&text| text.to_owned()).collect(),
        filter: vec![format!("filesystem={filesystem}")],
        ..study::Overrides::default()
    };
    study::plan(&study, &overrides).unwrap()
}

fn guest(choice: &Choice) -> &GuestTarget {
    match &choice.target {
        Target::Guest(guest) => guest,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_that_has_everything_runs_it_whatever_guests_there_are() {
    for machine in [Lacking::new(&[]), Lacking::with_kernels(&[])] {
        for (runner, begin) in [(None, "nothing is lacking"), (HOST, "as asked")] {
            let choice = machine.choose(&plan("ext4", &[]), runner);
            assert_eq!(choice.target, Target::LoopImages);
            assert_eq!(
                choice.why,
                format!("{begin}: runs in the host's Linux 6.18.0")
            );
        }
    }
}

#[test]
fn what_the_host_lacks_runs_in_the_first_guest_that_has_it() {
    let machine = Lacking::with_kernels(&["io-throttle"]);
    let choice = machine.choose(&plan("ext4", &[]), None);
    assert_eq!(
        choice.why,
        "host lacks io-throttle: runs in User-mode Linux 6.1.176, times are emulated"
    );
    assert_eq!(guest(&choice).machine, GuestMachine::Uml);
    assert_eq!(guest(&choice).kernel.as_deref(), Some("uml-6.1.176"));
    // Of the images the newest that has it, not the newest.
    let choice = machine.choose(&plan("xfs", &[]), None);
    assert_eq!(
        choice.why,
        "host lacks io-throttle; User-mode Linux 6.1.176 lacks xfs: runs in Linux 6.1.0-56-amd64 under QEMU, \
         times are emulated"
    );
    assert_eq!(guest(&choice).machine, GuestMachine::Qemu);
    assert_eq!(guest(&choice).kernel.as_deref(), Some("6.1.0-56-amd64"));
    assert_eq!(guest(&choice).cache.as_deref(), Some(machine.cache.path()));
    let choice = machine.choose(&plan("btrfs", &[]), None);
    assert_eq!(guest(&choice).kernel.as_deref(), Some("6.12.117-amd64"));
}

#[test]
fn an_executor_that_was_asked_for_is_the_only_one_that_is_tried() {
    let machine = Lacking::with_kernels(&[]);
    let choice = machine.choose(&plan("ext4", &[]), UML);
    assert_eq!(
        choice.why,
        "as asked: runs in User-mode Linux 6.1.176, times are emulated"
    );
    let choice = machine.choose(&plan("ext4", &[]), QEMU);
    assert_eq!(
        choice.why,
        "as asked: runs in Linux 6.12.117-amd64 under QEMU, times are emulated"
    );
    assert_eq!(
        machine.refused(&plan("xfs", &[]), UML),
        "User-mode Linux 6.1.176 lacks xfs; `fslab kernel list` shows what each kernel has"
    );
    assert_eq!(
        Lacking::with_kernels(&["xfs", "a version >=99"]).refused(&plan("xfs", &[]), HOST),
        "host lacks xfs, a version >=99; run it in a guest's kernel with --executor uml or qemu (`fslab kernel list` \
         shows what each has)"
    );
}

#[test]
fn what_no_executor_has_names_every_executor() {
    let machine = Lacking::with_kernels(&["ocfs2"]);
    assert_eq!(
        machine.refused(&plan("ext4", &["needs.capabilities=[\"ocfs2\"]"]), None),
        "host lacks ocfs2; User-mode Linux 6.1.176 lacks ocfs2; Linux 6.12.117-amd64 under QEMU lacks ocfs2; \
         Linux 6.1.0-56-amd64 under QEMU lacks ocfs2; Linux 5.10.0-46-amd64 under QEMU lacks ocfs2; take it out \
         of the study, or bring a kernel that has it: `fslab kernel list --available`"
    );
    let unknown = plan("ext4", &["needs.capabilities=[\"warp\"]"]);
    let printed = machine.refused(&unknown, None);
    assert!(printed.contains("`warp` is no capability"), "{printed}");
}

#[test]
fn a_guest_that_is_not_installed_is_passed_over_with_what_installs_it() {
    let mut machine = Lacking::new(&["ext4"]);
    assert_eq!(
        machine.refused(&plan("ext4", &[]), None),
        "host lacks ext4; uml: User-mode Linux is not installed; `fslab kernel fetch uml` brings one; qemu: no kernel for a guest in CACHE; `fslab kernel fetch 6.1` brings one; take it out \
         of the study, or bring a kernel that has it: `fslab kernel list --available`"
    );
    machine.keep("6.1.0-56-amd64", "6.1.192", "vmlinux", &["EXT4_FS"]);
    let choice = machine.choose(&plan("ext4", &[]), None);
    assert!(
        choice
            .why
            .contains("`fslab kernel fetch uml` brings one: runs in Linux 6.1.0-56-amd64")
    );
    machine.programs = &[GuestMachine::Uml];
    let printed = machine.refused(&plan("ext4", &[]), QEMU);
    assert!(
        printed.starts_with("qemu: qemu-system-x86_64 is not installed"),
        "{printed}"
    );
}

#[test]
fn a_kernel_that_was_named_brings_what_runs_it() {
    let machine = Lacking::with_kernels(&[]);
    for (named, executor, kernel) in [
        ("6.1", GuestMachine::Qemu, "6.1.0-56-amd64"),
        ("5.10.0-46-amd64", GuestMachine::Qemu, "5.10.0-46-amd64"),
        ("uml", GuestMachine::Uml, "uml-6.1.176"),
        ("uml-6.1.176", GuestMachine::Uml, "uml-6.1.176"),
    ] {
        let choice = machine.choose(&plan("ext4", &[&format!("kernel={named}")]), None);
        let target = guest(&choice);
        assert_eq!(
            (target.machine, target.kernel.as_deref()),
            (executor, Some(kernel))
        );
        assert!(
            choice.why.starts_with("as asked: runs in "),
            "{}",
            choice.why
        );
    }
    // Where User-mode Linux is asked for, a series is one of its own.
    let choice = machine.choose(&plan("ext4", &["kernel=6.1"]), UML);
    assert_eq!(guest(&choice).kernel.as_deref(), Some("uml-6.1.176"));
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=6.12"]), UML),
        "kernel 6.12.117-amd64 is not one for uml; run it with --executor qemu"
    );
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=uml"]), QEMU),
        "kernel uml-6.1.176 is not one for qemu; run it with --executor uml"
    );
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=6.1"]), HOST),
        "the host runs one kernel, its own; leave out --executor host, or the kernels"
    );
    assert_eq!(
        machine.refused(&plan("xfs", &["kernel=6.12"]), None),
        "kernel 6.12.117-amd64 lacks xfs; `fslab kernel list` shows what each kernel has"
    );
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=6.6"]), None),
        "no kernel 6.6 in CACHE; it has 5.10.0-46-amd64, uml-6.1.176, 6.1.0-56-amd64, 6.12.117-amd64; `fslab \
         kernel fetch 6.6` brings one"
    );
}

/// A processor with AMX and the User-mode Linux of Debian 12.
#[test]
fn a_kernel_that_does_not_run_here_is_passed_over_with_the_reason() {
    let mut machine = Lacking::with_kernels(&["io-throttle"]);
    machine.do_not_run = &["uml-6.1.176"];
    let choice = machine.choose(&plan("ext4", &[]), None);
    assert_eq!(
        choice.why,
        "host lacks io-throttle; User-mode Linux 6.1.176 does not run on this machine (ptrace set fp regs failed, \
         errno = 14): runs in Linux 6.12.117-amd64 under QEMU, times are emulated"
    );
    for (set, runner) in [(&["kernel=uml"][..], None), (&["kernel=6.1"][..], UML)] {
        assert_eq!(
            machine.refused(&plan("ext4", set), runner),
            "kernel uml-6.1.176 does not run on this machine (ptrace set fp regs failed, errno = 14); `fslab kernel \
             fetch uml` brings the newest User-mode Linux, or run it with --executor qemu"
        );
    }
    // Of several the newest that runs, whatever the order of their versions.
    machine.keep("uml-7.2.7", "7.2.7", "uml", &["EXT4_FS"]);
    for (set, runner) in [(&[][..], None), (&["kernel=uml"][..], None), (&[][..], UML)] {
        let choice = machine.choose(&plan("ext4", set), runner);
        assert_eq!(guest(&choice).kernel.as_deref(), Some("uml-7.2.7"));
    }
    machine.do_not_run = &["uml-7.2.7"];
    for (set, runner) in [(&["kernel=uml"][..], None), (&[][..], UML)] {
        let choice = machine.choose(&plan("ext4", set), runner);
        assert_eq!(guest(&choice).kernel.as_deref(), Some("uml-6.1.176"));
    }
    machine.do_not_run = &["6.12.117-amd64"];
    let choice = machine.choose(&plan("ext4", &[]), QEMU);
    assert_eq!(guest(&choice).kernel.as_deref(), Some("6.1.0-56-amd64"));
}

#[test]
fn kernels_as_a_factor_have_one_executor() {
    let machine = Lacking::with_kernels(&[]);
    let choice = machine.choose(&plan("ext4", &["kernel=6.12,5.10"]), None);
    let target = guest(&choice);
    let pair = |level: &str, name: &str| (level.to_owned(), name.to_owned());
    assert_eq!(target.kernel, None);
    assert_eq!(
        target.kernels,
        [
            pair("6.12", "6.12.117-amd64"),
            pair("5.10", "5.10.0-46-amd64")
        ]
    );
    assert_eq!(
        choice.why,
        "as asked: runs in Linux 6.12.117-amd64 and 5.10.0-46-amd64 under QEMU, times are emulated"
    );
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=6.1,uml"]), None),
        "kernel uml-6.1.176 is not one for qemu; the kernels of one run need one executor, or their times could \
         not be compared"
    );
    assert_eq!(
        machine.refused(&plan("xfs", &["kernel=5.10,6.12"]), None),
        "kernel 6.12.117-amd64 lacks xfs; `fslab kernel list` shows what each kernel has"
    );
    assert_eq!(
        machine.refused(&plan("ext4", &["kernel=6.1,6.6,6.99"]), None),
        "no kernels 6.6, 6.99 in CACHE; `fslab kernel fetch 6.6 6.99` brings them"
    );
}

#[test]
fn a_range_of_kernels_is_kept() {
    let machine = Lacking::with_kernels(&["a version"]);
    for (range, kernel) in [
        (">=6.12", "6.12.117-amd64"),
        ("<6.1", "5.10.0-46-amd64"),
        (">=6.1.180,<6.2", "6.1.0-56-amd64"),
        ("6.1", "uml-6.1.176"),
    ] {
        let choice = machine.choose(&plan("ext4", &[&format!("needs.kernel={range}")]), None);
        assert_eq!(guest(&choice).kernel.as_deref(), Some(kernel), "{range}");
    }
    assert_eq!(
        machine.refused(&plan("ext4", &["needs.kernel=>=6.12", "kernel=6.1"]), None),
        "kernel 6.1.0-56-amd64 lacks a version >=6.12; `fslab kernel list` shows what each kernel has"
    );
}

#[test]
fn times_of_hardware_are_the_hosts_alone() {
    let absolute = plan("ext4", &["needs.times=absolute"]);
    let choice = Lacking::with_kernels(&[]).choose(&absolute, None);
    assert_eq!(choice.target, Target::LoopImages);
    let printed = Lacking::with_kernels(&["raid0"]).refused(&absolute, None);
    assert!(
        printed.starts_with("host lacks raid0; User-mode Linux 6.1.176 lacks times of hardware")
    );
    let printed = Lacking::with_kernels(&[]).refused(&absolute, QEMU);
    assert!(
        printed.contains("6.12.117-amd64 under QEMU lacks times of hardware"),
        "{printed}"
    );
}

#[test]
fn virtual_time_is_qemus_alone() {
    let machine = Lacking::with_kernels(&[]);
    let virtual_time = |runner| ExecutorRequest {
        virtual_time: true,
        ..machine.request(runner)
    };
    for runner in [None, QEMU] {
        let choice = choose_on(&machine, &plan("ext4", &[]), &virtual_time(runner)).unwrap();
        assert!(guest(&choice).virtual_time);
        assert_eq!(
            choice.why,
            "as asked: runs in Linux 6.12.117-amd64 under QEMU, in virtual time"
        );
    }
    let printed =
        "virtual time is QEMU's alone; leave out --virtual-time, or choose --executor qemu";
    for runner in [HOST, UML] {
        assert_eq!(
            machine.refused_as(&plan("ext4", &[]), &virtual_time(runner)),
            printed
        );
    }
    let uml = plan("ext4", &["kernel=uml"]);
    assert_eq!(machine.refused_as(&uml, &virtual_time(None)), printed);
}

#[test]
fn a_crash_check_is_sent_to_who_logs_writes() {
    let machine = Lacking::with_kernels(&["dm-log-writes (crash check)"]);
    let crash = plan("ext4", &["crash.enabled=true"]);
    assert_eq!(
        guest(&machine.choose(&crash, None)).machine,
        GuestMachine::Qemu
    );
    for runner in [HOST, UML] {
        let printed = machine.refused(&crash, runner);
        assert!(
            printed.ends_with(
                "dm-log-writes (crash check); run it with --executor qemu, or without the crash check (--set \
                 crash.enabled=false)"
            ),
            "{printed}"
        );
    }
}
