//! Sound images that cases damage, made once each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use forge::Image as _;
use forge::population::Profile;
use testkit::xfs_profile::every_form;

/// A folder in memory where there is one.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
    }
}

/// Makes the base of a name in a folder.
type Make = fn(&str, &Path) -> PathBuf;

/// Bases of one format.
pub(crate) struct Bases {
    make: Make,
    folder: tempfile::TempDir,
    made: BTreeMap<String, PathBuf>,
}

impl Bases {
    pub(crate) fn new(make: Make) -> Bases {
        Bases {
            make,
            folder: scratch(),
            made: BTreeMap::new(),
        }
    }

    pub(crate) fn get(&mut self, name: &str) -> &Path {
        if !self.made.contains_key(name) {
            let image = (self.make)(name, self.folder.path());
            self.made.insert(name.to_owned(), image);
        }
        &self.made[name]
    }

    /// Whether this kernel mounts the sound filesystem.
    pub(crate) fn mounts(&mut self, name: &str) -> bool {
        let at = self.folder.path().join("mounted");
        std::fs::create_dir_all(&at).unwrap();
        let image = self.get(name);
        let mut mount = Command::new("mount");
        let mount = mount.args(["-o", "ro,loop"]).arg(image).arg(&at);
        let mounted = mount.output().unwrap().status.success();
        if mounted {
            assert!(Command::new("umount").arg(&at).status().unwrap().success());
        }
        mounted
    }
}

pub(crate) fn ext4(name: &str, folder: &Path) -> PathBuf {
    fixtures::bases::find(name).unwrap().make(folder).unwrap()
}

pub(crate) fn xfs(name: &str, folder: &Path) -> PathBuf {
    let mut options = forge::xfs::Options::new(400 << 20);
    options.seed = 11;
    match name {
        "Plain" => {}
        "Mapped" => options.features = vec!["rmapbt".into()],
        "Old" => {
            options.features = vec!["nocrc".into()];
            options.inode_size = Some(256);
        }
        other => panic!("{other}"),
    }
    let profile = Profile::parse("profile", &every_form(0.9, "1-2")).unwrap();
    let image = folder.join(name);
    forge::xfs::Xfs::new(options, profile)
        .and_then(|made| made.write(&image, &forge::Silent))
        .unwrap();
    image
}

/// Whether such a base is made here.
pub(crate) fn ocfs2_has(base: forge::damage::ocfs2::Base) -> bool {
    use forge::damage::ocfs2::Base;
    matches!(base, Base::Rich | Base::Checksums)
}

pub(crate) fn ocfs2(name: &str, folder: &Path) -> PathBuf {
    let mut options = forge::ocfs2::Options::new(160 << 20);
    options.seed = 11;
    options.block_size = Some(4096);
    options.cluster_size = Some(4096);
    options.local = true;
    if name == "Checksums" {
        options.features = vec!["metaecc".into()];
    }
    let profile = r#"
        files = 700
        per_directory = [["8-20", 4], ["190-260", 1]]
        file_size = [["0", 1], ["1-3k", 6], ["13k-90k", 3], ["3M-4M", 0.2]]
        [directories]
        fan_out = 5
        [names]
        length = "9-20"
        [kinds]
        symlinks = 0.05
        target_length = [["9-99", 2], ["3950-4000", 1]]
        [attributes]
        inode = 0.1
        block = 0.1
        [ageing]
        fragmented = 0.3
        pieces = "1-3"
    "#;
    let image = folder.join(name);
    forge::ocfs2::Ocfs2::new(options, Profile::parse("profile", profile).unwrap())
        .and_then(|made| made.write(&image, &forge::Silent))
        .unwrap();
    image
}
