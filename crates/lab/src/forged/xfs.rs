//! The words for mkfs.xfs and the mount options of a study as options of a forge.

use forge::xfs::{Options, Placement, Stripe};

use super::{SEED, Word, list, number, unknown};

/// The options of a volume of `size` bytes. A mount option matters where the kernel's choice of places follows from it.
pub(super) fn options(size: u64, words: &[Word], mount: &[String]) -> Result<Options, String> {
    let mut options = Options::new(size);
    options.seed = SEED;
    options.sync = true;
    let mut stripe = (None, None);
    for (option, value) in words {
        for part in list(value) {
            let (key, given) = part.split_once('=').unwrap_or((&part, ""));
            let word = (format!("{option} {key}="), given.to_owned());
            match (option.as_str(), key) {
                ("-b", "size") => options.block_size = number(&word)?,
                ("-s", "size") => options.sector_size = number(&word)?,
                ("-i", "size") => options.inode_size = number(&word)?,
                ("-i", "maxpct") => options.inode_percent = number(&word)?,
                ("-n", "size") => options.directory_block_size = number(&word)?,
                ("-l", "size") => options.log_size = number(&word)?,
                ("-d", "agcount") => options.groups = number(&word)?,
                ("-d", "su") => stripe.0 = number(&word)?,
                ("-d", "sw") => stripe.1 = number(&word)?,
                ("-L", _) => options.label.clone_from(value),
                ("-m" | "-i" | "-n", _) if given == "1" => options.features.push(key.to_owned()),
                ("-m" | "-i" | "-n", _) if given == "0" => {
                    options.features.push(format!("no{key}"));
                }
                _ => return Err(unknown(&format!("{option} {part}"))),
            }
        }
    }
    options.stripe = match stripe {
        (Some(unit), Some(width)) => Some(Stripe { unit, width }),
        (None, None) => None,
        _ => return Err("mkfs -d: su and sw belong together; give both or neither".to_owned()),
    };
    for option in mount.iter().flat_map(|options| list(options)) {
        match option.as_str() {
            "inode32" => options.placement = Placement::Inode32,
            "inode64" => options.placement = Placement::Inode64,
            _ => {}
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[(&str, &str)], mount: &[&str]) -> Result<Options, String> {
        let owned = |text: &&str| (*text).to_owned();
        let words: Vec<Word> = words.iter().map(|(o, v)| (owned(o), owned(v))).collect();
        let mount: Vec<String> = mount.iter().map(owned).collect();
        options(1 << 30, &words, &mount)
    }

    #[test]
    fn the_words_of_2012_are_its_options() {
        let words = [
            ("-m", "crc=0,finobt=0"),
            ("-i", "size=256"),
            ("-n", "ftype=0"),
        ];
        let options = of(&words, &["noatime,inode32"]).unwrap();
        assert_eq!(options.features, ["nocrc", "nofinobt", "noftype"]);
        assert_eq!(options.inode_size, Some(256));
        assert_eq!(options.placement, Placement::Inode32);
        let striped = of(&[("-d", "su=64k,sw=8,agcount=4")], &[]).unwrap();
        let (unit, width) = (65_536, 8);
        assert_eq!(striped.stripe, Some(Stripe { unit, width }));
        assert_eq!(
            (striped.groups, striped.placement),
            (Some(4), Placement::Inode64)
        );
    }

    #[test]
    fn other_words_are_refused_by_name() {
        for (words, part) in [
            ([("-r", "rtdev=x")], "-r rtdev=x"),
            ([("-i", "size=many")], "-i size= many"),
            ([("-m", "crc=2")], "-m crc=2"),
            ([("-d", "su=64k")], "su and sw"),
        ] {
            let line = of(&words, &[]).unwrap_err();
            assert!(line.contains(part), "{line}");
        }
    }
}
