//! What is known of all runs, kept from one look at the store to the next.
//!
//! Runs are looked at in parts of [`PART_RUNS`] by their numbers. A look sums the checksums of each part, which two
//! indexes hold, and reads what a part says of its targets again only where the sums are others: so a write costs the
//! part that it changed, whoever wrote it and from where.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_record::Outcome;

use crate::condition::one_of;
use crate::error::StoreError;
use crate::list::{ListedRun, Passing, RunOrder, RunSlice, RunState};
use crate::reader::Reader;
use crate::sql::{Row, SqlError, values};

/// Runs of a part, as a power of two. Of a part that changed, each run is looked at; each part takes some KiB.
const PART_BITS: u32 = 10;
const PART_RUNS: i64 = 1 << PART_BITS;

/// What is known of all runs.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    last: Arc<Look>,
}

/// What a look at the store found: how its runs ended, and which versions of each target there are.
#[derive(Debug, Default)]
pub struct Look {
    parts: BTreeMap<i64, Arc<Part>>,
    targets: BTreeMap<String, Sums>,
    /// Numbers of the runs that go on, by target.
    going: BTreeMap<String, Vec<i64>>,
    outcomes: BTreeMap<String, usize>,
}

/// What changes when a run on a target is added, removed, ends, is found dead, gets another label or another digest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetVersion {
    sums: Sums,
    going: Vec<i64>,
}

/// A number of runs, with the sums of the checksums of their rows and digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    runs: i64,
    rows: i64,
    digests: i64,
}

#[derive(Debug)]
struct Part {
    all: Sums,
    targets: BTreeMap<String, Sums>,
    outcomes: Vec<(String, usize)>,
}

impl Look {
    /// Returns the version of a target.
    pub fn version_of(&self, address: &str) -> TargetVersion {
        TargetVersion {
            sums: self.targets.get(address).copied().unwrap_or_default(),
            going: self.going.get(address).cloned().unwrap_or_default(),
        }
    }

    /// Returns the numbers of the parts that have runs on a target, with the version of each.
    pub fn parts_of(&self, address: &str) -> Vec<(i64, TargetVersion)> {
        let going = self.going.get(address).map(Vec::as_slice).unwrap_or_default();
        let version = |(number, part): (&i64, &Arc<Part>)| {
            let going = going.iter().copied().filter(|run| run >> PART_BITS == *number).collect();
            Some((*number, TargetVersion { sums: *part.targets.get(address)?, going }))
        };
        self.parts.iter().filter_map(version).collect()
    }

    /// Returns the number of runs on a target.
    pub fn runs_on(&self, address: &str) -> usize {
        self.targets.get(address).map_or(0, |sums| usize::try_from(sums.runs).unwrap_or(0))
    }

    /// Returns the number of targets that have runs.
    pub fn targets(&self) -> usize {
        self.targets.len()
    }

    /// Returns the number of runs that ended so.
    pub fn ended(&self, outcome: Outcome) -> usize {
        let name = serde_json::to_string(&outcome).unwrap_or_default();
        self.outcomes.get(&name).copied().unwrap_or(0)
    }
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.rows += other.rows;
        self.digests += other.digests;
    }
}

/// Whether these are the same parts, none of them read anew.
fn are_same(parts: &BTreeMap<i64, Arc<Part>>, others: &BTreeMap<i64, Arc<Part>>) -> bool {
    parts.len() == others.len()
        && parts.iter().zip(others).all(|((a, part), (b, other))| a == b && Arc::ptr_eq(part, other))
}

/// SQL of a sum of checksums, each by its place; it stays below 2^63 for a billion runs.
fn sum_of(crc: &str, id: &str) -> String {
    format!("CAST(COALESCE(sum((COALESCE({crc}, 0) * ({id} % 1024 + 1)) % 2147483647), 0) AS BIGINT)")
}

impl Reader {
    /// Brings what is known of all runs to what the store says now.
    pub fn look(&self, overview: &mut Overview) -> Result<Arc<Look>, StoreError> {
        let read = |source| self.read_error(source);
        let parts = self.database.snapshot(read, || self.parts(&overview.last.parts).map_err(read))?;
        // Last: a run that begins in between is in the sums of the next look, and not one that ended unseen.
        let going = self.going()?;
        if going != overview.last.going || !are_same(&parts, &overview.last.parts) {
            let mut look = Look { going, ..Look::default() };
            for part in parts.values() {
                for (address, sums) in &part.targets {
                    match look.targets.get_mut(address) {
                        Some(all) => all.add(*sums),
                        None => drop(look.targets.insert(address.clone(), *sums)),
                    }
                }
                for (outcome, count) in &part.outcomes {
                    *look.outcomes.entry(outcome.clone()).or_default() += count;
                }
            }
            look.parts = parts;
            overview.last = Arc::new(look);
        }
        Ok(Arc::clone(&overview.last))
    }

    /// Returns the runs on a target of a part of all runs, the newest first.
    pub fn runs_of_part(&self, address: &str, number: i64) -> Result<Vec<ListedRun>, StoreError> {
        let first = number << PART_BITS;
        let last = first.saturating_add(PART_RUNS - 1);
        let passing = Passing::on_target(self.database.dialect(), address, first..=last);
        Ok(self.list_passing(&passing, RunSlice::ALL, RunOrder::Newest)?.runs)
    }

    /// Returns all parts; those that changed are read.
    fn parts(&self, known: &BTreeMap<i64, Arc<Part>>) -> Result<BTreeMap<i64, Arc<Part>>, SqlError> {
        let part = |(number, all): (i64, Sums)| {
            let same = known.get(&number).filter(|part| part.all == all);
            Ok((
                number,
                same.map_or_else(|| self.part(number, all).map(Arc::new), |same| Ok(Arc::clone(same)))?,
            ))
        };
        self.sums_of_parts()?.into_iter().map(part).collect()
    }

    /// Returns the sums of each part.
    fn sums_of_parts(&self) -> Result<BTreeMap<i64, Sums>, SqlError> {
        let sums = |table: &str, id: &str, crc: &str| {
            let part = format!("{id} >> {PART_BITS}");
            let sum = sum_of(crc, id);
            self.database.rows(&format!("SELECT {part}, count(*), {sum} FROM {table} GROUP BY {part}"), &[])
        };
        let mut parts: BTreeMap<i64, Sums> = BTreeMap::new();
        for row in sums("run", "id", "row_crc32c")? {
            let sums = Sums { runs: row.integer(1)?, rows: row.integer(2)?, digests: 0 };
            parts.insert(row.integer(0)?, sums);
        }
        for row in sums("digest", "run_id", "crc32c")? {
            // A digest is removed with its run.
            if let Some(sums) = parts.get_mut(&row.integer(0)?) {
                sums.digests = row.integer(2)?;
            }
        }
        Ok(parts)
    }

    /// Reads what a part says of its targets, and how its runs ended.
    fn part(&self, number: i64, all: Sums) -> Result<Part, SqlError> {
        let first = number << PART_BITS;
        let values = values![first, first.saturating_add(PART_RUNS - 1)];
        let by_target = format!(
            "SELECT address, count(*), {}, {} FROM run_target JOIN run ON run.id = run_target.run_id LEFT JOIN digest \
             ON digest.run_id = run.id WHERE run_target.run_id >= ?1 AND run_target.run_id <= ?2 GROUP BY address",
            sum_of("row_crc32c", "run.id"),
            sum_of("digest.crc32c", "run.id"),
        );
        let of_target = |row: &Row| {
            let sums = Sums { runs: row.integer(1)?, rows: row.integer(2)?, digests: row.integer(3)? };
            Ok((row.text(0)?.to_owned(), sums))
        };
        let targets = self.database.rows(&by_target, values)?;
        let targets = targets.iter().map(of_target).collect::<Result<_, SqlError>>()?;
        let by_outcome = "SELECT outcome, count(*) FROM run WHERE id >= ?1 AND id <= ?2 AND outcome IS NOT NULL \
                          GROUP BY outcome";
        let outcomes = self.database.rows(by_outcome, values)?;
        // One that is no text any more is that of a damaged row.
        let of_outcome = |row: &Row| {
            let count = usize::try_from(row.integer(1).ok()?).ok()?;
            Some((row.text(0).ok()?.to_owned(), count))
        };
        Ok(Part { all, targets, outcomes: outcomes.iter().filter_map(of_outcome).collect() })
    }

    /// Returns the numbers of the runs that go on, by target.
    fn going(&self) -> Result<BTreeMap<String, Vec<i64>>, StoreError> {
        let mut going: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let runs = self.unended_of(Some(RunState::Running))?;
        if runs.is_empty() {
            return Ok(going);
        }
        let read = |source| self.read_error(source);
        let query = format!(
            "SELECT address, id FROM run_target JOIN run ON run.id = run_id WHERE {} ORDER BY id",
            one_of(&runs)
        );
        for row in self.database.rows(&query, &[]).map_err(read)? {
            let (address, run) = (row.text(0).map_err(read)?, row.integer(1).map_err(read)?);
            going.entry(address.to_owned()).or_default().push(run);
        }
        Ok(going)
    }
}
