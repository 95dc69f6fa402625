//! What the store keeps beside runs: prices of targets, the tester's own ceilings, journals.

use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Sets the price of a target, as text; `None` removes it.
    pub fn set_target_price(&self, address: &str, price: Option<&str>) -> Result<(), StoreError> {
        match price {
            Some(price) => self.put(
                "INSERT INTO price (address, price) VALUES (?1, ?2)
                 ON CONFLICT (address) DO UPDATE SET price = excluded.price",
                params![address, price],
            ),
            None => self.put("DELETE FROM price WHERE address = ?1", params![address]),
        }
    }

    /// Returns the price of a target, as it was set.
    pub fn target_price(&self, address: &str) -> Result<Option<String>, StoreError> {
        self.one("SELECT price FROM price WHERE address = ?1", params![address])
    }

    /// Returns every target with a price: address and price, sorted by address.
    pub fn target_prices(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT address, price FROM price ORDER BY address")
    }

    /// Keeps the rate that a load reaches on a target that costs nothing, under a name of the load and the host.
    pub fn set_null_ceiling(&self, load: &str, iops: f64) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO null_ceiling (load, iops) VALUES (?1, ?2)
             ON CONFLICT (load) DO UPDATE SET iops = excluded.iops",
            params![load, iops],
        )
    }

    /// Returns that rate, where it was measured before.
    pub fn null_ceiling(&self, load: &str) -> Result<Option<f64>, StoreError> {
        self.one("SELECT iops FROM null_ceiling WHERE load = ?1", params![load])
    }

    /// Adds a journal, as text; `false` where one of that name is there already.
    pub fn add_journal(&self, name: &str, body: &str) -> Result<bool, StoreError> {
        let text = "INSERT OR IGNORE INTO journal (name, body) VALUES (?1, ?2)";
        self.execute(text, params![name, body]).map(|rows| rows > 0)
    }

    /// Removes a journal, and leaves its runs; `false` where there is none of that name.
    pub fn remove_journal(&self, name: &str) -> Result<bool, StoreError> {
        self.execute("DELETE FROM journal WHERE name = ?1", params![name]).map(|rows| rows > 0)
    }

    /// Returns every journal, the oldest first: name and text.
    pub fn journals(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT name, body FROM journal ORDER BY rowid")
    }

    fn put(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<(), StoreError> {
        self.execute(sql, parameters).map(drop)
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize, StoreError> {
        let write = |source| StoreError::writing(self.path(), source);
        self.connection().execute(sql, parameters).map_err(write)
    }

    fn one<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Option<T>, StoreError> {
        let found = self.connection().query_row(sql, parameters, |row| row.get(0)).optional();
        found.map_err(|source| StoreError::reading(self.path(), source))
    }

    fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let mut query = self.connection().prepare(sql).map_err(read)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(read)?;
        rows.collect::<Result<_, _>>().map_err(read)
    }
}
