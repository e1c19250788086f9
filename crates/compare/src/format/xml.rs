//! XML, as far as a report needs it: elements, attributes and text, escaped.

/// An element.
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    pub(super) fn new(name: &'static str) -> Element {
        Element {
            name,
            attributes: Vec::new(),
            children: Vec::new(),
            text: String::new(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Element {
        self.attributes.push((name, escape(value)));
        self
    }

    pub(super) fn text(mut self, text: &str) -> Element {
        self.text = escape(text);
        self
    }

    pub(super) fn child(mut self, child: Element) -> Element {
        self.children.push(child);
        self
    }

    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        self.put(&mut out, 0);
        out
    }

    fn put(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        out.push_str(&format!("{indent}<{}", self.name));
        for (name, value) in &self.attributes {
            out.push_str(&format!(" {name}=\"{value}\""));
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push_str(&format!(">{}", self.text));
        if !self.children.is_empty() {
            out.push('\n');
            for child in &self.children {
                child.put(out, depth + 1);
            }
            out.push_str(&indent);
        }
        out.push_str(&format!("</{}>\n", self.name));
    }
}

/// Text of an element or an attribute. XML 1.0 has no way to write most control characters, so they are shown as
/// escapes first.
fn escape(text: &str) -> String {
    let plain = words::printable_lines(text);
    let allowed = plain.chars().map(|c| match c {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => c,
    });
    words::escape_xml(&allowed.collect::<String>())
}
