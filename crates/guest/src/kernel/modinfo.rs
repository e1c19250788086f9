//! The `.modinfo` section of a module: its strings.

use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{Endianness, elf};

/// The parts of `.modinfo` that loading needs (modinfo(8), include/linux/module.h).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModInfo {
    /// The kernel's release, the first word of vermagic.
    pub(crate) release: Option<String>,
    /// Modules whose symbols it uses: modpost writes them, so no symbol table has to be resolved.
    pub(crate) depends: Vec<String>,
    /// Modules or aliases to load before it, if there are any.
    pub(crate) before: Vec<String>,
    /// Modules or aliases to load after it.
    pub(crate) after: Vec<String>,
    /// Other names, as "crc32c" of crc32c_generic; patterns for devices are left out.
    pub(crate) aliases: Vec<String>,
}

/// A module's name as the kernel has it: of its file, with underscores.
pub(crate) fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// Reads a decompressed module. The error is why it is not a module.
pub(crate) fn read(module: &[u8]) -> Result<ModInfo, String> {
    Ok(parse(section(module).map_err(|error| {
        format!("its ELF sections cannot be read: {error}")
    })?))
}

fn section(module: &[u8]) -> Result<&[u8], String> {
    let header = elf::FileHeader64::<Endianness>::parse(module).map_err(|e| e.to_string())?;
    let endian = header.endian().map_err(|e| e.to_string())?;
    let sections = header.sections(endian, module).map_err(|e| e.to_string())?;
    let (_, section) = sections
        .section_by_name(endian, b".modinfo")
        .ok_or("there is no .modinfo")?;
    section.data(endian, module).map_err(|e| e.to_string())
}

fn parse(section: &[u8]) -> ModInfo {
    let mut info = ModInfo::default();
    for text in section.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(text);
        let Some((key, value)) = text.split_once('=') else {
            continue;
        };
        match key {
            "vermagic" => info.release = value.split(' ').next().map(str::to_owned),
            "depends" => info
                .depends
                .extend(value.split(',').filter(|d| !d.is_empty()).map(normal)),
            "softdep" => soft(value, &mut info),
            "alias" if !value.contains(['*', '?', '[', ':']) => info.aliases.push(normal(value)),
            _ => {}
        }
    }
    info
}

/// "pre: crc32c lz4 post: some_user" (modprobe.d(5), softdep).
fn soft(value: &str, info: &mut ModInfo) {
    let mut list = None;
    for word in value.split_whitespace() {
        match word {
            "pre:" => list = Some(&mut info.before),
            "post:" => list = Some(&mut info.after),
            word => {
                if let Some(list) = &mut list {
                    list.push(normal(word));
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A module with this `.modinfo` and nothing else: an ELF64 header, two sections, three headers.
    pub(crate) fn module(strings: &[&str]) -> Vec<u8> {
        let mut info = Vec::new();
        for text in strings {
            info.extend(text.bytes());
            info.push(0);
        }
        let names = b"\0.modinfo\0.shstrtab\0";
        let names_at = 64 + info.len();
        let headers_at = (names_at + names.len()).next_multiple_of(8);
        let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        elf.extend([1, 0, 62, 0, 1, 0, 0, 0]);
        elf.extend([0; 16]);
        elf.extend((headers_at as u64).to_le_bytes());
        elf.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
        elf.extend(&info);
        elf.extend(names);
        elf.resize(headers_at + 64, 0);
        for (name, kind, at, len) in [
            (1_u32, 1_u32, 64_usize, info.len()),
            (10, 3, names_at, names.len()),
        ] {
            let mut header = [0_u8; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(len as u64).to_le_bytes());
            elf.extend(header);
        }
        elf
    }

    #[test]
    fn dependencies_soft_ones_and_names_are_read() {
        let info = read(&module(&[
            "license=GPL",
            "alias=fs-ext4",
            "alias=pci:v00001AF4d*",
            "softdep=pre: crc32c crypto-x post: later",
            "depends=mbcache,jbd2,crc-16",
            "vermagic=6.1.0-56-amd64 SMP preempt mod_unload modversions ",
        ]))
        .unwrap();
        assert_eq!(info.release.as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(info.depends, ["mbcache", "jbd2", "crc_16"]);
        assert_eq!(info.before, ["crc32c", "crypto_x"]);
        assert_eq!(info.after, ["later"]);
        assert_eq!(info.aliases, ["fs_ext4"]);
    }

    #[test]
    fn what_is_no_module_says_so() {
        assert!(read(b"\x7fELF").unwrap_err().contains("cannot be read"));
        let mut other = module(&[]);
        let at = memchr::memmem::find(&other, b".modinfo").unwrap();
        other[at] = b'x';
        assert!(read(&other).unwrap_err().contains("no .modinfo"));
    }

    proptest! {
        #[test]
        fn damage_is_no_panic(at in 0_usize..300, byte: u8) {
            let mut bytes = module(&["depends=a,b", "softdep=pre: c"]);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = read(&bytes);
        }
    }
}
