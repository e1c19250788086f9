//! Runs, sites made of them, and a check of their links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fixtures::simulated::{Normal, Simulated};
use site::{Build, Built, Error, Origin, build};

/// The version that made the site.
pub(crate) const TOOL: &str = "fslab 0.1.0 (0123456789ab)";

/// What must never be more than text.
pub(crate) const HOSTILE: &str = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&\u{1b}[2J{{ 7*7 }}";

/// A run of one cell, as number `number`, whose rates vary by 1 % about a level.
pub(crate) fn run(number: u32, level: f64) -> Simulated {
    let mut normal = Normal::new(u64::from(number));
    let rates = vec![
        normal.rates(level, 5, 0.005, 0.01),
        normal.rates(2.0 * level, 5, 0.005, 0.01),
    ];
    Simulated::new(number, rates)
}

/// A folder with every kind of run: twenty-four of two commits with a step between them, an interrupted one, a damaged one, one
/// of the journal study, and a copy.
pub(crate) fn runs() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    for number in 1..=24 {
        let late = number > 12;
        let mut simulated = run(number, if late { 800.0 } else { 1000.0 });
        if late {
            simulated.tool = "fslab 0.1.0 (fedcba987654)".into();
            simulated.kernel = "6.13.0".into();
        }
        simulated.tags.insert("branch".into(), "main".into());
        simulated
            .write(&temp.path().join(format!("run-{number}")))
            .unwrap();
    }
    let copy = temp.path().join("copies/run-3");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(
        temp.path().join("run-3/events.jsonl"),
        copy.join("events.jsonl"),
    )
    .unwrap();
    write_log(
        &temp.path().join("journal"),
        &fixtures::example::entries(),
        None,
    );
    let stopped = run(40, 1000.0).entries();
    write_log(&temp.path().join("stopped"), &stopped[..8], None);
    write_log(
        &temp.path().join("damaged"),
        &stopped[..4],
        Some("{}\n{}\n"),
    );
    temp
}

/// Writes the log of a run, with more text at its end.
pub(crate) fn write_log(dir: &Path, entries: &[record::Entry], tail: Option<&str>) {
    fs::create_dir_all(dir).unwrap();
    let lines = entries
        .iter()
        .map(|entry| serde_json::to_string(entry).unwrap() + "\n");
    let text = lines.collect::<String>() + tail.unwrap_or_default();
    fs::write(dir.join("events.jsonl"), text).unwrap();
}

/// Builds the site of a folder of runs.
pub(crate) fn make(runs: &Path, dir: &Path) -> Result<Built, Error> {
    build(&Build {
        dir,
        origin: &Origin::Folder(runs.to_owned()),
        comparisons: &[],
        tool: TOOL,
        progress: &progress::Silent,
    })
}

/// All files of a folder with their content, by path.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(dir.join(&below)).unwrap() {
            let entry = entry.unwrap();
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                let text = fs::read(entry.path()).unwrap();
                all.insert(path.to_str().unwrap().to_owned(), text);
            }
        }
    }
    all
}

/// Whether a path is that of a page.
pub(crate) fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "html")
}

/// The pages of a site.
pub(crate) fn pages(dir: &Path) -> BTreeMap<String, String> {
    let html = files(dir).into_iter().filter(|(path, _)| is_page(path));
    html.map(|(path, text)| (path, String::from_utf8(text).unwrap()))
        .collect()
}

/// An attribute's value without character references; minijinja writes a slash as one.
pub(crate) fn plain(attribute: &str) -> String {
    let plain = attribute
        .replace("&#x2f;", "/")
        .replace("&#x27;", "'")
        .replace("&#39;", "'");
    plain
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// Values of `href` and `src` attributes.
pub(crate) fn links(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for attribute in [" href=\"", " src=\""] {
        for rest in page.split(attribute).skip(1) {
            found.insert(plain(rest.split('"').next().unwrap()));
        }
    }
    found.remove("data:,");
    found
}

/// The path that a link on a page leads to; panics where it leaves the site.
pub(crate) fn resolved(page: &str, link: &str) -> String {
    assert!(
        !link.contains(':') && !link.starts_with('/'),
        "{page}: {link}"
    );
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    let (path, _) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return page.to_owned();
    }
    for part in path.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{page}: {link} leaves the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Asserts that every link of every page leads to a file of the site, and every page can be reached from the list of runs.
pub(crate) fn assert_linked(dir: &Path) {
    let all = files(dir);
    let pages = pages(dir);
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    let mut next = vec!["index.html".to_owned()];
    while let Some(path) = next.pop() {
        for link in links(&pages[&path]) {
            let to = resolved(&path, &link);
            assert!(all.contains_key(&to), "{path}: {link} leads nowhere");
            if let Some((_, id)) = link.split_once('#') {
                let id = format!(" id=\"{id}\"");
                assert!(pages[&to].contains(&id), "{path}: {link}: no such place");
            }
            if reached.insert(to.clone()) && is_page(&to) {
                next.push(to);
            }
        }
    }
    // Scripts of time series are there also where no run has any.
    let visible = all
        .keys()
        .filter(|path| !path.starts_with('.') && !path.starts_with("assets/"));
    let lost: Vec<_> = visible.filter(|path| !reached.contains(*path)).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}

/// The browser: the first of these that PATH has, as the scripts find it.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut files = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        testkit::skip!("needs chromium");
    }
    found
}
