//! The study files embedded in the binary, which also serve as includes.

/// A study file that comes with fslab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Builtin {
    /// The study's name: `journal`.
    pub(crate) name: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
}

/// Named variants and defaults that studies include.
const DEFAULTS: Builtin = Builtin {
    name: "defaults",
    text: include_str!("../../../studies/defaults.toml"),
};

const STUDIES: [Builtin; 7] = [
    Builtin {
        name: "streaming",
        text: include_str!("../../../studies/streaming.toml"),
    },
    Builtin {
        name: "journal",
        text: include_str!("../../../studies/journal.toml"),
    },
    Builtin {
        name: "allocation",
        text: include_str!("../../../studies/allocation.toml"),
    },
    Builtin {
        name: "fsck-io",
        text: include_str!("../../../studies/fsck-io.toml"),
    },
    Builtin {
        name: "fsck-scale",
        text: include_str!("../../../studies/fsck-scale.toml"),
    },
    Builtin {
        name: "clients",
        text: include_str!("../../../studies/clients.toml"),
    },
    Builtin {
        name: "metadata",
        text: include_str!("../../../studies/metadata.toml"),
    },
];

/// The built-in studies.
pub(crate) fn studies() -> &'static [Builtin] {
    &STUDIES
}

/// A built-in file by its name without `.toml`, `defaults` among them.
pub(crate) fn file(name: &str) -> Option<Builtin> {
    let mut all = STUDIES.iter().chain([&DEFAULTS]);
    all.find(|builtin| builtin.name == name).copied()
}
