//! The links of the documents, without a network: files and headings exist, and the table of contents is whole.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::common::documents::{Document, all, anchors, links, repository};

/// A path without `.` and `..`; none where it leaves the source tree.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir if !plain.pop() => return None,
            _ => {}
        }
    }
    Some(plain)
}

/// Why a link of a document leads nowhere; none where it does not.
fn broken(from: &Document, address: &str, documents: &[Document]) -> Option<String> {
    if let Some(rest) = address.strip_prefix("https://") {
        let host = rest.split('/').next().unwrap_or("");
        return (!host.contains('.') || address.contains(' ')).then(|| "is no address".to_owned());
    }
    if address.contains("://") {
        return Some("is not https".to_owned());
    }
    let (path, heading) = address.split_once('#').unwrap_or((address, ""));
    let target = if path.is_empty() {
        PathBuf::from(&from.name)
    } else {
        let folder = Path::new(&from.name).parent().unwrap();
        let Some(target) = plain(&folder.join(path)) else {
            return Some("leaves the source tree".to_owned());
        };
        target
    };
    if !repository().join(&target).exists() {
        return Some(format!("{} does not exist", target.display()));
    }
    if heading.is_empty() {
        return None;
    }
    let name = target.display().to_string();
    let Some(target) = documents.iter().find(|document| document.name == name) else {
        return Some(format!("{name} is no document with headings"));
    };
    let known = anchors(target).iter().any(|anchor| anchor == heading);
    (!known).then(|| format!("{name} has no heading {heading:?}"))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let documents = all();
    let (mut wrong, mut counts) = (Vec::new(), [0; 2]);
    for document in &documents {
        for (number, line) in document.parts().1 {
            for address in links(line) {
                counts[usize::from(address.contains("://"))] += 1;
                if let Some(why) = broken(document, address, &documents) {
                    wrong.push(format!("{}:{number}: {address}: {why}", document.name));
                }
            }
        }
    }
    let [inside, outside] = counts;
    println!("{inside} links to files, {outside} to the network, which are not followed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(inside > 50, "{inside} links");
}

#[test]
fn links_are_found_and_judged() {
    let text = "# One *two* `three-four`: 5%\n\ntext\n\n```sh\n[no](link)\n```\n## Same\n## Same\n";
    let one = Document {
        name: "docs/guide.md".into(),
        text: text.into(),
    };
    assert_eq!(
        anchors(&one),
        ["one-two-three-four-5", "same", "same-1"].map(str::to_owned)
    );
    assert_eq!(
        links("`[a](b)` [c](d#e) ![f](g) [h] (i)"),
        ["d#e", "g"].to_vec()
    );
    let documents = [one];
    let why = |address: &str| broken(&documents[0], address, &documents);
    assert_eq!(why("#same-1"), None);
    assert_eq!(why("../README.md"), None);
    assert_eq!(why("https://example.org/x"), None);
    for address in [
        "#same-2",
        "nothing.md",
        "../../outside",
        "http://example.org",
        "../README.md#x",
    ] {
        assert!(why(address).is_some(), "{address}");
    }
}

#[test]
fn the_table_of_contents_names_every_document_once() {
    let documents = all();
    let contents = documents
        .iter()
        .find(|document| document.name == "docs/SUMMARY.md")
        .unwrap();
    let lines = contents.parts().1;
    let listed: Vec<String> = lines
        .iter()
        .flat_map(|(_, line)| links(line))
        .map(|address| plain(&Path::new("docs").join(address)).unwrap())
        .map(|path| path.display().to_string())
        .collect();
    let once: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(once.len(), listed.len(), "a document is listed twice");
    let names = documents.iter().map(|document| document.name.as_str());
    let all: BTreeSet<&str> = names.filter(|name| *name != "docs/SUMMARY.md").collect();
    assert_eq!(once, all);
}
