//! A kernel's configuration: `CONFIG_NAME=value` lines.

use std::collections::HashMap;

/// Longest configuration, in bytes: Debian's has 270 KB.
pub(super) const LARGEST: u64 = 16 << 20;

/// What is set in a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config(HashMap<String, Setting>);

/// A symbol's value, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// `=y`
    Builtin,
    /// `=m`
    Module,
}

impl Config {
    /// Symbols that are `y` or `m`; everything else counts as not set.
    pub(crate) fn parse(text: &str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| {
                    let (name, value) = line.trim().strip_prefix("CONFIG_")?.split_once('=')?;
                    let setting = match value {
                        "y" => Setting::Builtin,
                        "m" => Setting::Module,
                        _ => return None,
                    };
                    Some((name.to_owned(), setting))
                })
                .collect(),
        )
    }

    /// The setting of a symbol, named without its prefix.
    pub(crate) fn get(&self, name: &str) -> Option<Setting> {
        self.0.get(name).copied()
    }

    /// Whether nothing at all is set: then it is no configuration.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y_and_m_are_settings_and_the_rest_is_not() {
        let config = Config::parse(
            "# Automatically generated\nCONFIG_EXT4_FS=m\nCONFIG_BLK_DEV_IO_TRACE=y\n\
             # CONFIG_DM_DUST is not set\nCONFIG_HZ=250\nCONFIG_CC=\"gcc\"\n",
        );
        assert_eq!(config.get("EXT4_FS"), Some(Setting::Module));
        assert_eq!(config.get("BLK_DEV_IO_TRACE"), Some(Setting::Builtin));
        assert_eq!(config.get("DM_DUST"), None);
        assert_eq!(config.get("HZ"), None);
        assert!(Config::parse("<html>").is_empty());
    }
}
