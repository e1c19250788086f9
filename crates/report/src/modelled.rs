//! The published numbers that a model of that hardware gives without a run: computed from what the measured programs asked for.
//!
//! A run on modelled disks has times of this machine's processor and kernel. What the hardware of the original would have given the
//! programs of the original is another comparison, and it says how far the model may be trusted; so a run on disks that stand for
//! that hardware shows it. The numbers are those of `fslab device check --studies`, kept as data: they take minutes.

use std::sync::LazyLock;

use record::Run;
use serde::{Deserialize, Serialize};

use crate::published::Published;

/// Error up to which a number counts as met, percent.
const NEAR: f64 = 25.0;

static TABLE: LazyLock<Modelled> = LazyLock::new(|| {
    let text = include_str!("../../modelled/data/table.json");
    // A text that does not parse is empty here and caught by a test.
    serde_json::from_str(text).unwrap_or_default()
});

/// What is modelled of one document, and what the host decides.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Modelled {
    /// Numbers with a modelled one beside them.
    pub(crate) rows: Vec<Row>,
    /// Numbers that the host decides.
    pub(crate) host: Vec<Bound>,
}

/// A published number and the modelled one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    /// Name of the document.
    document: String,
    /// What was measured.
    pub(crate) name: String,
    /// On which modelled device.
    pub(crate) device: String,
    /// `s` or `MiB/s`.
    pub(crate) unit: String,
    /// The published number.
    pub(crate) published: f64,
    /// With the figures of the device file.
    pub(crate) modelled: f64,
    /// 5 % are below.
    pub(crate) modelled_low: f64,
    /// 5 % are above.
    pub(crate) modelled_high: f64,
    /// Whether figures of the device were chosen by it.
    pub(crate) fitted: bool,
    /// Why it is missed, where it is.
    pub(crate) cause: String,
}

impl Row {
    /// modelled / published - 1, percent.
    pub(crate) fn error_percent(&self) -> f64 {
        100.0 * (self.modelled / self.published - 1.0)
    }

    /// Whether the model gives the number.
    pub(crate) fn is_near(&self) -> bool {
        self.error_percent().abs() <= NEAR
    }
}

/// What the device could do, beside published numbers that the host decided.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Bound {
    /// Name of the document.
    document: String,
    /// What was measured.
    pub(crate) name: String,
    /// On which modelled device.
    pub(crate) device: String,
    /// Unit of all numbers.
    pub(crate) unit: String,
    /// Least and most of the published numbers.
    pub(crate) published: [f64; 2],
    /// What the device could do.
    #[serde(rename = "modelled_bound")]
    pub(crate) possible: [f64; 2],
    /// In which two ways.
    pub(crate) how: String,
}

/// What is modelled of the document that a run repeats; none where its disks do not stand for that hardware, or are no models.
pub(crate) fn of(run: &Run, published: Option<&Published>) -> Option<Modelled> {
    if run.modelled_disks().is_empty() {
        return None;
    }
    let name = &published?.document.doc;
    let of = Modelled {
        rows: TABLE
            .rows
            .iter()
            .filter(|row| row.document == *name)
            .cloned()
            .collect(),
        host: TABLE
            .host
            .iter()
            .filter(|bound| bound.document == *name)
            .cloned()
            .collect(),
    };
    (!of.rows.is_empty() || !of.host.is_empty()).then_some(of)
}

#[cfg(test)]
mod tests {
    use fixtures::example;
    use serde_json::json;

    use super::*;
    use crate::{Format, Options, published, render};

    /// The example, which repeats a study of 2009, on a modelled disk that stands for the hardware of these.
    fn run(studies: &[&str]) -> Run {
        let mut run = Run::fold(&example::entries()).unwrap();
        for cell in &mut run.plan.cells {
            cell.device.stack = Some(study::Stack {
                name: "model:disk-2009".into(),
                about: String::new(),
                layers: study::Layers::Model(study::Model {
                    device: "disk-2009".into(),
                    capacity: study::Bytes(1 << 38),
                    studies: studies.iter().map(|name| (*name).to_owned()).collect(),
                    figures: None,
                }),
            });
        }
        let items = json!({"items": {
            "run.timing": {"value": "modelled", "source": "the lab"},
        }});
        run.contexts.insert("start".into(), items);
        run
    }

    fn report(run: &Run, format: Format) -> String {
        let options = Options {
            format,
            ..Options::default()
        };
        render(run, None, &options).unwrap()
    }

    const TITLE: &str = "Published and modelled";

    #[test]
    fn every_document_has_numbers_or_a_bound() {
        for name in [
            "dokos2008",
            "wohlgemuth2009",
            "piszcz2010",
            "mushran2011",
            "layton2012",
        ] {
            assert!(published::document(name).is_some());
            let rows = TABLE.rows.iter().filter(|row| row.document == name).count();
            let bounds = TABLE.host.iter().filter(|b| b.document == name).count();
            assert!(rows + bounds > 0, "{name}");
        }
        let predicted = TABLE.rows.iter().filter(|row| !row.fitted).count();
        assert_eq!(predicted, 20);
        let missed = |row: &&Row| !row.fitted && !row.is_near();
        let mut missed = TABLE.rows.iter().filter(missed);
        assert!(missed.all(|row| !row.cause.is_empty()));
    }

    #[test]
    fn a_run_on_disks_that_stand_for_the_hardware_shows_what_they_would_give_the_original() {
        let on_it = run(&["wohlgemuth2009"]);
        for format in [Format::Text, Format::Md, Format::Html] {
            let text = report(&on_it, format);
            assert!(text.contains(TITLE), "{text}");
            assert!(text.contains("random writes of 256 KiB in 2 GiB"), "{text}");
            assert!(text.contains("The host decides"), "{text}");
        }
        let json: serde_json::Value = serde_json::from_str(&report(&on_it, Format::Json)).unwrap();
        let row = &json["modelled"]["rows"][0];
        assert!(row["published"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["document"], "wohlgemuth2009");
    }

    #[test]
    fn other_disks_and_hardware_do_not() {
        assert!(!report(&run(&["dokos2008"]), Format::Md).contains(TITLE));
        let real = Run::fold(&example::entries()).unwrap();
        assert!(!report(&real, Format::Md).contains(TITLE));
    }
}
