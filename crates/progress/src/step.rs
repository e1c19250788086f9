//! Steps and their units.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A step of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name for people: `pass 1`, `mkfs.ext4`, `rewrite`.
    pub name: Cow<'static, str>,
    /// Unit of its amount, and of [`Progress::advance`](crate::Progress::advance).
    pub unit: Unit,
    /// The amount, where it is known when the step begins.
    pub amount: Option<u64>,
}

/// Unit of an amount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Parts of an operation that need not take equally long (runs, passes, records of several phases). Their number is not
    /// shown, and the time left comes from the whole operation rather than from the current step.
    #[default]
    Parts,
    /// Bytes.
    Bytes,
    /// Things of one kind, in the plural: `inodes`.
    Items(Cow<'static, str>),
}

impl Step {
    /// A step of unknown length.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Step {
        Step {
            name: name.into(),
            ..Step::default()
        }
    }

    /// The same step, counted in `unit`.
    #[must_use]
    pub fn counted_in(self, unit: Unit) -> Step {
        Step { unit, ..self }
    }

    /// The same step, of this amount.
    #[must_use]
    pub fn of(self, amount: u64) -> Step {
        Step {
            amount: Some(amount),
            ..self
        }
    }
}
