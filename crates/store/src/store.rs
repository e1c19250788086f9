//! A store: where it is, and its connection.

use std::fmt;

use crate::engine::Engine;
use crate::engine::sqlite::Sqlite;
use crate::error::Error;
use crate::location::Location;
use crate::schema;

/// An open store.
pub struct Store {
    pub(crate) engine: Box<dyn Engine>,
    /// Its location, for messages.
    pub(crate) name: String,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store to import into it. A file that does not exist is made; an empty database gets the tables.
    ///
    /// # Errors
    /// [`Error::Url`], [`Error::NotAStore`], [`Error::Newer`], [`Error::Database`], [`Error::Record`].
    pub fn open(location: &Location) -> Result<Store, Error> {
        match location {
            Location::File(path) => Store::sqlite(Sqlite::open(path)?, location),
            Location::Server(url) => Store::server(url, location),
        }
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    /// As [`open`](Store::open); [`Error::Missing`] when the file does not exist.
    pub fn existing(location: &Location) -> Result<Store, Error> {
        match location {
            Location::File(path) => Store::sqlite(Sqlite::existing(path)?, location),
            Location::Server(url) => Store::server(url, location),
        }
    }

    fn sqlite(mut engine: Sqlite, location: &Location) -> Result<Store, Error> {
        engine.migrate(&schema::SQLITE)?;
        Ok(Store {
            engine: Box::new(engine),
            name: location.to_string(),
        })
    }

    #[cfg(feature = "postgres")]
    fn server(url: &str, location: &Location) -> Result<Store, Error> {
        let mut engine = crate::engine::postgres::Postgres::open(url, &location.to_string())?;
        engine.migrate(&schema::POSTGRES)?;
        Ok(Store {
            engine: Box::new(engine),
            name: location.to_string(),
        })
    }

    #[cfg(not(feature = "postgres"))]
    fn server(_url: &str, location: &Location) -> Result<Store, Error> {
        Err(Error::Url {
            url: location.to_string(),
            why: "this fslab was built without PostgreSQL; build it with --features postgres, or name a file".into(),
        })
    }
}
