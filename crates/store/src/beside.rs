//! What the store keeps beside runs: prices, baselines and checks of targets, the tester's own ceilings, journals.

use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;

/// What later runs of a plan on a target are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Address of the target.
    pub address: String,
    /// Name of the plan.
    pub plan: String,
    /// The run, or the repetitions.
    pub of: BaselineOf,
    /// When it was set, ms since 1970 UTC.
    pub set_unix_ms: u64,
}

/// A run, or repetitions that share a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselineOf {
    /// Id of a run.
    Run(String),
    /// Label of the repetitions.
    Label(String),
}

/// The last check of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Address of the target.
    pub address: String,
    /// When, ms since 1970 UTC.
    pub checked_unix_ms: u64,
    /// What it found, as JSON.
    pub body: String,
}

impl Reader {
    /// Returns every baseline, sorted by target and plan.
    pub fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        let text = "SELECT address, plan, run, label, set_unix_ms FROM baseline ORDER BY address, plan";
        self.all(text, |row| {
            let (run, label): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
            let of = run.map_or_else(|| BaselineOf::Label(label.unwrap_or_default()), BaselineOf::Run);
            let set_unix_ms = u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0);
            Ok(Baseline { address: row.get(0)?, plan: row.get(1)?, of, set_unix_ms })
        })
    }

    /// Returns the last check of every target, sorted by address.
    pub fn checks(&self) -> Result<Vec<Checked>, StoreError> {
        self.all("SELECT address, checked_unix_ms, body FROM checked ORDER BY address", |row| {
            let checked_unix_ms = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
            Ok(Checked { address: row.get(0)?, checked_unix_ms, body: row.get(2)? })
        })
    }

    /// Returns the address of every target that a run used, was checked, or has something set, sorted.
    pub fn target_addresses(&self) -> Result<Vec<String>, StoreError> {
        self.all(
            "SELECT address FROM run_target UNION SELECT address FROM checked UNION SELECT address FROM target
             UNION SELECT address FROM price UNION SELECT address FROM baseline ORDER BY address",
            |row| row.get(0),
        )
    }

    /// Returns the price of a target, as it was set.
    pub fn target_price(&self, address: &str) -> Result<Option<String>, StoreError> {
        self.one("SELECT price FROM price WHERE address = ?1", params![address])
    }

    /// Returns every target with a price: address and price, sorted by address.
    pub fn target_prices(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT address, price FROM price ORDER BY address")
    }

    /// Returns that rate, where it was measured before.
    pub fn null_ceiling(&self, load: &str) -> Result<Option<f64>, StoreError> {
        self.one("SELECT iops FROM null_ceiling WHERE load = ?1", params![load])
    }

    /// Returns every journal, the oldest first: name and text.
    pub fn journals(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT name, body FROM journal ORDER BY rowid")
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
        self.all(sql, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn all<T>(
        &self,
        sql: &str,
        of: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let mut query = self.connection().prepare(sql).map_err(read)?;
        query.query_map([], of).and_then(Iterator::collect).map_err(read)
    }
}

impl Store {
    /// Sets the baseline of a plan on a target, in place of an earlier one.
    pub fn set_baseline(&self, baseline: &Baseline) -> Result<(), StoreError> {
        let (run, label) = match &baseline.of {
            BaselineOf::Run(run) => (Some(run), None),
            BaselineOf::Label(label) => (None, Some(label)),
        };
        self.put(
            "INSERT OR REPLACE INTO baseline (address, plan, run, label, set_unix_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![baseline.address, baseline.plan, run, label, sql_ms(baseline.set_unix_ms)],
        )
    }

    /// Removes the baseline of a plan on a target; `false` where there is none.
    pub fn remove_baseline(&self, address: &str, plan: &str) -> Result<bool, StoreError> {
        let text = "DELETE FROM baseline WHERE address = ?1 AND plan = ?2";
        self.execute(text, params![address, plan]).map(|rows| rows > 0)
    }

    /// Keeps what a check of a target found, as JSON, in place of the check before.
    pub fn set_checked(&self, checked: &Checked) -> Result<(), StoreError> {
        self.put(
            "INSERT OR REPLACE INTO checked (address, checked_unix_ms, body) VALUES (?1, ?2, ?3)",
            params![checked.address, sql_ms(checked.checked_unix_ms), checked.body],
        )
    }

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

    /// Keeps the rate that a load reaches on a target that costs nothing, under a name of the load and the host.
    pub fn set_null_ceiling(&self, load: &str, iops: f64) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO null_ceiling (load, iops) VALUES (?1, ?2)
             ON CONFLICT (load) DO UPDATE SET iops = excluded.iops",
            params![load, iops],
        )
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

    fn put(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<(), StoreError> {
        self.execute(sql, parameters).map(drop)
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize, StoreError> {
        let write = |source| StoreError::writing(self.path(), source);
        self.connection().execute(sql, parameters).map_err(write)
    }
}

/// Returns a time as SQLite keeps it.
fn sql_ms(unix_ms: u64) -> i64 {
    i64::try_from(unix_ms).unwrap_or(i64::MAX)
}
