//! schemas/study.schema.json: generated from [`StudyFile`], never written by hand.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

use crate::file::StudyFile;

/// The JSON schema (2020-12) of study files.
pub fn study() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let generator = SchemaSettings::draft2020_12().into_generator();
        generator.into_root_schema_for::<StudyFile>().to_value()
    })
}

/// The schema as the file in schemas/ holds it.
pub fn study_text() -> String {
    format!("{:#}\n", study())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn checked_in() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/study.schema.json")
    }

    /// `UPDATE_SCHEMAS=1 cargo test -p study` rewrites the file.
    #[test]
    fn the_schema_in_the_tree_is_the_programs() {
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(checked_in(), study_text()).unwrap();
        }
        let written = fs::read_to_string(checked_in()).unwrap();
        assert!(
            written == study_text(),
            "schemas/study.schema.json has drifted: UPDATE_SCHEMAS=1 cargo test -p study"
        );
    }

    #[test]
    fn every_reference_has_its_definition() {
        let text = study_text();
        let names = text.split("\"#/$defs/").skip(1);
        let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 20);
        for name in names {
            assert!(study()["$defs"].get(name).is_some(), "{name}");
        }
    }
}
