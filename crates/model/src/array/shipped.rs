//! The array files that ship, embedded. Their text is in `arrays/` at the root of the repository.

use super::{Array, ArrayError, parse};

/// Name and text of every array that ships.
pub const FILES: &[(&str, &str)] = &[
    ("ix4-200d", include_str!("../../../../arrays/ix4-200d.toml")),
    ("openfiler-2.3-4disk", include_str!("../../../../arrays/openfiler-2.3-4disk.toml")),
    ("openfiler-2.3-8disk", include_str!("../../../../arrays/openfiler-2.3-8disk.toml")),
    ("anandtech-das", include_str!("../../../../arrays/anandtech-das.toml")),
    ("anandtech-iscsi", include_str!("../../../../arrays/anandtech-iscsi.toml")),
    ("anandtech-fc", include_str!("../../../../arrays/anandtech-fc.toml")),
    ("ts140-mx100", include_str!("../../../../arrays/ts140-mx100.toml")),
    ("ts140-850evo", include_str!("../../../../arrays/ts140-850evo.toml")),
    ("ts140-raid10", include_str!("../../../../arrays/ts140-raid10.toml")),
    ("ts140-raid5", include_str!("../../../../arrays/ts140-raid5.toml")),
    ("x4500", include_str!("../../../../arrays/x4500.toml")),
    ("hdd-5400", include_str!("../../../../arrays/hdd-5400.toml")),
    ("hdd-10k", include_str!("../../../../arrays/hdd-10k.toml")),
    ("hdd-15k", include_str!("../../../../arrays/hdd-15k.toml")),
    ("hdd-7200", include_str!("../../../../arrays/hdd-7200.toml")),
    ("ssd-sata", include_str!("../../../../arrays/ssd-sata.toml")),
    ("nvme", include_str!("../../../../arrays/nvme.toml")),
    ("nas-4bay", include_str!("../../../../arrays/nas-4bay.toml")),
    ("raid6-12bay", include_str!("../../../../arrays/raid6-12bay.toml")),
    ("allflash-10gbe", include_str!("../../../../arrays/allflash-10gbe.toml")),
    ("allflash-25gbe", include_str!("../../../../arrays/allflash-25gbe.toml")),
];

/// The shipped array of that name, or `None` when none has it.
///
/// # Errors
/// Never for a released build: a test parses every shipped file.
#[must_use]
pub fn named(name: &str) -> Option<Result<Array, ArrayError>> {
    let (stem, text) = FILES.iter().find(|(stem, _)| *stem == name)?;
    Some(parse(&format!("arrays/{stem}.toml"), text))
}

/// All shipped arrays.
///
/// # Errors
/// Never for a released build: a test parses every shipped file.
pub fn all() -> Result<Vec<Array>, ArrayError> {
    FILES.iter().map(|(stem, text)| parse(&format!("arrays/{stem}.toml"), text)).collect()
}
