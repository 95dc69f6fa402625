//! What the store keeps beside runs: of targets prices, baselines, checks and maps; the tester's own ceilings;
//! journals.

use crate::error::StoreError;
use crate::key::{is_relative, keys_among, target_key};
use crate::reader::Reader;
use crate::sql::{Row, SqlError, Value, values};
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

/// A map of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptMap {
    /// Address of the target.
    pub address: String,
    /// When it was made, ms since 1970 UTC.
    pub made_unix_ms: u64,
    /// The map as JSON.
    pub body: String,
}

/// Maps that are kept of a target, the newest: one a week for two years, 40 KB each.
pub const MAPS_MAX: usize = 100;

impl Reader {
    /// Returns every baseline, sorted by target and plan.
    pub fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        let text = "SELECT address, plan, run, label, set_unix_ms FROM baseline ORDER BY address, plan";
        self.all(text, |row| {
            let text = |column| row.text_if_any(column).map(|text| text.map(str::to_owned));
            let (run, label) = (text(2)?, text(3)?);
            let of = run.map_or_else(|| BaselineOf::Label(label.unwrap_or_default()), BaselineOf::Run);
            let set_unix_ms = u64::try_from(row.integer(4)?).unwrap_or(0);
            Ok(Baseline { address: row.text(0)?.to_owned(), plan: row.text(1)?.to_owned(), of, set_unix_ms })
        })
    }

    /// Returns the last check of every target, sorted by address.
    pub fn checks(&self) -> Result<Vec<Checked>, StoreError> {
        self.all("SELECT address, checked_unix_ms, body FROM checked ORDER BY address", |row| {
            let checked_unix_ms = u64::try_from(row.integer(1)?).unwrap_or(0);
            Ok(Checked { address: row.text(0)?.to_owned(), checked_unix_ms, body: row.text(2)?.to_owned() })
        })
    }

    /// Returns when the maps of a target were made, ms since 1970 UTC, the newest first.
    pub fn maps(&self, address: &str) -> Result<Vec<u64>, StoreError> {
        let text = "SELECT made_unix_ms FROM map WHERE address = ?1 ORDER BY made_unix_ms DESC";
        let read = |source| self.read_error(source);
        let rows = self.database.rows(text, values![address]).map_err(read)?;
        rows.iter()
            .map(|row| Ok(u64::try_from(row.integer(0)?).unwrap_or(0)))
            .collect::<Result<_, _>>()
            .map_err(read)
    }

    /// Returns a map of a target as JSON; `None` where it has none of that time.
    pub fn map(&self, address: &str, made_unix_ms: u64) -> Result<Option<String>, StoreError> {
        let text = "SELECT body FROM map WHERE address = ?1 AND made_unix_ms = ?2";
        let found = self.database.row(text, values![address, sql_ms(made_unix_ms)]);
        let found = found.and_then(|row| row.map(|row| row.text(0).map(str::to_owned)).transpose());
        found.map_err(|source| self.read_error(source))
    }

    /// Returns the address of every target that a run used, was checked or mapped, or has something set, sorted. Each
    /// is looked up behind the one before: there are few, and their runs are many.
    pub fn target_addresses(&self) -> Result<Vec<String>, StoreError> {
        self.all(
            "WITH RECURSIVE used (address) AS (SELECT min(address) FROM run_target UNION ALL
                SELECT (SELECT min(address) FROM run_target WHERE address > used.address)
                FROM used WHERE used.address IS NOT NULL)
             SELECT address FROM used WHERE address IS NOT NULL UNION SELECT address FROM checked
             UNION SELECT address FROM target UNION SELECT address FROM price UNION SELECT address FROM baseline
             UNION SELECT address FROM map
             ORDER BY address",
            |row| Ok(row.text(0)?.to_owned()),
        )
    }

    /// Returns the names in the store of the targets of a run, in their order ([`crate::target_key`]). A relative path
    /// is that of the folder in which the run was started, wherever this program runs.
    pub fn target_keys<'a>(
        &self,
        run: &str,
        targets: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<String>, StoreError> {
        let targets: Vec<&str> = targets.into_iter().collect();
        if !targets.iter().any(|target| is_relative(target)) {
            return Ok(targets.into_iter().map(target_key).collect());
        }
        let query = "SELECT address FROM run_target WHERE run_id = (SELECT id FROM run WHERE run = ?1)";
        let known = self.database.rows(query, values![run]);
        let known: Result<Vec<String>, SqlError> =
            known.and_then(|rows| rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect());
        Ok(keys_among(&targets, &known.map_err(|source| self.read_error(source))?))
    }

    /// Returns the price of a target, as it was set.
    pub fn target_price(&self, address: &str) -> Result<Option<String>, StoreError> {
        self.one_text("SELECT price FROM price WHERE address = ?1", address)
    }

    /// Returns every target with a price: address and price, sorted by address.
    pub fn target_prices(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT address, price FROM price ORDER BY address")
    }

    /// Returns that rate, where it was measured before.
    pub fn null_ceiling(&self, load: &str) -> Result<Option<f64>, StoreError> {
        let found = self.database.row("SELECT iops FROM null_ceiling WHERE load = ?1", values![load]);
        let found = found.and_then(|row| row.map(|row| row.real(0)).transpose());
        found.map_err(|source| self.read_error(source))
    }

    /// Returns every journal, the oldest first: name and text.
    pub fn journals(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT name, body FROM journal ORDER BY rowid")
    }

    fn all<T>(&self, sql: &str, of: impl FnMut(&Row) -> Result<T, SqlError>) -> Result<Vec<T>, StoreError> {
        let read = |source| self.read_error(source);
        self.database.rows(sql, &[]).and_then(|rows| rows.iter().map(of).collect()).map_err(read)
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
            "INSERT INTO baseline (address, plan, run, label, set_unix_ms) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (address, plan) DO UPDATE SET run = excluded.run, label = excluded.label,
             set_unix_ms = excluded.set_unix_ms",
            values![&baseline.address, &baseline.plan, run, label, sql_ms(baseline.set_unix_ms)],
        )
    }

    /// Removes the baseline of a plan on a target; `false` where there is none.
    pub fn remove_baseline(&self, address: &str, plan: &str) -> Result<bool, StoreError> {
        let text = "DELETE FROM baseline WHERE address = ?1 AND plan = ?2";
        self.execute(text, values![address, plan]).map(|rows| rows > 0)
    }

    /// Keeps what a check of a target found, as JSON, in place of the check before.
    pub fn set_checked(&self, checked: &Checked) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO checked (address, checked_unix_ms, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (address) DO UPDATE SET checked_unix_ms = excluded.checked_unix_ms, body = excluded.body",
            values![&checked.address, sql_ms(checked.checked_unix_ms), &checked.body],
        )
    }

    /// Keeps a map, and the newest [`MAPS_MAX`] of its target; `false` where there is one of that time already.
    pub fn add_map(&self, map: &KeptMap) -> Result<bool, StoreError> {
        let text = "INSERT INTO map (address, made_unix_ms, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        let rows = self.execute(text, values![&map.address, sql_ms(map.made_unix_ms), &map.body])?;
        self.put(
            &format!(
                "DELETE FROM map WHERE address = ?1 AND made_unix_ms NOT IN
                 (SELECT made_unix_ms FROM map WHERE address = ?1 ORDER BY made_unix_ms DESC LIMIT {MAPS_MAX})"
            ),
            values![&map.address],
        )?;
        Ok(rows > 0)
    }

    /// Sets the price of a target, as text; `None` removes it.
    pub fn set_target_price(&self, address: &str, price: Option<&str>) -> Result<(), StoreError> {
        match price {
            Some(price) => self.put(
                "INSERT INTO price (address, price) VALUES (?1, ?2)
                 ON CONFLICT (address) DO UPDATE SET price = excluded.price",
                values![address, price],
            ),
            None => self.put("DELETE FROM price WHERE address = ?1", values![address]),
        }
    }

    /// Keeps the rate that a load reaches on a target that costs nothing, under a name of the load and the host.
    pub fn set_null_ceiling(&self, load: &str, iops: f64) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO null_ceiling (load, iops) VALUES (?1, ?2)
             ON CONFLICT (load) DO UPDATE SET iops = excluded.iops",
            values![load, iops],
        )
    }

    /// Adds a journal, as text; `false` where one of that name is there already.
    pub fn add_journal(&self, name: &str, body: &str) -> Result<bool, StoreError> {
        let text = "INSERT INTO journal (name, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.execute(text, values![name, body]).map(|rows| rows > 0)
    }

    /// Removes a journal, and leaves its runs; `false` where there is none of that name.
    pub fn remove_journal(&self, name: &str) -> Result<bool, StoreError> {
        self.execute("DELETE FROM journal WHERE name = ?1", values![name]).map(|rows| rows > 0)
    }

    fn put(&self, sql: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        self.execute(sql, values).map(drop)
    }
}

/// Returns a time as a database keeps it.
fn sql_ms(unix_ms: u64) -> i64 {
    i64::try_from(unix_ms).unwrap_or(i64::MAX)
}
