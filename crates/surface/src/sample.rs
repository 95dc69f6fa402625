//! What is read, and what it returned; and the cells of a map.

/// Number of cells of a map, where the target is large enough.
pub(crate) const CELLS: u64 = 128;

/// In which order a pass visits the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A new random order in every pass.
    Random,
    /// From the first to the last, as a head travels; a disturbance then looks like a place until the next pass.
    Sequential,
}

/// Why a place is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// For the latency of a place.
    Place,
    /// To bring the head there, before a transfer.
    Position,
    /// For the throughput: continues where the read before it ended.
    Transfer,
    /// It was slow before.
    Again {
        /// Which slow place.
        spot: usize,
    },
    /// A random place, beside a slow one.
    Control {
        /// Beside which slow place.
        spot: usize,
    },
}

/// A read to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Where, bytes.
    pub offset_bytes: u64,
    /// How much, bytes.
    pub size_bytes: u32,
    /// What for.
    pub why: Why,
}

/// What a read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Data.
    Data,
    /// Nothing but zeros.
    Zeros,
    /// An error number of the operating system.
    Failed(i32),
}

/// A read that was done.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// What was read.
    pub look: Look,
    /// When it began, ns from the start of the survey.
    pub at_ns: u64,
    /// How long it took, ns.
    pub latency_ns: u64,
    /// What it returned.
    pub outcome: Outcome,
}

/// Returns where a cell begins and where it ends, bytes.
pub(crate) fn bounds(size_bytes: u64, cell: u64) -> (u64, u64) {
    let at = |cell: u64| {
        u64::try_from(u128::from(size_bytes) * u128::from(cell) / u128::from(CELLS)).unwrap_or(u64::MAX)
    };
    (at(cell), at(cell + 1))
}

/// Returns the cell of a place.
pub(crate) fn cell_of(size_bytes: u64, offset_bytes: u64) -> usize {
    let cell = (u128::from(offset_bytes) * u128::from(CELLS) + u128::from(CELLS) - 1)
        / u128::from(size_bytes.max(1));
    let cell = u64::try_from(cell).unwrap_or(0).min(CELLS - 1);
    // The division above rounds as `bounds` does, but for one cell at most.
    let cell = if offset_bytes < bounds(size_bytes, cell).0 { cell.saturating_sub(1) } else { cell };
    usize::try_from(cell).unwrap_or(0)
}
