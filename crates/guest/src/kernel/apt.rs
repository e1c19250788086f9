//! A private apt: its own sources, lists and cache, with the machine's way to the network.
//!
//! apt is asked and not HTTP, because apt has what matters here and is hard to get right: the signatures of
//! an archive, its proxies and credentials, its mirrors. The machine's own apt is left alone: nothing
//! of this writes outside one folder, `apt-get update` here does not change what the machine sees, and its
//! hooks do not run. Of the machine's settings those for the network are used
//! (apt.conf(5): proxies, time-outs, certificates), and whether an archive that is no longer updated is
//! accepted (a snapshot's). None of them is a program, and none lets in what is not signed.
//!
//! Signatures are checked against Debian's archive keys, or those that the machine's own sources name
//! for the mirror, or `--keyring`. Not against all of /usr/share/keyrings: vendors put their keys there
//! because each is meant for one source, and none of them may sign a kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::error::{Doing as _, Error};
use super::mirror::Mirrors;

/// Debian's archive keys, as the package debian-archive-keyring has them.
const DEBIAN_KEYS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

/// A private apt in a folder.
pub(crate) struct Apt {
    dir: PathBuf,
    mirrors: Mirrors,
    keyring: PathBuf,
}

impl Apt {
    /// Makes the folder where it is missing, and rewrites the configuration. `keyring`: the keys that
    /// sign the archive, if not those that are known for it.
    pub(crate) fn open(
        dir: &Path,
        mirrors: Mirrors,
        keyring: Option<&Path>,
    ) -> Result<Self, Error> {
        let keyring = keys(&mirrors, keyring)?;
        for path in [dir, &keyring] {
            let plain = |c: char| !c.is_control() && !"\"[]".contains(c);
            if !path.to_str().is_some_and(|path| path.chars().all(plain)) {
                return Err(Error::BadPath {
                    path: path.to_owned(),
                });
            }
        }
        for sub in ["state/lists/partial", "cache/archives/partial"] {
            let sub = dir.join(sub);
            fs::create_dir_all(&sub).doing("make", &sub)?;
        }
        let apt = Self {
            dir: dir.to_owned(),
            mirrors,
            keyring,
        };
        apt.write("status", "")?;
        let more = of_machine() + apt.mirrors.sandbox();
        apt.write("apt.conf", &configuration(dir, &more))?;
        Ok(apt)
    }

    /// Fetches the lists of these suites, and checks their signatures.
    pub(crate) fn update(&self, suites: &[String]) -> Result<(), Error> {
        self.write("kernels.sources", &self.sources(suites))?;
        let what = format!("update of {}", suites.join(", "));
        self.run(&what, &self.dir, &["update"]).map(drop)
    }

    /// The `Packages` files of the suites that were updated last, each with its suite. apt is asked where
    /// they are: how it makes a file's name of a URL is its own affair.
    pub(crate) fn lists(&self) -> Result<Vec<(String, String)>, Error> {
        let format = "$(RELEASE) $(FILENAME)";
        let args = ["indextargets", "--format", format, "Created-By: Packages"];
        let output = self.run("indextargets", &self.dir, &args)?;
        let mut lists = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((suite, path)) = line.split_once(' ') else {
                continue;
            };
            let text = fs::read_to_string(path).doing("read", Path::new(path))?;
            lists.push((suite.to_owned(), text));
        }
        Ok(lists)
    }

    /// Downloads packages, named as NAME=VERSION, into a folder.
    pub(crate) fn download(&self, packages: &[String], to: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut args = vec!["download"];
        args.extend(packages.iter().map(String::as_str));
        self.run(&format!("download {}", packages.join(" ")), to, &args)?;
        let mut files: Vec<PathBuf> = fs::read_dir(to)
            .doing("read", to)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "deb"))
            .collect();
        files.sort();
        Ok(files)
    }

    fn sources(&self, suites: &[String]) -> String {
        let keyring = self.keyring.display();
        let stanza = |suite: &String| {
            let mirror = self.mirrors.of_suite(suite);
            format!(
                "Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\n\
                 Architectures: amd64\nSigned-By: {keyring}\n"
            )
        };
        suites.iter().map(stanza).collect::<Vec<_>>().join("\n")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        fs::write(&path, text).doing("write", &path)
    }

    fn run(&self, what: &str, folder: &Path, args: &[&str]) -> Result<Output, Error> {
        let output = command("apt-get", args)
            .env("APT_CONFIG", self.dir.join("apt.conf"))
            .current_dir(folder)
            .output()
            .map_err(|source| Error::NoApt {
                program: "apt-get",
                source,
            })?;
        if output.status.success() {
            return Ok(output);
        }
        Err(Error::Apt {
            what: what.to_owned(),
            printed: complaint(&output),
        })
    }
}

/// The keys that an archive must be signed with.
fn keys(mirrors: &Mirrors, named: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(named) = named {
        // apt would wait for a FIFO.
        input::open_regular(named).map_err(|why| Error::Input {
            path: named.to_owned(),
            why,
        })?;
        return std::path::absolute(named).doing("find", named);
    }
    let known = mirrors.signed_by.iter().cloned();
    known
        .chain(DEBIAN_KEYS.map(PathBuf::from))
        .find(|keys| keys.is_file())
        .ok_or(Error::NoKeyring)
}

/// The targets of this machine's own sources, a line each; see [`Mirrors::of_targets`].
pub(crate) fn own_targets() -> Result<String, Error> {
    let format = "$(REPO_URI)|$(SIGNED_BY)";
    let args = ["indextargets", "--format", format, "Created-By: Packages"];
    let output = command("apt-get", &args)
        .output()
        .map_err(|source| Error::NoApt {
            program: "apt-get",
            source,
        })?;
    if !output.status.success() {
        return Err(Error::Apt {
            what: "indextargets".into(),
            printed: complaint(&output),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-q"])
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// How this machine reaches the network, and nothing else of its settings.
fn of_machine() -> String {
    let Ok(output) = Command::new("apt-config")
        .arg("dump")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
    else {
        return String::new();
    };
    carried_over(&String::from_utf8_lossy(&output.stdout))
}

/// Settings that are taken over, each also for one host (`Acquire::http::Proxy::mirror.example`).
const CARRIED: [&str; 12] = [
    "acquire::check-date",
    "acquire::check-valid-until",
    "acquire::forceipv4",
    "acquire::forceipv6",
    "acquire::http::proxy",
    "acquire::https::proxy",
    "acquire::ftp::proxy",
    "acquire::https::cainfo",
    "acquire::https::capath",
    "acquire::https::sslcert",
    "acquire::https::sslkey",
    "acquire::https::crlfile",
];

fn carried_over(dump: &str) -> String {
    dump.lines()
        .filter(|line| line.ends_with("\";"))
        .filter(|line| {
            let name = line.split(' ').next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            CARRIED.iter().any(|carried| {
                let rest = name.strip_prefix(carried);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            })
        })
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn configuration(dir: &Path, of_machine: &str) -> String {
    let dir = dir.display();
    format!(
        r#"{of_machine}Dir::Etc::sourcelist "{dir}/kernels.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::main "/dev/null";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{dir}/state";
Dir::State::status "{dir}/status";
Dir::Cache "{dir}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::GzipIndexes "false";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
APT::Architecture "amd64";
APT::Get::AllowUnauthenticated "false";
APT::Get::List-Cleanup "false";
APT::Update::Error-Mode "any";
"#
    )
}

/// The first error that apt printed, in one line.
fn complaint(output: &Output) -> String {
    let text = [&output.stderr[..], &output.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let line = ["E: ", "W: ", "Err:"]
        .iter()
        .find_map(|mark| text.lines().find_map(|line| line.strip_prefix(mark)))
        .or_else(|| text.lines().next_back());
    line.map_or_else(
        || format!("it ended with {}", output.status),
        |line| line.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn proxies_come_along_and_doors_stay_shut() {
        let kept = carried_over(
            "APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/archives/*.deb\";\n\
             Acquire \"\";\n\
             Acquire::http::Proxy \"http://proxy:3128\";\n\
             Acquire::http::Proxy::m.example \"DIRECT\";\n\
             Acquire::https::CAInfo \"/etc/company.pem\";\n\
             Acquire::Check-Valid-Until \"false\";\n\
             Acquire::AllowInsecureRepositories \"1\";\n\
             Acquire::http::Proxy-Auto-Detect \"/usr/bin/find-proxy\";\n\
             Acquire::https::Verify-Peer \"false\";\n\
             Acquire::gpgv::Options:: \"--ignore-time-conflict\";\n\
             Acquire::IndexTargets::deb::Contents-deb \"\";\n\
             Dir::Etc::main \"apt.conf\";\n",
        );
        assert_eq!(
            kept,
            "Acquire::http::Proxy \"http://proxy:3128\";\n\
             Acquire::http::Proxy::m.example \"DIRECT\";\n\
             Acquire::https::CAInfo \"/etc/company.pem\";\n\
             Acquire::Check-Valid-Until \"false\";\n"
        );
        let whole = configuration(Path::new("/c/apt"), &kept);
        assert!(whole.starts_with(&kept));
        assert!(whole.contains("Dir::State::status \"/c/apt/status\";"));
    }

    #[test]
    fn an_archive_has_its_own_keys_and_a_path_is_no_setting() {
        let temp = tempfile::tempdir().unwrap();
        let key = temp.path().join("mine.gpg");
        fs::write(&key, "").unwrap();
        let mirrors = || Mirrors::named("http://m.example/debian").unwrap();
        let apt = Apt::open(temp.path(), mirrors(), Some(&key)).unwrap();
        let sources = apt.sources(&["sid".into()]);
        assert!(
            sources.contains(&format!("Signed-By: {}\n", key.display())),
            "{sources}"
        );
        let of_machine = Mirrors {
            signed_by: Some(key.clone()),
            ..mirrors()
        };
        assert_eq!(keys(&of_machine, None).unwrap(), key);
        let gone = temp.path().join("gone.gpg");
        let printed = Apt::open(temp.path(), mirrors(), Some(&gone))
            .err()
            .unwrap();
        assert!(printed.to_string().contains("gone.gpg"), "{printed}");
        for bad in ["a\"b", "a\nb"] {
            let dir = temp.path().join(bad);
            let printed = Apt::open(&dir, mirrors(), Some(&key)).err().unwrap();
            assert!(printed.is_usage() && !dir.exists(), "{printed}");
        }
    }

    #[test]
    fn of_all_that_apt_says_the_error_is_repeated() {
        let output = |stderr: &str, stdout: &str| Output {
            status: ExitStatus::from_raw(100 << 8),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        let printed = complaint(&output(
            "W: something\nE: Failed to fetch  http://m/x  Temporary failure\nE: more\n",
            "Ign:1 x\n",
        ));
        assert_eq!(printed, "Failed to fetch http://m/x Temporary failure");
        assert!(complaint(&output("", "")).contains("100"));
    }
}
