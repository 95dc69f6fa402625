//! Measured systems that the model was not made from, split into two halves before anything was predicted.
//!
//! Their rows are in `published/unseen/`, their arrays, from data sheets, in `arrays/unseen/`. The half that a
//! system belongs to follows from its name alone: the open half may be looked at to mend the physics, the half that
//! is held back is predicted once, after the files and the physics are committed.

use crate::array::{Array, ArrayError, parse};
use crate::published::{self, Published, PublishedError};

macro_rules! systems {
    ($($name:literal,)*) => {
        /// Name, rows and array of every system.
        const SYSTEMS: &[(&str, &str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../published/unseen/", $name, ".toml")),
            include_str!(concat!("../../../arrays/unseen/", $name, ".toml")),
        ),)*];
    };
}

systems![
    "raptor-wd740",
    "samsung-f1",
    "travelstar-7k100",
    "md-raid5-8x2tb",
    "ultrastar-he10",
    "seagate-ec-10tb",
    "seagate-ec-8tb",
    "ultrastar-he8",
    "wd-gold-8tb",
    "helios4",
    "nas-6x5tb",
    "intel-s4610",
    "samsung-860pro",
    "samsung-pm883",
    "kingston-dc500m",
    "crucial-mx200",
    "samsung-860evo-250",
    "samsung-870evo-1tb",
    "samsung-970evo-500",
    "samsung-970pro-512",
    "samsung-980pro-1tb",
    "samsung-990evo-1tb",
    "samsung-990pro-2tb",
    "kingston-a2000-250",
    "lexar-nm790-2tb",
    "crucial-p3plus-1tb",
    "wd-sn580-1tb",
    "wd-sn770-1tb",
    "wd-sn850x-1tb",
    "hynix-p31-1tb",
    "patriot-p300-1tb",
];

/// Offset and prime of FNV-1a, 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Which half of the split a system belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Half {
    /// May be looked at to mend the physics.
    Open,
    /// Predicted once, at the end.
    HeldBack,
}

/// The half of a system: the parity of the FNV-1a hash of its name, odd = open.
#[must_use]
pub fn half_of(name: &str) -> Half {
    let hash = name.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    if hash % 2 == 1 { Half::Open } else { Half::HeldBack }
}

/// The tables of one half.
///
/// # Errors
/// Never for a released build: a test parses every file.
pub fn tables(half: Half) -> Result<Vec<Published>, PublishedError> {
    let of_half = SYSTEMS.iter().filter(|(name, ..)| half_of(name) == half);
    of_half.map(|(name, rows, _)| published::parse(&format!("unseen/{name}"), rows)).collect()
}

/// The array of that system, or `None` when there is none.
#[must_use]
pub fn array(name: &str) -> Option<Result<Array, ArrayError>> {
    let (name, _, array) = SYSTEMS.iter().find(|(system, ..)| *system == name)?;
    Some(parse(&format!("arrays/unseen/{name}.toml"), array))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_follows_from_the_name_and_is_the_one_that_was_committed() {
        let open: Vec<&str> = SYSTEMS.iter().map(|s| s.0).filter(|n| half_of(n) == Half::Open).collect();
        assert_eq!(
            open,
            [
                "samsung-f1",
                "travelstar-7k100",
                "md-raid5-8x2tb",
                "seagate-ec-8tb",
                "ultrastar-he8",
                "helios4",
                "nas-6x5tb",
                "samsung-860pro",
                "samsung-870evo-1tb",
                "wd-sn580-1tb",
                "wd-sn850x-1tb",
            ]
        );
        assert_eq!(SYSTEMS.len(), 31);
    }

    #[test]
    fn every_system_has_rows_and_an_array_that_fit() {
        let mut rows = 0;
        for table in [Half::Open, Half::HeldBack].map(|half| tables(half).unwrap()).concat() {
            let array = array(&table.name).unwrap_or_else(|| panic!("{}", table.name));
            let array = array.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(array.name, table.name);
            for row in &table.rows {
                let model = row.model.as_ref().expect("every row is modelled");
                let mut changed = array.clone();
                crate::array::set(&mut changed, &model.set).unwrap_or_else(|e| panic!("{}: {e}", row.test));
                assert!(model.array == table.name && !model.names.is_empty(), "{}", row.test);
                assert!(row.workload().is_some() && row.measured_iops().is_some(), "{}", row.test);
                rows += 1;
            }
        }
        assert_eq!(rows, 139);
    }
}
