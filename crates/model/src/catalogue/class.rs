//! Classes of drives: what stands in for a figure that no sheet gives. Every value has a range that holds the drives
//! of the class in the catalogue and in `arrays/unseen/`.

use crate::array::{Device, Flash, FlashState, Hdd, LinkRate};
use crate::quantity::{Provenance, Quantity};

/// The lowest, the usual and the highest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range(pub f64, pub f64, pub f64);

impl Range {
    pub(super) fn quantity(self, from: Provenance) -> Quantity {
        Quantity { value: self.1, lo: self.0, hi: self.2, from }
    }

    fn at_least(self, least: f64) -> Self {
        Self(self.0.max(least), self.1.max(least), self.2.max(least))
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        Self(self.0 * by, self.1 * by, self.2 * by)
    }
}

/// A class of drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the documentation")]
pub enum Class {
    Hdd7200,
    Hdd5400,
    Hdd10k,
    Hdd15k,
    Mobile5400,
    Mobile7200,
    SataSsd,
    SataSsdServer,
    SasSsd,
    Nvme,
    NvmeServer,
    Nvme4,
    Nvme4Server,
    Nvme5,
}

/// Seek times of a class, ms.
pub(super) struct SeekClass {
    pub track: Range,
    pub avg: Range,
    pub full: Range,
}

/// What a sheet gives of the mechanics of a disk.
pub(super) struct Given {
    pub track: Option<Quantity>,
    pub avg: Option<Quantity>,
    pub full: Option<Quantity>,
    pub outer: Option<Quantity>,
    pub inner: Option<Quantity>,
}

/// The inner zone over the outer one: 0.47 (Constellation ES.3) to 0.60 (Cheetah 15K.7) on six sheets.
const INNER: Range = Range(0.45, 0.52, 0.62);

/// The rate of the inner zone. 90 x 0.52 is 46.800000000000004, and nobody who reads it in an array file wants that.
fn inner_mb_s(outer: Range) -> Range {
    let rounded = |rate: f64| (rate * 1e6).round() / 1e6;
    Range(rounded(outer.0 * INNER.0), rounded(outer.1 * INNER.1), rounded(outer.2 * INNER.2))
}

impl Given {
    /// The disk of the class with what the sheet gives. A seek that the sheet has bounds those of the class: a track
    /// is no longer than the average, and a full stroke is 1.8 to 2.4 of it on ten sheets.
    pub(super) fn over(self, mut hdd: Hdd, (track, avg, full): (Range, Range, Range)) -> Hdd {
        let of_class = hdd.seek_avg_ms.from.clone();
        let seek = self.avg.unwrap_or_else(|| avg.quantity(of_class.clone()));
        let beside = |range: Range, ratio: Option<(f64, f64)>| {
            let mut q = range.quantity(of_class.clone());
            if let Some((least, most)) = ratio {
                q.value = q.value.clamp(seek.value * least, seek.value * most);
                (q.lo, q.hi) = (q.lo.min(q.value), q.hi.max(q.value));
                // Above the longest average, below the shortest: whatever the corner.
                q.lo = q.lo.max(seek.value * least).min(q.value);
                q.hi = q.hi.min(seek.hi * most).max(q.value);
            }
            q
        };
        hdd.seek_track_ms = self.track.unwrap_or_else(|| beside(track, Some((0.0, 0.5))));
        hdd.seek_full_ms = self.full.unwrap_or_else(|| beside(full, Some((1.5, 2.8))));
        hdd.seek_avg_ms = seek;
        if let Some(outer) = self.outer {
            let says = format!("{} to {} of the outer zone, as on other sheets", INNER.0, INNER.2);
            let inner = inner_mb_s(Range(outer.lo, outer.value, outer.hi));
            hdd.inner_mb_s = inner.quantity(Provenance::Assumed(says));
            hdd.outer_mb_s = outer;
        }
        if let Some(inner) = self.inner {
            hdd.inner_mb_s = inner;
        }
        hdd
    }
}

impl Class {
    /// All classes, in the order of messages.
    pub const ALL: [Self; 14] = [
        Self::Hdd7200,
        Self::Hdd5400,
        Self::Hdd10k,
        Self::Hdd15k,
        Self::Mobile5400,
        Self::Mobile7200,
        Self::SataSsd,
        Self::SataSsdServer,
        Self::SasSsd,
        Self::Nvme,
        Self::NvmeServer,
        Self::Nvme4,
        Self::Nvme4Server,
        Self::Nvme5,
    ];

    /// The word of an array file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.texts().0
    }

    /// What it is called in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Hdd7200 => ("hdd-7200", "class of 3.5 inch disks of 7200 rpm"),
            Self::Hdd5400 => ("hdd-5400", "class of 3.5 inch disks of 5400 rpm"),
            Self::Hdd10k => ("hdd-10k", "class of disks of 10,000 rpm"),
            Self::Hdd15k => ("hdd-15k", "class of disks of 15,000 rpm"),
            Self::Mobile5400 => ("hdd-5400-2.5", "class of 2.5 inch disks of 5400 rpm"),
            Self::Mobile7200 => ("hdd-7200-2.5", "class of 2.5 inch disks of 7200 rpm"),
            Self::SataSsd => ("ssd-sata", "class of SATA SSDs"),
            Self::SataSsdServer => ("ssd-sata-server", "class of SATA SSDs for servers"),
            Self::SasSsd => ("ssd-sas", "class of SAS SSDs"),
            Self::Nvme => ("nvme", "class of NVMe drives of PCIe 3.0"),
            Self::NvmeServer => ("nvme-server", "class of NVMe drives of PCIe 3.0 for servers"),
            Self::Nvme4 => ("nvme4", "class of NVMe drives of PCIe 4.0"),
            Self::Nvme4Server => ("nvme4-server", "class of NVMe drives of PCIe 4.0 for servers"),
            Self::Nvme5 => ("nvme5", "class of NVMe drives of PCIe 5.0"),
        }
    }

    /// The class of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word.trim().to_lowercase())
    }

    /// The class of a disk by its speed and size.
    pub(super) fn of_speed(rpm: f64, is_mobile: bool) -> Self {
        match (rpm, is_mobile) {
            (13_000.0.., _) => Self::Hdd15k,
            (9_000.0.., _) => Self::Hdd10k,
            (6_500.0.., false) => Self::Hdd7200,
            (6_500.0.., true) => Self::Mobile7200,
            (_, false) => Self::Hdd5400,
            (_, true) => Self::Mobile5400,
        }
    }

    /// The class of a solid-state drive by its link.
    #[must_use]
    pub fn of_link(link: LinkRate, is_server: bool) -> Self {
        match (link, is_server) {
            (LinkRate::Pcie { generation: 5.., .. }, _) => Self::Nvme5,
            (LinkRate::Pcie { generation: 4, .. }, true) => Self::Nvme4Server,
            (LinkRate::Pcie { generation: 4, .. }, false) => Self::Nvme4,
            (LinkRate::Pcie { .. }, true) => Self::NvmeServer,
            (LinkRate::Pcie { .. }, false) => Self::Nvme,
            (LinkRate::Sas { .. }, _) => Self::SasSsd,
            (_, true) => Self::SataSsdServer,
            (_, false) => Self::SataSsd,
        }
    }

    /// The class that the maker's name for a drive gives away, where it does.
    #[must_use]
    pub(super) fn of_name(words: &[String]) -> Option<Self> {
        let begins = |list: &[&str]| words.iter().any(|w| list.iter().any(|begin| w.starts_with(begin)));
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let seagate = words.iter().find_map(|word| seagate_kind(word));
        match () {
            () if begins(&["MZWLO"]) => Some(Self::Nvme5),
            () if begins(&["MZQL2", "MZWLJ", "MZWLR", "SSDPF2", "KCD6", "KCM6", "KCD8", "MTFDKC"]) => {
                Some(Self::Nvme4Server)
            }
            () if begins(&[
                "MZQLB", "MZWLL", "MZQLW", "SSDPE2", "SSDPED", "MTFDHBE", "MTFDHBG", "KCD5", "KCM5",
            ]) =>
            {
                Some(Self::NvmeServer)
            }
            () if has(&["NVME", "OPTANE"]) || begins(&["SSDPE", "SSDPF", "MZQL", "MZVL", "MZ-V", "MZWL"]) => {
                Some(Self::Nvme)
            }
            () if words.iter().any(|word| is_nvme_name(word, words)) => Some(Self::Nvme),
            () if begins(&["SSDSC", "MZ7", "MZ-7", "MTFDDAK", "CT"]) || has(&["SSD"]) => Some(Self::SataSsd),
            () if seagate.is_some() => seagate,
            () if begins(&["HUC"]) => Some(Self::Hdd10k),
            () if begins(&["HUS15"]) => Some(Self::Hdd15k),
            () if begins(&["HTS54", "MQ0", "HTS42"]) => Some(Self::Mobile5400),
            () if begins(&["HTS7", "HTE7"]) => Some(Self::Mobile7200),
            () if begins(&["HUS7", "HUH7", "HUA7", "HDS7", "HDT7", "MG0", "MG1", "DT01", "WUH7"]) => {
                Some(Self::Hdd7200)
            }
            () => words.iter().find_map(|word| western_digital_kind(word)),
        }
    }

    /// Seek times of a class of disks, ms.
    pub(super) const fn seeks(self) -> SeekClass {
        let (track, avg, full) = match self {
            Self::Hdd15k => (Range(0.2, 0.3, 0.6), Range(2.6, 3.3, 4.0), Range(6.5, 7.5, 9.5)),
            Self::Hdd10k => (Range(0.2, 0.35, 0.8), Range(3.4, 4.2, 5.3), Range(7.3, 8.5, 11.5)),
            Self::Mobile7200 => (Range(0.2, 0.8, 1.5), Range(7.5, 11.0, 13.0), Range(16.0, 19.0, 24.0)),
            Self::Mobile5400 => (Range(0.8, 1.0, 2.0), Range(11.0, 12.0, 15.0), Range(18.0, 21.0, 28.0)),
            Self::Hdd5400 => (Range(0.5, 1.2, 2.0), Range(9.0, 12.0, 15.0), Range(18.0, 23.0, 28.0)),
            _ => (Range(0.23, 0.8, 2.0), Range(7.4, 8.5, 10.0), Range(15.0, 17.5, 21.0)),
        };
        SeekClass { track, avg, full }
    }

    /// A drive of the class; `from` says why its numbers are those.
    #[must_use]
    pub fn device(self, model: &str, capacity: Option<f64>, from: &str) -> Device {
        let assumed = || Provenance::Assumed(from.to_owned());
        match self {
            Self::Hdd7200
            | Self::Hdd5400
            | Self::Hdd10k
            | Self::Hdd15k
            | Self::Mobile5400
            | Self::Mobile7200 => Device::Hdd(self.disk(model, capacity, &assumed)),
            _ => Device::Ssd(self.flash(model, capacity, &assumed)),
        }
    }

    fn disk(self, model: &str, capacity: Option<f64>, assumed: &dyn Fn() -> Provenance) -> Hdd {
        let (rpm, usual) = match self {
            Self::Hdd15k => (Range(15_000.0, 15_000.0, 15_000.0), 300e9),
            Self::Hdd10k => (Range(10_000.0, 10_000.0, 10_520.0), 600e9),
            Self::Hdd5400 => (Range(5400.0, 5400.0, 5980.0), 4e12),
            Self::Mobile5400 => (Range(5400.0, 5400.0, 5526.0), 500e9),
            Self::Mobile7200 => (Range(7200.0, 7200.0, 7278.0), 500e9),
            _ => (Range(7200.0, 7200.0, 7200.0), 4e12),
        };
        let capacity = capacity.unwrap_or(usual);
        let outer = self.outer_mb_s(capacity);
        let SeekClass { track, avg, full } = self.seeks();
        // SATA disks come with their write cache on, SAS disks with it off.
        let mib = |lo: f64, value: f64, hi: f64| Range(lo, value, hi).scaled(1_048_576.0);
        let cache = match self {
            Self::Hdd10k | Self::Hdd15k => None,
            Self::Mobile5400 | Self::Mobile7200 => Some(mib(8.0, 16.0, 128.0)),
            _ if capacity >= 6e12 => Some(mib(128.0, 256.0, 512.0)),
            _ if capacity >= 1.5e12 => Some(mib(32.0, 64.0, 256.0)),
            _ => Some(mib(8.0, 32.0, 64.0)),
        };
        Hdd {
            model: model.to_owned(),
            rpm: rpm.quantity(assumed()),
            seek_track_ms: track.quantity(assumed()),
            seek_avg_ms: avg.quantity(assumed()),
            seek_full_ms: full.quantity(assumed()),
            outer_mb_s: outer.quantity(assumed()),
            inner_mb_s: inner_mb_s(outer).quantity(assumed()),
            capacity: Quantity::exact(capacity, assumed()),
            write_cache: cache.map(|cache| cache.quantity(assumed())),
            ..Hdd::default()
        }
    }

    /// The outer rate of disks of a class grows with their capacity, MB/s: density along a track is about the square
    /// root of that of an area.
    fn outer_mb_s(self, capacity: f64) -> Range {
        match (self, capacity) {
            (Self::Hdd15k, 250e9..) => Range(120.0, 180.0, 270.0),
            (Self::Hdd15k, _) => Range(75.0, 100.0, 160.0),
            (Self::Hdd10k, 500e9..) => Range(130.0, 180.0, 270.0),
            (Self::Hdd10k, 140e9..) => Range(75.0, 115.0, 160.0),
            (Self::Hdd10k, _) => Range(55.0, 75.0, 100.0),
            (Self::Hdd5400, 6e12..) => Range(150.0, 180.0, 215.0),
            (Self::Hdd5400, 3e12..) => Range(130.0, 155.0, 185.0),
            (Self::Hdd5400, 1e12..) => Range(90.0, 120.0, 180.0),
            (Self::Hdd5400, _) => Range(55.0, 85.0, 150.0),
            (Self::Mobile5400, 1e12..) => Range(95.0, 120.0, 145.0),
            (Self::Mobile5400, 300e9..) => Range(60.0, 90.0, 140.0),
            (Self::Mobile5400, _) => Range(35.0, 55.0, 80.0),
            (Self::Mobile7200, 500e9..) => Range(100.0, 120.0, 150.0),
            (Self::Mobile7200, _) => Range(60.0, 85.0, 130.0),
            (_, 12e12..) => Range(220.0, 255.0, 310.0),
            (_, 6e12..) => Range(175.0, 215.0, 262.0),
            (_, 3e12..) => Range(140.0, 170.0, 220.0),
            (_, 1e12..) => Range(95.0, 135.0, 210.0),
            _ => Range(55.0, 90.0, 170.0),
        }
    }

    fn flash(self, model: &str, capacity: Option<f64>, assumed: &dyn Fn() -> Provenance) -> Flash {
        let rates = self.flash_rates();
        let capacity = capacity.unwrap_or(960e9);
        let q = |range: Range| range.quantity(assumed());
        // About a die for each 32 GB; at the fast end both planes read by themselves, at the slow end it holds 64.
        let dies = (capacity / 32e9).clamp(4.0, 256.0).round();
        let is_client = rates.slc.is_some();
        // The rates of a class are those of about 1 TB, and those of its SLC cache of half of that. Smaller drives of
        // clients have fewer dies behind each channel.
        let [of_dies, of_slc] = match is_client {
            true => [(capacity / 960e9).clamp(0.1, 1.0).powf(OF_DIES), (capacity / 512e9).clamp(0.2, 1.0)],
            false => [1.0; 2],
        };
        let read_mb = match (is_client, rates.link) {
            (true, LinkRate::Pcie { .. }) => {
                let left = (capacity / 960e9).clamp(0.1, 1.0).sqrt();
                Range(rates.read_mb.0 * left, rates.read_mb.1 * left, rates.read_mb.2)
            }
            _ => rates.read_mb,
        };
        let of_size = |range: Range, power: f64| match (is_client, rates.link) {
            (false, LinkRate::Pcie { .. }) => {
                let left = (capacity / SERVER_BYTES).clamp(0.1, 1.0).powf(power);
                Range(range.0 * left, range.1 * left, range.2)
            }
            _ => range,
        };
        Flash {
            model: model.to_owned(),
            capacity: Quantity::exact(capacity, assumed()),
            qd1_read_iops: q(rates.qd1_read),
            qd1_write_iops: q(rates.qd1_write),
            dies: q(Range((dies / 2.0).round(), dies, dies * 2.0)),
            read_iops_max: q(rates.reads),
            write_iops_max: q(of_size(rates.writes, 0.3)),
            read_mb_s: q(read_mb),
            write_mb_s: q(of_size(rates.write_mb, 0.5).scaled(of_slc)),
            // A loop device of some MiB is of a class too, and an array file takes no cache below a MiB.
            slc: rates.slc.map(|share| q(share.scaled(capacity).at_least(1_048_576.0))),
            slc_full_mb_s: rates.slc_full.map(|rate| q(rate.scaled(of_dies))),
            steady_write_iops: Some(q(of_size(rates.steady, 0.3).scaled(of_dies))),
            state: if is_client { FlashState::Fresh } else { FlashState::Unknown },
            link: rates.link,
            // Server drives keep what they answered through a power cut; of client drives nothing is known.
            flush_ms: (!is_client).then(|| q(FLUSH_SERVER)),
        }
    }

    const fn flash_rates(self) -> FlashRates {
        match self {
            Self::SataSsdServer => SATA_SERVER,
            Self::SasSsd => SAS,
            Self::NvmeServer => NVME_SERVER,
            Self::Nvme4Server => NVME4_SERVER,
            Self::Nvme => NVME,
            Self::Nvme4 => NVME4,
            Self::Nvme5 => NVME5,
            _ => SATA,
        }
    }
}

/// Size of the NVMe drives for servers whose writes the classes have, bytes. Below it they grow with a power of the
/// size: 0.52 for random writes and 0.79 for streams of P4500 of 1 and 4 TB (30,500 and 62,500 per second, 600 and
/// 1,800 MB/s), 0.16 and 0 of PM983 of 0.96 and 3.84 TB (40,000 and 50,000 per second, 2,100 MB/s), as their sheets
/// say. The class takes 0.3 and 0.5, between the two, and leaves its fast end as it is.
const SERVER_BYTES: f64 = 3.84e12;
/// Power of the size with which drives of clients program once their SLC cache is full. Of 19 of one collection, in the
/// middle, those of 256 GB wrote 15,500 and those of 512 GB 18,000 times per second at random, and streamed 400 and 650
/// MB/s with what the cache took; the same drives read 1.6 and 2.2 GB/s, which goes with the root.
const OF_DIES: f64 = 0.75;
/// A flush of a drive for servers, ms: nearly all of them have capacitors, and a flush is then a command that finds
/// nothing to do. A few have none.
const FLUSH_SERVER: Range = Range(0.0, 0.02, 0.5);

/// What drives of a class do: I/Os per second, MB/s; SLC as a share of the capacity.
struct FlashRates {
    qd1_read: Range,
    qd1_write: Range,
    reads: Range,
    writes: Range,
    read_mb: Range,
    write_mb: Range,
    slc: Option<Range>,
    slc_full: Option<Range>,
    steady: Range,
    link: LinkRate,
}

const SATA: FlashRates = FlashRates {
    qd1_read: Range(6500.0, 9500.0, 14_000.0),
    qd1_write: Range(14_000.0, 30_000.0, 42_000.0),
    reads: Range(60_000.0, 92_000.0, 98_000.0),
    writes: Range(20_000.0, 80_000.0, 92_000.0),
    read_mb: Range(480.0, 550.0, 560.0),
    write_mb: Range(300.0, 505.0, 530.0),
    slc: Some(Range(0.005, 0.03, 0.1)),
    slc_full: Some(Range(100.0, 350.0, 520.0)),
    steady: Range(4000.0, 20_000.0, 40_000.0),
    link: LinkRate::Sata(6.0),
};
const SATA_SERVER: FlashRates = FlashRates {
    qd1_read: Range(6500.0, 9000.0, 14_000.0),
    qd1_write: Range(14_000.0, 25_000.0, 45_000.0),
    reads: Range(70_000.0, 92_000.0, 98_000.0),
    writes: Range(15_000.0, 40_000.0, 75_000.0),
    read_mb: Range(480.0, 540.0, 560.0),
    write_mb: Range(280.0, 490.0, 530.0),
    slc: None,
    slc_full: None,
    steady: Range(14_000.0, 32_000.0, 65_000.0),
    link: LinkRate::Sata(6.0),
};
const SAS: FlashRates = FlashRates {
    qd1_read: Range(6500.0, 9000.0, 12_500.0),
    qd1_write: Range(14_000.0, 28_000.0, 50_000.0),
    reads: Range(80_000.0, 150_000.0, 400_000.0),
    writes: Range(20_000.0, 65_000.0, 160_000.0),
    read_mb: Range(480.0, 1000.0, 2100.0),
    write_mb: Range(250.0, 700.0, 1900.0),
    slc: None,
    slc_full: None,
    steady: Range(15_000.0, 50_000.0, 120_000.0),
    link: LinkRate::Sas { lane_gbit_s: 12.0, lanes: 1 },
};
const NVME: FlashRates = FlashRates {
    qd1_read: Range(9000.0, 12_000.0, 20_000.0),
    qd1_write: Range(25_000.0, 50_000.0, 80_000.0),
    reads: Range(150_000.0, 430_000.0, 650_000.0),
    writes: Range(150_000.0, 400_000.0, 600_000.0),
    read_mb: Range(1700.0, 3300.0, 3500.0),
    write_mb: Range(900.0, 2500.0, 3300.0),
    slc: Some(Range(0.005, 0.05, 0.3)),
    slc_full: Some(Range(150.0, 800.0, 2000.0)),
    steady: Range(15_000.0, 38_000.0, 200_000.0),
    link: LinkRate::Pcie { generation: 3, lanes: 4 },
};
const NVME_SERVER: FlashRates = FlashRates {
    qd1_read: Range(8000.0, 11_000.0, 15_000.0),
    qd1_write: Range(18_000.0, 42_000.0, 75_000.0),
    reads: Range(250_000.0, 480_000.0, 650_000.0),
    writes: Range(30_000.0, 60_000.0, 350_000.0),
    read_mb: Range(2000.0, 3200.0, 3500.0),
    write_mb: Range(600.0, 1600.0, 3000.0),
    slc: None,
    slc_full: None,
    steady: Range(25_000.0, 45_000.0, 250_000.0),
    link: LinkRate::Pcie { generation: 3, lanes: 4 },
};
const NVME4: FlashRates = FlashRates {
    qd1_read: Range(12_000.0, 18_000.0, 24_000.0),
    qd1_write: Range(40_000.0, 65_000.0, 95_000.0),
    reads: Range(450_000.0, 800_000.0, 1_400_000.0),
    writes: Range(450_000.0, 850_000.0, 1_550_000.0),
    read_mb: Range(4000.0, 6800.0, 7450.0),
    write_mb: Range(2800.0, 5300.0, 7000.0),
    slc: Some(Range(0.02, 0.2, 0.33)),
    slc_full: Some(Range(150.0, 1200.0, 3000.0)),
    steady: Range(20_000.0, 90_000.0, 300_000.0),
    link: LinkRate::Pcie { generation: 4, lanes: 4 },
};
const NVME4_SERVER: FlashRates = FlashRates {
    qd1_read: Range(9000.0, 12_500.0, 17_000.0),
    qd1_write: Range(30_000.0, 60_000.0, 90_000.0),
    reads: Range(500_000.0, 950_000.0, 1_400_000.0),
    writes: Range(80_000.0, 190_000.0, 500_000.0),
    read_mb: Range(4400.0, 6600.0, 7200.0),
    write_mb: Range(1000.0, 3800.0, 6000.0),
    slc: None,
    slc_full: None,
    steady: Range(70_000.0, 150_000.0, 350_000.0),
    link: LinkRate::Pcie { generation: 4, lanes: 4 },
};
const NVME5: FlashRates = FlashRates {
    qd1_read: Range(13_000.0, 19_000.0, 26_000.0),
    qd1_write: Range(45_000.0, 75_000.0, 105_000.0),
    reads: Range(800_000.0, 1_500_000.0, 2_600_000.0),
    writes: Range(500_000.0, 1_500_000.0, 2_600_000.0),
    read_mb: Range(6400.0, 12_000.0, 14_800.0),
    write_mb: Range(5000.0, 10_500.0, 13_500.0),
    slc: Some(Range(0.05, 0.25, 0.33)),
    slc_full: Some(Range(400.0, 2000.0, 4500.0)),
    steady: Range(40_000.0, 150_000.0, 700_000.0),
    link: LinkRate::Pcie { generation: 5, lanes: 4 },
};

/// Seagate's names since 2011: `ST`, the capacity in GB, two letters of the line, digits: `ST8000NM0055`.
fn seagate_kind(word: &str) -> Option<Class> {
    let rest = word.strip_prefix("ST")?;
    let letters = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let line: String = letters.chars().take(2).collect();
    match line.as_str() {
        "NM" | "DM" | "VE" | "NE" => Some(Class::Hdd7200),
        "VN" | "VX" | "DL" | "AS" => Some(Class::Hdd5400),
        "LM" => Some(Class::Mobile5400),
        "NX" | "LX" => Some(Class::Mobile7200),
        "MM" => Some(Class::Hdd10k),
        "MP" => Some(Class::Hdd15k),
        "FM" => Some(Class::SasSsd),
        _ => None,
    }
}

/// `WD`, digits, and letters, of which the first tells the lines of 7200 rpm (Black, Gold, RE, Red Pro) and of 2.5
/// inch apart: `WD40EFRX`, `WD4003FZEX`.
fn western_digital_kind(word: &str) -> Option<Class> {
    let rest = word.strip_prefix("WD")?;
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    match rest.chars().nth(digits).filter(|_| digits >= 2)? {
        'A' | 'F' | 'K' => Some(Class::Hdd7200),
        'B' | 'J' | 'L' | 'S' => Some(Class::Mobile5400),
        'H' => Some(Class::Hdd10k),
        letter if letter.is_ascii_alphabetic() => Some(Class::Hdd5400),
        _ => None,
    }
}

/// Whether a word of a name means NVMe, though the name says `SSD` alone: `Samsung SSD 980 PRO`, `WD_BLACK SN850X`,
/// `CT1000P5PSSD8`, `KINGSTON SKC3000`.
fn is_nvme_name(word: &str, all: &[String]) -> bool {
    let is_digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let samsung = ["950", "960", "970", "980", "990", "9100"].contains(&word)
        && all.iter().any(|w| ["SSD", "PRO", "EVO"].contains(&w.as_str()));
    let western_digital =
        word.strip_prefix("SN").and_then(|rest| rest.get(..3)).is_some_and(|n| is_digits(n, 3));
    let crucial = word.strip_prefix("CT").is_some_and(|rest| {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        behind.len() < rest.len()
            && ["P1", "P2", "P3", "P5", "T5", "T7"].iter().any(|kind| behind.starts_with(kind))
    });
    let kingston = ["SKC2", "SKC3", "SNV", "SFYR"].iter().any(|begin| word.starts_with(begin));
    samsung || western_digital || crucial || kingston
}
