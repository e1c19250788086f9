//! What the times of a run are worth: those of a guest are not about hardware.

use std::fmt;

use super::Run;

/// What times are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Of the hardware they were taken on.
    Real,
    /// Of modelled disks, served in real time: good for what a host does on them.
    Modelled {
        /// Names of the devices.
        devices: String,
    },
    /// Of a guest kernel, by what runs it: good for counts, layouts and verdicts alone.
    Emulated {
        /// `uml`, `qemu`.
        executor: String,
        /// `tcg`, `kvm`, `none`.
        accelerator: String,
    },
}

impl Timing {
    /// Whether times of these two may be set side by side.
    ///
    /// # Errors
    /// One line: why not.
    pub fn beside(&self, other: &Timing) -> Result<(), String> {
        if self == other {
            return Ok(());
        }
        Err(format!(
            "the times of one run are {self}, those of the other {other}: they cannot be compared; \
             counts, layouts and verdicts can"
        ))
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timing::Real => f.write_str("of hardware"),
            Timing::Modelled { devices } => write!(f, "of modelled disks ({devices})"),
            Timing::Emulated {
                executor,
                accelerator,
            } if executor == "uml" || accelerator.is_empty() => {
                write!(f, "emulated ({executor})")
            }
            Timing::Emulated {
                executor,
                accelerator,
            } => write!(f, "emulated ({executor}, {accelerator})"),
        }
    }
}

impl Run {
    /// What the times of this run are worth. A comparison of two runs has to check it, see
    /// [`Timing::beside`].
    pub fn timing(&self) -> Timing {
        match self.context_item("run.timing").as_deref() {
            // Virtual time is an emulator's as well: its accelerator distinguishes them.
            Some("emulated" | "virtual") => Timing::Emulated {
                executor: self.context_item("run.executor").unwrap_or_default(),
                accelerator: self.context_item("run.accelerator").unwrap_or_default(),
            },
            Some("modelled") => Timing::Modelled {
                devices: self.modelled_disks(),
            },
            // Runs from before there were guests lack the item; they were of the host.
            _ => Timing::Real,
        }
    }

    /// The modelled disks of the cells, as `7k500, nvme-2018`; empty where there are none.
    pub fn modelled_disks(&self) -> String {
        let cells = self.plan.cells.iter();
        let names = cells.filter_map(|cell| match &cell.device.stack.as_ref()?.layers {
            study::Layers::Model(model) => Some(model.device.as_str()),
            _ => None,
        });
        let names: std::collections::BTreeSet<&str> = names.collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// The example with a context that says these things.
    fn saying(items: &[(&str, &str)]) -> Run {
        let items: serde_json::Map<String, serde_json::Value> = items
            .iter()
            .map(|(name, value)| ((*name).to_owned(), serde_json::json!({"value": value})))
            .collect();
        let mut run = example::run();
        let context = serde_json::json!({ "items": items });
        run.contexts.insert("start".into(), context);
        run
    }

    #[test]
    fn times_of_a_guest_are_not_set_beside_a_hosts() {
        let old = saying(&[]);
        let host = saying(&[("run.timing", "real"), ("run.executor", "host")]);
        let guest = |executor, accelerator| {
            saying(&[
                ("run.timing", "emulated"),
                ("run.executor", executor),
                ("run.accelerator", accelerator),
            ])
        };
        let (uml, tcg) = (guest("uml", "none"), guest("qemu", "tcg"));
        assert_eq!(old.timing(), Timing::Real);
        host.timing().beside(&old.timing()).unwrap();
        uml.timing().beside(&guest("uml", "none").timing()).unwrap();
        for (one, other) in [(&host, &uml), (&uml, &host), (&uml, &tcg)] {
            one.timing().beside(&other.timing()).unwrap_err();
        }
        let message = host.timing().beside(&tcg.timing()).unwrap_err();
        assert_eq!(
            message,
            "the times of one run are of hardware, those of the other emulated (qemu, tcg): they \
             cannot be compared; counts, layouts and verdicts can"
        );
        assert_eq!(uml.timing().to_string(), "emulated (uml)");
        let modelled = saying(&[("run.timing", "modelled"), ("run.executor", "host")]);
        modelled.timing().beside(&host.timing()).unwrap_err();
    }
}
