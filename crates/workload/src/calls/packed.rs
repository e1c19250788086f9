//! Times of calls as text, for the messages between ranks: a few hundred bytes for thousands of calls.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::histogram::{Histogram, put, take};
use super::{Call, Calls, Times};

/// The name of a call, its total, least and most, and its histogram as hexadecimal digits.
#[derive(Serialize, Deserialize)]
struct Row(String, String);

impl Times {
    fn pack(&self) -> String {
        let mut bytes = Vec::new();
        put(&mut bytes, self.total_ns);
        put(&mut bytes, self.min_ns);
        put(&mut bytes, self.max_ns);
        self.histogram.pack(&mut bytes);
        words::hex(&bytes)
    }

    fn unpack(text: &str) -> Option<Times> {
        let digits = text.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8]| match *pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        let bytes = bytes?;
        let mut rest = bytes.as_slice();
        Some(Times {
            total_ns: take(&mut rest)?,
            min_ns: take(&mut rest)?,
            max_ns: take(&mut rest)?,
            histogram: Histogram::unpack(rest)?,
        })
    }
}

pub(crate) fn serialize<S: Serializer>(calls: &Calls, serializer: S) -> Result<S::Ok, S::Error> {
    let rows = calls
        .made()
        .map(|(call, times)| Row(call.name().to_owned(), times.pack()));
    rows.collect::<Vec<_>>().serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Calls, D::Error> {
    let mut calls = Calls::default();
    for Row(name, text) in Vec::<Row>::deserialize(deserializer)? {
        let call = Call::ALL.into_iter().find(|call| call.name() == name);
        let (call, times) = call
            .filter(|call| calls.count(*call) == 0)
            .zip(Times::unpack(&text))
            .ok_or_else(|| D::Error::custom(format!("no times of a call: {name}")))?;
        calls.of(call).merge(&times);
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] Calls);

    #[test]
    fn times_come_back_and_are_small() {
        for count in [32_u64, 1024] {
            let mut calls = Calls::default();
            (0..count).for_each(|at| calls.record(Call::Write, 100_000 + at * 37));
            let text = serde_json::to_string(&Holder(calls.clone())).unwrap();
            assert!(text.len() < 800, "{} bytes for {count}", text.len());
            let Holder(back) = serde_json::from_str(&text).unwrap();
            assert_eq!(back.figures(), calls.figures());
        }
        assert!(serde_json::from_str::<Holder>("[[\"read\",\"0z\"]]").is_err());
        assert!(serde_json::from_str::<Holder>("[[\"sleep\",\"000000\"]]").is_err());
    }
}
