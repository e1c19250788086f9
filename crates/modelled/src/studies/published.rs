//! Published numbers by their ids.

use std::collections::HashMap;

use serde::Deserialize;

const FILES: [&str; 5] = [
    include_str!("../../../../published/dokos2008.json"),
    include_str!("../../../../published/wohlgemuth2009.json"),
    include_str!("../../../../published/piszcz2010.json"),
    include_str!("../../../../published/mushran2011.json"),
    include_str!("../../../../published/layton2012.json"),
];

#[derive(Deserialize)]
struct File {
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    value: Option<serde_json::Value>,
}

/// All published numbers.
pub(super) struct Published(HashMap<String, f64>);

impl Published {
    pub(super) fn load() -> Result<Published, String> {
        let mut values = HashMap::new();
        for text in FILES {
            let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
            for record in file.records {
                if let Some(value) = record.value.as_ref().and_then(serde_json::Value::as_f64) {
                    values.insert(record.id, value);
                }
            }
        }
        Ok(Published(values))
    }

    pub(super) fn value(&self, id: &str) -> Result<f64, String> {
        let found = self.0.get(id).copied();
        found.ok_or_else(|| format!("published/ has no number {}", words::quoted(id)))
    }
}
