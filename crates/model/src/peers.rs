//! What others measured with the same load: every row of the tables that ship, found by its load.

use std::sync::LazyLock;

use crate::array::{Device, shipped};
use crate::published::{self, Row};
use crate::unseen::{self, Half, Set};

/// A load, as tables give it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Bytes of an I/O.
    pub size_bytes: u64,
    /// Reads, %.
    pub read_pct: f64,
    /// Random positions, %.
    pub random_pct: f64,
    /// I/Os in flight.
    pub outstanding: u32,
}

/// A row that somebody measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// The system, without its details.
    pub system: String,
    /// I/Os per second.
    pub iops: f64,
    /// Whether rotating disks were under it; `None` where that is not known.
    pub rotating: Option<bool>,
    load: Load,
}

static ALL: LazyLock<Vec<Peer>> = LazyLock::new(all);

/// Returns the rows with this load, from the slowest to the fastest.
#[must_use]
pub fn peers(load: Load) -> Vec<&'static Peer> {
    let near = |a: f64, b: f64| (a - b).abs() < 0.5;
    let is_alike = |other: &Load| {
        other.size_bytes == load.size_bytes
            && other.outstanding == load.outstanding
            && near(other.read_pct, load.read_pct)
            && near(other.random_pct, load.random_pct)
    };
    let mut peers: Vec<&Peer> = ALL.iter().filter(|peer| is_alike(&peer.load)).collect();
    peers.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    peers
}

/// Tables that cannot be read are left out; a test reads every one that ships.
fn all() -> Vec<Peer> {
    let halves = Set::ALL.into_iter().flat_map(|set| [(set, Half::Open), (set, Half::HeldBack)]);
    let seen = halves.filter_map(|(set, half)| unseen::tables(set, half).ok()).flatten();
    let tables = published::all().into_iter().flatten().chain(seen);
    tables
        .flat_map(|table| {
            let system = table.system.split([':', ',']).next().unwrap_or_default().trim().to_owned();
            table.rows.into_iter().filter_map(move |row| peer(&system, &row))
        })
        .collect()
}

fn peer(system: &str, row: &Row) -> Option<Peer> {
    let model = row.model.as_ref()?;
    let load = Load {
        size_bytes: row.size_bytes?,
        read_pct: row.read_pct?,
        random_pct: row.random_pct?,
        outstanding: model.outstanding,
    };
    let array = shipped::named(&model.array).or_else(|| unseen::array(&model.array));
    let rotating = array.and_then(Result::ok).map(|array| matches!(array.device, Device::Hdd(_)));
    Some(Peer { system: system.to_owned(), iops: row.measured_iops()?, rotating, load })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_and_forum_tables_are_found_by_their_load() {
        let random = Load { size_bytes: 4096, read_pct: 100.0, random_pct: 100.0, outstanding: 64 };
        let drives = peers(random);
        let ssds = drives.iter().filter(|peer| peer.rotating == Some(false)).count();
        assert!(ssds >= 15 && drives.len() > ssds, "{drives:?}");
        assert!(drives.windows(2).all(|two| two[0].iops <= two[1].iops));
        let real_life = Load { size_bytes: 8192, read_pct: 65.0, random_pct: 60.0, outstanding: 64 };
        let forum = peers(real_life);
        assert!(forum.len() >= 6 && forum.iter().any(|peer| peer.system.contains("ix4-200d")), "{forum:?}");
        assert!(peers(Load { outstanding: 63, ..random }).is_empty(), "another depth is another load");
    }
}
