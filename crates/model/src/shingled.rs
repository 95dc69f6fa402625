//! A shingled disk: overlapping tracks can only be written as a whole band.
//!
//! The disk takes random writes into a media cache, a conventional part of its platters, as fast as its write cache
//! sorts
//! them. Once that is full, each write waits for its share of the cleaning: a band is read, merged with all
//! writes that the cache holds of it, and written.
//! ```text
//!   t(write) = t(band) / k,  t(band) = 2 (band / rate + seek + revolution / 2)
//!   k = max(taken along, writes that the cache holds / bands of the span)
//! ```
//! Aghayev and Desnoyers (Skylight, FAST 2015) found bands of 15 to 40 MiB, caches of 20 to 40 GB whose map has
//! about 182,000 entries, and cleaning band by band.

use crate::array::Hdd;
use crate::quantity::{Corner, at_corner};

/// Writes that the cleaning of a band takes along although they came one after the other: slow, nominal and
/// fast. A disk with a full cache took 7 random writes per second where a whole band for each would allow 2.
const TAKEN_ALONG: [f64; 3] = [1.0, 3.5, 8.0];
/// Writes that the map of the media cache holds, whatever their size.
const MAP_ENTRIES: f64 = 182_000.0;

/// What a cache of a member takes until it is full: the first of the two that is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Bytes.
    pub bytes: f64,
    /// Writes; infinite = any number.
    pub writes: f64,
}

/// A shingled disk at one corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shingled {
    /// Random writes that it takes before bands are cleaned for each, bytes; fewer where the map is full before.
    pub media_bytes: f64,
    /// Whether the media cache is full.
    pub is_full: bool,
    /// Time that cleaning a band takes, ns.
    band_ns: f64,
    /// Bands of the part of the disk that is used.
    bands: f64,
    /// Writes that a cleaning takes along at least.
    along: f64,
}

impl Shingled {
    /// A disk of which this many bytes are used.
    pub(crate) fn new(hdd: &Hdd, corner: Corner, span_bytes: f64) -> Self {
        let band = hdd.band.cost_at(corner);
        let rate = f64::midpoint(hdd.outer_mb_s.rate_at(corner), hdd.inner_mb_s.rate_at(corner)) * 1e6;
        let move_ns = hdd.seek_avg_ms.cost_at(corner) * 1e6 + 30e9 / hdd.rpm.rate_at(corner);
        Self {
            media_bytes: hdd.media_cache.rate_at(corner),
            is_full: false,
            band_ns: 2.0 * (band / rate * 1e9 + move_ns),
            bands: (span_bytes / band).max(1.0),
            along: at_corner(TAKEN_ALONG, corner),
        }
    }

    /// What the media cache takes: its map is full after so many writes, which are far fewer bytes if they are
    /// small.
    #[must_use]
    pub fn takes(&self) -> Fill {
        Fill { bytes: self.media_bytes, writes: MAP_ENTRIES }
    }

    /// The same with a full media cache.
    #[must_use]
    pub fn full(self) -> Self {
        Self { is_full: true, ..self }
    }

    /// What a write of this size takes of the cleaning, ns.
    #[must_use]
    pub(crate) fn clean_ns(&self, bytes: f64) -> f64 {
        let held = (self.media_bytes / bytes.max(512.0)).min(MAP_ENTRIES);
        self.band_ns / (held / self.bands).max(self.along)
    }
}
