//! Every subject of a report in every format that prints it.

use crate::common::{self, in_format};
use crate::{crash, estimates, latency, members};

use record::Run;
use report::Format;

/// The section of a mail that begins with this line.
fn in_mail(run: &Run, title: &str) -> String {
    let out = in_format(run, Format::Text);
    let parts = out.split("\n\n\n").map(|part| part.trim_matches('\n'));
    let mut found = parts.filter(|part| part.starts_with(title));
    let section = found.next().expect(title).to_owned();
    assert!(found.next().is_none(), "{title} twice");
    section
}

/// The section of this title in Markdown.
fn in_markdown(run: &Run, title: &str) -> String {
    let out = in_format(run, Format::Md);
    let at = out.find(&format!("\n## {title}")).expect(title);
    let section = &out[at + 1..];
    let end = section.find("\n## ").unwrap_or(section.len());
    section[..end].trim_end().to_owned()
}

/// The section of this id on the page, its drawings left out.
fn on_the_page(run: &Run, id: &str) -> String {
    let out = in_format(run, Format::Html);
    assert!(
        out.contains(&format!("href=\"#{id}\"")),
        "{id} is in no list"
    );
    let at = out.find(&format!("<section id=\"{id}\"")).expect(id);
    let section = &out[at..];
    let mut section = &section[..section.find("</section>").expect("an end")];
    let mut text = String::new();
    while let Some((before, rest)) = section.split_once("<svg class=\"plot") {
        text.push_str(before);
        text.push_str("<svg/>");
        section = rest.split_once("</svg>").map_or("", |(_, after)| after);
    }
    text + section
}

fn in_all(run: &Run, id: &str, title: &str) {
    insta::assert_snapshot!(format!("{id}_mail"), in_mail(run, title));
    in_md_and_html(run, id, title);
}

/// What a mail has in a layout of its own.
fn in_md_and_html(run: &Run, id: &str, title: &str) {
    insta::assert_snapshot!(format!("{id}_md"), in_markdown(run, title));
    insta::assert_snapshot!(format!("{id}_html"), on_the_page(run, id));
}

#[test]
fn latencies_of_operations() {
    in_all(&latency::run(), "latency", "Latency of operations");
}

#[test]
fn the_raw_device_and_a_grid_of_2008() {
    let run = common::grids::streaming(5);
    in_all(&run, "device", "The raw device");
    in_all(&run, "grid-1", "Throughput results");
    in_md_and_html(&run, "grid-1-notes", "Footnotes of");
}

#[test]
fn the_sets_of_2011() {
    let run = common::scan::fsck_io(5);
    in_all(&run, "scan", "How a checker reads");
    in_all(&run, "laws", "The laws of 2011");
    in_all(&run, "scan-lines", "The passes in fsck.ocfs2's layout");
}

#[test]
fn growth_and_memory_of_2012() {
    let run = common::growth::run(5);
    in_all(&run, "growth-1", "Time of a check");
    in_all(&run, "memory", "Was it memory?");
}

#[test]
fn crash_checks() {
    in_all(&crash::run().0, "crash", "Crash check");
}

#[test]
fn checks_on_modelled_devices() {
    in_all(&estimates::run(), "estimates", "Modelled: how long");
}

#[test]
fn members_of_an_array() {
    in_all(&members::run(), "members", "Members");
}

#[test]
fn the_list_causes_layouts_and_traces_of_2010() {
    let run = common::io::allocation(5);
    in_all(&run, "list", "The runs as the message lists them");
    in_all(&run, "why", "Why\n");
    in_all(&run, "layout", "Layout");
    in_all(&run, "traces", "Block trace");
    in_all(&run, "tracing", "Cost of tracing");
}

#[test]
fn tables_and_what_they_rest_on() {
    let run = common::quick(3, None);
    in_md_and_html(&run, "table-1", "Iozone, 1 Thread");
    in_md_and_html(&run, "evidence", "Evidence");
    in_md_and_html(&run, "published", "The published numbers");
    for id in ["filesystems", "context"] {
        insta::assert_snapshot!(format!("{id}_html"), on_the_page(&run, id));
    }
    let order = on_the_page(&run, "order");
    assert_eq!(order.matches("<tr").count(), 1 + run.trials.len());
    assert!(order.contains("GNU time") || !order.contains("maxresident"));
}
