//! Which kernels a package archive has, by its `Packages` files (repository format, "Packages" indices).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::kernel_spec::{KernelSpec, base, numbers};

/// One package, as far as kernels need it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    bytes: u64,
    depends: String,
    built_using: String,
}

/// A kernel that can be fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// What to ask for to get the newest of its kind: "6.1", "6.12-cloud", "uml".
    pub series: String,
    /// The kernel's release, as `uname -r` prints it; of UML the version.
    pub release: String,
    /// Upstream's version: 6.1.192.
    pub version: String,
    /// The package's version: 6.1.192-2.
    pub package_version: String,
    /// The suite that has it.
    pub suite: String,
    /// Bytes to download.
    pub bytes: u64,
    /// The packages that make it up.
    #[serde(skip)]
    pub packages: Vec<String>,
}

impl Offer {
    /// Whether it is what was asked for.
    pub fn fits(&self, wanted: &KernelSpec) -> bool {
        match wanted {
            KernelSpec::Uml => self.series == "uml",
            image @ KernelSpec::Image { .. } => {
                self.series != "uml" && image.fits(&self.release, &self.version)
            }
        }
    }
}

/// Newer is greater: by the numbers of the version, then of the release.
pub(crate) fn by_age(a: &Offer, b: &Offer) -> Ordering {
    let key = |offer: &Offer| (numbers(&offer.package_version), numbers(&offer.release));
    key(a).cmp(&key(b))
}

/// The kernels in one `Packages` file of a suite.
pub(crate) fn offers(packages: &str, suite: &str) -> Vec<Offer> {
    let all: BTreeMap<String, Package> = packages
        .split("\n\n")
        .filter_map(stanza)
        .map(|package| (package.name.clone(), package))
        .collect();
    let mut offers: Vec<Offer> = all
        .values()
        .filter_map(|package| match package.name.as_str() {
            "user-mode-linux" => Some(uml(package, suite)),
            _ => image(package, &all, suite),
        })
        .collect();
    offers.sort_by(by_age);
    offers
}

/// A stanza, if it is one of the packages that make up kernels.
fn stanza(text: &str) -> Option<Package> {
    let name = field(text, "Package")?;
    let kernel = [
        "linux-image-",
        "linux-binary-",
        "linux-modules-",
        "linux-base-",
    ]
    .iter()
    .any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()))
    });
    if !kernel && name != "user-mode-linux" {
        return None;
    }
    Some(Package {
        name: name.to_owned(),
        version: field(text, "Version")?.to_owned(),
        bytes: field(text, "Size")?.parse().ok()?,
        depends: field(text, "Depends").unwrap_or_default().to_owned(),
        built_using: field(text, "Built-Using").unwrap_or_default().to_owned(),
    })
}

/// A package that another one depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Its name.
    pub(crate) name: String,
    /// Its version in the list.
    version: String,
}

impl Dependency {
    /// As apt takes it: `libc6=2.43-7`.
    pub(crate) fn exact(&self) -> String {
        format!("{}={}", self.name, self.version)
    }
}

/// The packages that a package depends on, of alternatives the first that a list has. Versions are not compared:
/// the lists are of one suite, which is consistent in itself.
pub(crate) fn dependencies(lists: &[&str], name: &str) -> Vec<Dependency> {
    let Some(stanza) = find_stanza(lists, name) else {
        return Vec::new();
    };
    let all = ["Pre-Depends", "Depends"].map(|kind| field(stanza, kind).unwrap_or_default());
    let groups = all.iter().flat_map(|all| all.split(','));
    let known = |name: &str| {
        let version = field(find_stanza(lists, name)?, "Version")?.to_owned();
        let name = name.to_owned();
        Some(Dependency { name, version })
    };
    let first = |group: &str| {
        let mut names = group.split('|').filter_map(|one| {
            let name = one.split_whitespace().next()?;
            // "libc6:any"
            name.split(':').next()
        });
        names.find_map(known)
    };
    groups.filter_map(first).collect()
}

fn find_stanza<'a>(lists: &[&'a str], name: &str) -> Option<&'a str> {
    let line = format!("Package: {name}\n");
    lists.iter().find_map(|list| {
        let at = memchr::memmem::find_iter(list.as_bytes(), line.as_bytes())
            .find(|at| *at == 0 || list.as_bytes()[at - 1] == b'\n')?;
        list[at..].split("\n\n").next()
    })
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

fn image(package: &Package, all: &BTreeMap<String, Package>, suite: &str) -> Option<Offer> {
    let release = package.name.strip_prefix("linux-image-")?;
    let base = base(release);
    // Leaves out -unsigned and -dbg, real-time and other flavours, and metapackages, whose release
    // (6.12-amd64) has two numbers only.
    // What is no plain name becomes no folder's.
    let plain = |c: char| c.is_ascii_alphanumeric() || ".+-~".contains(c);
    if !release.ends_with("amd64")
        || !release.chars().all(plain)
        || base.contains("-rt")
        || numbers(base).len() < 3
    {
        return None;
    }
    // From 6.19 on the image is a package of packages; one whose parts have left the archive is no offer.
    let mut packages = vec![package.name.clone()];
    let mut bytes = package.bytes;
    for part in ["linux-base-", "linux-binary-", "linux-modules-"] {
        let name = format!("{part}{release}");
        let needed = package
            .depends
            .split(',')
            .any(|d| d.split_whitespace().next() == Some(&name));
        if needed {
            bytes += all.get(&name)?.bytes;
            packages.push(name);
        }
    }
    if packages.len() > 1 {
        bytes -= package.bytes;
        packages.remove(0);
    }
    let version = upstream(&package.version);
    let cloud = if release.contains("-cloud") {
        "-cloud"
    } else {
        ""
    };
    let series: Vec<String> = numbers(&version)
        .iter()
        .take(2)
        .map(u32::to_string)
        .collect();
    Some(Offer {
        series: format!("{}{cloud}", series.join(".")),
        release: release.to_owned(),
        version,
        package_version: package.version.clone(),
        suite: suite.to_owned(),
        bytes,
        packages,
    })
}

fn uml(package: &Package, suite: &str) -> Offer {
    // "linux (= 6.1.176-1)": the package's own version is 6.1um4+b13.
    let version = package
        .built_using
        .split("linux (= ")
        .nth(1)
        .and_then(|rest| rest.split(')').next())
        .map_or_else(|| package.version.clone(), upstream);
    Offer {
        series: "uml".to_owned(),
        release: version.clone(),
        version,
        package_version: package.version.clone(),
        suite: suite.to_owned(),
        bytes: package.bytes,
        packages: vec![package.name.clone()],
    }
}

/// A package's version without epoch, revision and what Debian added: 6.12.117 of 6.12.117-1~deb12u1.
fn upstream(version: &str) -> String {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let end = version
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(version.len());
    version[..end].to_owned()
}

/// The newest offer that fits, and else the series there are, for the message.
pub(crate) fn choose<'a>(offers: &'a [Offer], wanted: &KernelSpec) -> Result<&'a Offer, String> {
    let best = offers
        .iter()
        .filter(|offer| offer.fits(wanted))
        .max_by(|a, b| by_age(a, b));
    best.ok_or_else(|| {
        let mut newest: Vec<&Offer> = newest(offers);
        newest.reverse();
        let names: Vec<&str> = newest.iter().map(|offer| offer.series.as_str()).collect();
        if names.is_empty() {
            "none at all".to_owned()
        } else {
            names.join(", ")
        }
    })
}

/// The newest of each series, oldest series first.
pub fn newest(offers: &[Offer]) -> Vec<&Offer> {
    let mut by_series: BTreeMap<&str, &Offer> = BTreeMap::new();
    for offer in offers {
        let known = by_series.entry(&offer.series).or_insert(offer);
        if by_age(offer, known).is_gt() {
            *known = offer;
        }
    }
    let mut newest: Vec<&Offer> = by_series.into_values().collect();
    newest.sort_by(|a, b| by_age(a, b));
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGES: &str = "\
Package: bash
Version: 5.2-1
Size: 1

Package: linux-image-6.1.0-9-amd64
Version: 6.1.27-1
Size: 68000000
Depends: kmod, linux-base (>= 4.3~)

Package: linux-image-6.1.0-56-amd64
Version: 6.1.192-2
Size: 68000001
Depends: kmod

Package: linux-image-6.1.0-56-amd64-unsigned
Version: 6.1.192-2
Size: 68000002

Package: linux-image-6.1.0-56-rt-amd64
Version: 6.1.192-2
Size: 68000003

Package: linux-image-6.12-amd64
Version: 6.12.117-1~deb12u1
Size: 1500

Package: linux-image-6.12.117+deb12-cloud-amd64
Version: 6.12.117-1~deb12u1
Size: 34000000

Package: linux-image-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Size: 1900
Depends: dracut | initramfs-tools, linux-base-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1)

Package: linux-base-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Size: 1000

Package: linux-binary-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Size: 14000000

Package: linux-modules-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Size: 107000000

Package: user-mode-linux
Version: 6.1um4+b13
Size: 41000000
Built-Using: linux (= 6.1.176-1)
";

    fn chosen(wanted: &str) -> Result<String, String> {
        let all = offers(PACKAGES, "bookworm");
        choose(&all, &wanted.parse().unwrap()).map(|offer| offer.release.clone())
    }

    #[test]
    fn the_newest_that_fits_is_chosen() {
        assert_eq!(chosen("6.1").unwrap(), "6.1.0-56-amd64");
        assert_eq!(chosen("6.1.0-9").unwrap(), "6.1.0-9-amd64");
        assert_eq!(chosen("6.12-cloud").unwrap(), "6.12.117+deb12-cloud-amd64");
        assert_eq!(chosen("7.x").unwrap(), "7.3.4+deb13-amd64");
        assert_eq!(chosen("uml").unwrap(), "6.1.176");
        assert_eq!(chosen("6.6").unwrap_err(), "7.3, 6.12-cloud, 6.1, uml");
    }

    #[test]
    fn a_kernel_in_parts_is_all_of_them() {
        let all = offers(PACKAGES, "trixie-backports");
        let seven = all.iter().find(|offer| offer.series == "7.3").unwrap();
        assert_eq!(
            seven.packages,
            [
                "linux-base-7.3.4+deb13-amd64",
                "linux-binary-7.3.4+deb13-amd64",
                "linux-modules-7.3.4+deb13-amd64"
            ]
        );
        assert_eq!(seven.bytes, 121_001_000);
        assert_eq!(seven.version, "7.3.4");
    }

    #[test]
    fn dependencies_come_with_their_versions_and_alternatives_by_what_there_is() {
        let list = "Package: uml\nVersion: 7\nDepends: libc6 (>= 2.38), gone | libx:any (>= 1)\n\n\
                    Package: libc6\nVersion: 2.43-7\nPre-Depends: base\n\nPackage: libx\nVersion: 1:2\n\n\
                    Package: base\nVersion: 3\n";
        let exact = |name: &str| -> Vec<String> {
            let found = dependencies(&[list], name);
            found.iter().map(Dependency::exact).collect()
        };
        assert_eq!(exact("uml"), ["libc6=2.43-7", "libx=1:2"]);
        assert_eq!(exact("libc6"), ["base=3"]);
        assert_eq!(exact("base"), [""; 0]);
        assert_eq!(exact("ml"), [""; 0]);
    }

    #[test]
    fn a_path_is_no_release() {
        let list = "Package: linux-image-6.1.0/../../x-amd64\nVersion: 6.1.192-2\nSize: 1\n";
        assert_eq!(offers(list, "x"), []);
    }

    #[test]
    fn an_empty_archive_has_none() {
        assert_eq!(
            choose(&offers("", "x"), &KernelSpec::Uml).unwrap_err(),
            "none at all"
        );
    }
}
