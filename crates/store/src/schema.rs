//! The schema of a store, in numbered steps.
//!
//! A step is never changed after a release; a new schema is a new step. A store that has fewer steps gets the others when it
//! is opened, in one transaction; one that has more is refused.

use crate::engine::Step;

pub(crate) const SQLITE: [Step; 3] = [
    Step {
        number: 1,
        sql: include_str!("schema/sqlite-1.sql"),
    },
    Step {
        number: 2,
        sql: include_str!("schema/sqlite-2.sql"),
    },
    Step {
        number: 3,
        sql: include_str!("schema/sqlite-3.sql"),
    },
];

#[cfg(feature = "postgres")]
pub(crate) const POSTGRES: [Step; 3] = [
    Step {
        number: 1,
        sql: include_str!("schema/postgres-1.sql"),
    },
    Step {
        number: 2,
        sql: include_str!("schema/postgres-2.sql"),
    },
    Step {
        number: 3,
        sql: include_str!("schema/postgres-3.sql"),
    },
];
