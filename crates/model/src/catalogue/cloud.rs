//! Volumes of clouds by the name they are sold under, with the limits that the providers publish.
//!
//! | provider | document |
//! |---|---|
//! | AWS | EC2 user guide, `ebs-volume-types.md` and others (awsdocs, 2023) |
//! | AWS | `general-purpose.md`, `hdd-vols.md`; gp3 up to 80,000 IOPS and 2,000 MiB/s: EBS user guide (2025) |
//! | Azure | azure-docs, `disk-storage-premium-ssd-sizes.md` (2023-03-16) |
//! | Azure | `-standard-ssd-sizes.md`, `-standard-hdd-sizes.md` (2019), `disks-types.md` |
//! | Google | Compute Engine, disk performance: table of 2020-12-07 |
//! | Google | The baseline of 6,000 IOPS and 240 MiB/s of SSD disks: the same |
//! | Alibaba | ECS, cloud disk parameters: cloud_ssd, cloud_efficiency |
//!
//! Latencies are not published but as "single-digit milliseconds", "below a millisecond": the ranges here hold that.
//! What a virtual machine may do to all of its volumes together is not part of a volume: it belongs into `[link]`.

use crate::array::{Array, Controller, Device, Flash, FlashState, Level};
use crate::quantity::{Provenance, Quantity};

use super::class::Range;

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;
/// Largest I/O that counts as one, bytes: on SSDs, and on volumes of disks (AWS, st1 and sc1).
const COUNTED_AS_ONE: f64 = 262_144.0;
const COUNTED_AS_ONE_ON_DISKS: f64 = MIB;
/// The largest volume, GiB: of gp2, io1, st1 and sc1 (AWS), and of gp3, io2, ultra, premium v2 and persistent disks.
const GIB_MAX: f64 = 16_384.0;
const GIB_MAX_LARGE: f64 = 65_536.0;
/// The credits of gp2, I/Os (AWS), and how long a small premium disk bursts, s (Azure).
const GP2_CREDITS: f64 = 5.4e6;
const AZURE_BURST_S: f64 = 1800.0;

/// What is asked of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Order {
    /// Its size, bytes.
    pub bytes: Option<f64>,
    /// I/Os per second that were paid for.
    pub iops: Option<f64>,
    /// Throughput that was paid for, MB/s (10^6).
    pub mb_s: Option<f64>,
}

/// The published limits of one volume.
struct Limits {
    /// Reads and writes per second, sustained.
    iops: [Range; 2],
    /// What it reaches for a while, and how many I/Os above the sustained rate.
    burst: Option<(f64, f64)>,
    /// MB/s (10^6), reads and writes.
    mb_s: [Range; 2],
    /// I/Os at one outstanding: reads and writes.
    alone: [Range; 2],
    /// Largest I/O that counts as one, bytes.
    counted: f64,
    /// What was written, for a sentence.
    source: &'static str,
}

/// How a volume's limits follow from an order: the size is in GiB.
type Rule = fn(&Order, f64) -> Result<Limits, String>;

/// Names, and the rule of each.
const VOLUMES: &[(&[&str], Rule)] = &[
    (&["gp2", "ebs-gp2"], gp2),
    (&["gp3", "ebs-gp3"], gp3),
    (&["io1", "ebs-io1"], io1),
    (&["io2", "io2-block-express", "ebs-io2"], io2),
    (&["st1", "ebs-st1"], st1),
    (&["sc1", "ebs-sc1"], sc1),
    (&["premium-ssd", "azure-premium", "premium_lrs", "premium"], premium),
    (&["premium-ssd-v2", "premiumv2_lrs", "premium-v2"], premium_v2),
    (&["ultra", "ultra-disk", "ultrassd_lrs"], ultra),
    (&["standard-ssd", "standardssd_lrs"], standard_ssd),
    (&["standard-hdd", "standard_lrs"], standard_hdd),
    (&["pd-standard"], pd_standard),
    (&["pd-balanced"], pd_balanced),
    (&["pd-ssd"], pd_ssd),
    (&["cloud_ssd", "cloud-ssd"], cloud_ssd),
];

/// The largest volume of a type, GiB; the tables of the others end with theirs.
const LARGEST: &[(&str, f64)] = &[
    ("gp2", GIB_MAX),
    ("gp3", GIB_MAX_LARGE),
    ("io1", GIB_MAX),
    ("io2", GIB_MAX_LARGE),
    ("st1", GIB_MAX),
    ("sc1", GIB_MAX),
    ("premium-ssd-v2", GIB_MAX_LARGE),
    ("ultra", GIB_MAX_LARGE),
    ("pd-standard", GIB_MAX_LARGE),
    ("pd-balanced", GIB_MAX_LARGE),
    ("pd-ssd", GIB_MAX_LARGE),
    ("cloud_ssd", 32_768.0),
];

/// The names of volumes, the first of each.
#[must_use]
pub fn names() -> Vec<&'static str> {
    VOLUMES.iter().map(|(names, _)| names[0]).collect()
}

/// The name of the volume that a device is; `None` where it is none.
#[must_use]
pub fn name_of(device: &Device) -> Option<&'static str> {
    let Device::Ssd(ssd) = device else { return None };
    names().into_iter().find(|name| *name == ssd.model)
}

/// Whether a device of that name is a volume.
#[must_use]
pub(crate) fn is_volume(name: &str) -> bool {
    VOLUMES.iter().any(|(names, _)| names[0] == name)
}

/// Returns the volume of a name as an array of one member.
///
/// # Errors
/// A sentence, if there is no such volume or it cannot be ordered so.
pub fn volume(name: &str, order: Order) -> Result<Array, String> {
    let plain = name.trim().to_lowercase().replace(' ', "-");
    let found = VOLUMES.iter().find(|(names, _)| names.contains(&plain.as_str()));
    let (names, rule) = found.ok_or_else(|| {
        let known = names();
        format!("`{name}` is not a volume that is known{}", assay_spec::suggest(&plain, &known))
    })?;
    let bytes = order.bytes.ok_or("a volume needs its `size`, like \"500GiB\"")?;
    let gib = bytes / GIB;
    if let Some((_, most)) = LARGEST.iter().find(|(known, most)| *known == names[0] && gib > *most) {
        return Err(format!("{gib:.0} GiB: the largest volume {} has {most} GiB", names[0]));
    }
    let limits = rule(&order, gib)?;
    Ok(array(names[0], bytes, &limits))
}

/// So many of these volumes side by side, each with the limits of its own.
#[must_use]
pub fn striped(mut array: Array, count: f64) -> Array {
    let times =
        |q: &Quantity| Quantity { value: q.value * count, lo: q.lo * count, hi: q.hi * count, ..q.clone() };
    let c = &mut array.controller;
    for limit in [&mut c.iops_max, &mut c.burst_iops, &mut c.burst_credits] {
        *limit = limit.as_ref().map(times);
    }
    array.raid.level = Level::Raid0;
    array.raid.disks = Quantity::exact(count, Provenance::Measured("given as `count`".to_owned()));
    array
}

fn array(name: &str, bytes: f64, limits: &Limits) -> Array {
    let sheet = || Provenance::Sheet(limits.source.to_owned());
    let published = |range: Range| range.quantity(sheet());
    let most = |at: usize| match limits.burst {
        Some((burst, _)) => Range(burst, burst, burst.max(limits.iops[at].2)),
        None => limits.iops[at],
    };
    let latency = |at: usize| {
        let Range(lo, value, hi) = limits.alone[at];
        let cap = most(at);
        let from = Provenance::Assumed(format!("latency of such volumes, {}", limits.source));
        Range(lo.min(cap.0), value.min(cap.1), hi.min(cap.2)).quantity(from)
    };
    let flash = Flash {
        model: name.to_owned(),
        capacity: Quantity::exact(bytes, sheet()),
        qd1_read_iops: latency(0),
        qd1_write_iops: latency(1),
        dies: Range(512.0, 1024.0, 4096.0)
            .quantity(Provenance::Assumed("a volume is spread over a service".to_owned())),
        read_iops_max: published(most(0)),
        write_iops_max: published(most(1)),
        read_mb_s: published(limits.mb_s[0]),
        write_mb_s: published(limits.mb_s[1]),
        state: FlashState::Fresh,
        // The service answers a write once it is durable.
        flush_ms: Some(Range(0.0, 0.05, 0.5).quantity(Provenance::Assumed("writes are durable".to_owned()))),
        ..Flash::default()
    };
    let [reads, writes] = limits.iops;
    let together = Range(reads.0.max(writes.0), reads.1.max(writes.1), reads.2.max(writes.2));
    let mut array = Array {
        name: name.to_owned(),
        title: format!("A volume {name}"),
        source: limits.source.to_owned(),
        device: Device::Ssd(flash),
        controller: Controller { iops_max: Some(published(together)), ..Controller::default() },
        ..Array::default()
    };
    array.raid.level = Level::Single;
    // I/Os that follow each other count as one up to this size.
    array.raid.chunk = Quantity::exact(limits.counted, sheet());
    array.raid.disks = Quantity::exact(1.0, Provenance::Assumed("by definition".to_owned()));
    if let Some((burst, credits)) = limits.burst {
        array.controller.burst_iops = Some(Quantity::exact(burst, sheet()));
        let from = Provenance::Sheet(format!("{}; they may be spent already", limits.source));
        array.controller.burst_credits = Some(Range(0.0, credits, credits).quantity(from));
    }
    array
}

const fn exactly(value: f64) -> Range {
    Range(value, value, value)
}

/// Single-digit milliseconds, as AWS and Google publish: 0.4 to 2 ms are usual. A volume of AWS of before gp3 took
/// 647 us for a 4 KiB read (median 410) and 598 for a write (median 556) at one outstanding
/// (buildkite/elastic-ci-stack-for-aws, pull request 682, 2020-09-17).
const SINGLE_DIGIT_MS: [Range; 2] = [Range(400.0, 1500.0, 2500.0), Range(400.0, 1500.0, 2200.0)];
/// The same of Azure: a premium disk wrote 2.207 MB/s in 4 KiB at one outstanding, 1.86 ms each (revelcloud, "Windows
/// Azure, disk performance surprises explained", about 2016).
const PREMIUM_ALONE: [Range; 2] = [Range(300.0, 900.0, 2000.0), Range(300.0, 800.0, 2000.0)];
/// The same of Google: a `pd-ssd` of 200 GB wrote 4 KiB with a flush after each 1,624 times per second at one
/// outstanding (openshift/release, pull request 33248, 2022-10-19), 0.6 ms each. Nobody was found to have published the
/// time of a read.
const PD_SSD_ALONE: [Range; 2] = [Range(400.0, 1500.0, 2500.0), Range(900.0, 2050.0, 3000.0)];
/// Below a millisecond on average.
const SUBMILLISECOND: [Range; 2] = [Range(1000.0, 2800.0, 5500.0), Range(1000.0, 2500.0, 5000.0)];
/// Below 500 us on average for 16 KiB: io2 (EBS user guide, "Amazon EBS optimization", 2025).
const HALF_A_MILLISECOND: [Range; 2] = [Range(1500.0, 3000.0, 5500.0), Range(1500.0, 3000.0, 5000.0)];
/// Volumes of disks: a seek and a revolution, and what caches in front of them hide.
const OF_DISKS: [Range; 2] = [Range(40.0, 100.0, 500.0), Range(40.0, 150.0, 500.0)];

const AWS: &str = "AWS, EC2 user guide, EBS volume types (2023), read 2026-11-24";
const AWS_GP3: &str = "AWS, EBS user guide, gp3 (2023 and 2025), read 2026-11-24";
const AZURE: &str = "Microsoft, azure-docs, disk sizes (2019 to 2023), read 2026-11-24";
const GOOGLE: &str = "Google, Compute Engine disk performance (2020-12-07), read 2026-11-24";
const ALIBABA: &str = "Alibaba Cloud, ECS cloud disk parameters, read 2026-11-24";

/// Limits that are the same for reads and writes.
fn alike(iops: Range, mb_s: Range, alone: [Range; 2], source: &'static str) -> Limits {
    Limits { iops: [iops; 2], burst: None, mb_s: [mb_s; 2], alone, counted: COUNTED_AS_ONE, source }
}

/// The IOPS of an order between what is included and the most.
fn ordered(what: &str, given: Option<f64>, included: f64, most: f64) -> Result<f64, String> {
    match given {
        None => Ok(included),
        Some(value) if value > most => {
            Err(format!("{value} {what} cannot be had of this size: at most {most:.0}"))
        }
        Some(value) => Ok(value.max(included.min(most))),
    }
}

/// What has no IOPS of its own to order.
fn fixed(order: &Order, name: &str) -> Result<(), String> {
    match order.iops.is_some() || order.mb_s.is_some() {
        true => Err(format!("the limits of {name} follow from its size; leave out `iops` and `throughput`")),
        false => Ok(()),
    }
}

fn gp2(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "gp2")?;
    let base = (3.0 * gib).clamp(100.0, 16_000.0);
    let mb_s = match gib {
        ..=170.0 => exactly(128.0 * 1.048_576),
        ..334.0 => Range(128.0 * 1.048_576, 250.0 * 1.048_576, 250.0 * 1.048_576),
        _ => exactly(250.0 * 1.048_576),
    };
    let limits = alike(exactly(base), mb_s, SINGLE_DIGIT_MS, AWS);
    Ok(Limits { burst: (base < 3000.0).then_some((3000.0, GP2_CREDITS)), ..limits })
}

fn gp3(order: &Order, gib: f64) -> Result<Limits, String> {
    let iops = ordered("IOPS", order.iops, 3000.0, (500.0 * gib).clamp(3000.0, 80_000.0))?;
    let most = (0.25 * iops).clamp(125.0, 2000.0) * 1.048_576;
    let mb_s = ordered("MB/s", order.mb_s, 125.0 * 1.048_576, most)?;
    Ok(alike(exactly(iops), exactly(mb_s), SINGLE_DIGIT_MS, AWS_GP3))
}

/// What has a throughput that follows from its IOPS.
fn of_iops(order: &Order, name: &str) -> Result<(), String> {
    match order.mb_s {
        Some(_) => Err(format!("the throughput of {name} follows from its IOPS; leave out `throughput`")),
        None => Ok(()),
    }
}

/// Up to 32,000 IOPS as much as I/Os of 256 KiB need, at most 500 MiB/s; above that 16 KiB for each of them, which are
/// 1,000 MiB/s for 64,000.
fn io1(order: &Order, gib: f64) -> Result<Limits, String> {
    of_iops(order, "io1")?;
    let most = (50.0 * gib).clamp(100.0, 64_000.0);
    let iops = order.iops.ok_or("io1 needs `iops`: the rate that was provisioned")?;
    let iops = ordered("IOPS", Some(iops), 100.0, most)?;
    let mib_s = if iops > 32_000.0 { iops / 64.0 } else { (iops / 4.0).min(500.0) };
    let mb_s = mib_s * 1.048_576;
    Ok(alike(exactly(iops), exactly(mb_s), SINGLE_DIGIT_MS, AWS))
}

fn io2(order: &Order, gib: f64) -> Result<Limits, String> {
    of_iops(order, "io2")?;
    let most = (1000.0 * gib).clamp(100.0, 256_000.0);
    let iops = order.iops.ok_or("io2 needs `iops`: the rate that was provisioned")?;
    let iops = ordered("IOPS", Some(iops), 100.0, most)?;
    let mb_s = (iops * 256.0 * 1024.0 / 1e6).min(4000.0 * 1.048_576);
    Ok(alike(exactly(iops), exactly(mb_s), HALF_A_MILLISECOND, AWS))
}

/// Volumes of disks: I/Os of up to 1 MiB that follow each other count as one, every other one as one too.
fn of_disks(gib: f64, [base, burst]: [f64; 2], [iops, most]: [f64; 2]) -> Limits {
    let tib = gib / 1024.0;
    let mib_s = |each: f64| (each * tib).min(most) * 1.048_576;
    let slow = mib_s(base).max(1.0);
    let mb_s = Range(slow, mib_s(burst).max(slow), mib_s(burst).max(slow));
    // Each random I/O costs the credits of 1 MiB.
    let random = |mb_s: f64| (mb_s / 1.048_576).min(iops).max(1.0);
    let limits = alike(Range(random(mb_s.0), random(mb_s.1), random(mb_s.2)), mb_s, OF_DISKS, AWS);
    Limits { counted: COUNTED_AS_ONE_ON_DISKS, ..limits }
}

fn st1(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "st1")?;
    Ok(of_disks(gib, [40.0, 250.0], [500.0, 500.0]))
}

fn sc1(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "sc1")?;
    Ok(of_disks(gib, [12.0, 80.0], [250.0, 250.0]))
}

/// Sizes up to which a step reaches, GiB, its IOPS and its MB/s.
type Steps = &'static [(f64, f64, f64)];

const PREMIUM: Steps = &[
    (32.0, 120.0, 25.0),
    (64.0, 240.0, 50.0),
    (128.0, 500.0, 100.0),
    (256.0, 1100.0, 125.0),
    (512.0, 2300.0, 150.0),
    (1024.0, 5000.0, 200.0),
    (2048.0, 7500.0, 250.0),
    (4096.0, 7500.0, 250.0),
    (8192.0, 16_000.0, 500.0),
    (16_384.0, 18_000.0, 750.0),
    (32_767.0, 20_000.0, 900.0),
];
const STANDARD_SSD: Steps = &[
    (32.0, 120.0, 25.0),
    (64.0, 240.0, 50.0),
    (4096.0, 500.0, 60.0),
    (8192.0, 2000.0, 400.0),
    (16_384.0, 4000.0, 600.0),
    (32_767.0, 6000.0, 750.0),
];
const STANDARD_HDD: Steps =
    &[(4096.0, 500.0, 60.0), (8192.0, 1300.0, 300.0), (16_384.0, 2000.0, 500.0), (32_767.0, 2000.0, 500.0)];

/// The step that a size falls into: sizes between are billed, and served, as the next one.
fn step(steps: Steps, gib: f64) -> Result<(f64, f64, f64), String> {
    let found = steps.iter().find(|(up_to, ..)| gib <= *up_to);
    found.copied().ok_or_else(|| "the largest disk has 32,767 GiB".to_owned())
}

fn premium(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "premium-ssd")?;
    let (up_to, iops, mb_s) = step(PREMIUM, gib)?;
    // Disks of up to 512 GiB burst by credits, larger ones only if that was bought.
    let burst = (up_to <= 512.0 && iops < 3500.0).then_some((3500.0, (3500.0 - iops) * AZURE_BURST_S));
    let limits = alike(exactly(iops), exactly(mb_s), PREMIUM_ALONE, AZURE);
    let mb_s = if burst.is_some() { Range(mb_s, mb_s, 170.0) } else { exactly(mb_s) };
    Ok(Limits { burst, mb_s: [mb_s; 2], ..limits })
}

fn premium_v2(order: &Order, gib: f64) -> Result<Limits, String> {
    let iops = ordered("IOPS", order.iops, 3000.0, (500.0 * gib).clamp(3000.0, 80_000.0))?;
    let mb_s = ordered("MB/s", order.mb_s, 125.0, (0.25 * iops).clamp(125.0, 1200.0))?;
    Ok(alike(exactly(iops), exactly(mb_s), SUBMILLISECOND, AZURE))
}

fn ultra(order: &Order, gib: f64) -> Result<Limits, String> {
    let most = (300.0 * gib).clamp(100.0, 160_000.0);
    let iops = order.iops.ok_or("ultra needs `iops`: the rate that was provisioned")?;
    let iops = ordered("IOPS", Some(iops), 100.0, most)?;
    let most = (iops * 256.0 / 1000.0).clamp(1.0, 4000.0);
    let mb_s = match order.mb_s {
        Some(given) if given > most => {
            return Err(format!("{given} MB/s cannot be had of {iops:.0} IOPS: at most {most:.0}"));
        }
        given => given.unwrap_or(most),
    };
    Ok(alike(exactly(iops), exactly(mb_s), SUBMILLISECOND, AZURE))
}

/// "Up to" these figures: it may be less.
fn up_to(steps: Steps, gib: f64, alone: [Range; 2]) -> Result<Limits, String> {
    let (_, iops, mb_s) = step(steps, gib)?;
    Ok(alike(Range(0.6 * iops, iops, iops), Range(0.6 * mb_s, mb_s, mb_s), alone, AZURE))
}

fn standard_ssd(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "standard-ssd")?;
    up_to(STANDARD_SSD, gib, [Range(100.0, 250.0, 1000.0), Range(100.0, 250.0, 1000.0)])
}

fn standard_hdd(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "standard-hdd")?;
    up_to(STANDARD_HDD, gib, OF_DISKS)
}

/// Persistent disks: so much for each GB, and a baseline of each machine that the older table does not have.
fn persistent(gib: f64, iops: [f64; 2], mb_s: f64, base: [f64; 2], alone: [Range; 2]) -> Limits {
    let gb = gib * GIB / 1e9;
    let most = [[100_000.0, 100_000.0], [80_000.0, 80_000.0], [7500.0, 15_000.0]];
    let caps = most[if iops[0] > 20.0 { 0 } else { usize::from(iops[0] < 1.0) + 1 }];
    let rate = |at: usize| {
        let scaled = iops[at] * gb;
        let value = (scaled + base[0]).min(caps[at]);
        Range(scaled.clamp(1.0, caps[at]).min(value), value, value)
    };
    let stream = |most: f64| {
        let value = (mb_s * gb + base[1]).min(most).max(1.0);
        Range((mb_s * gb).clamp(1.0, most).min(value), value, value)
    };
    let writes = if iops[0] < 1.0 { 400.0 } else { 1200.0 };
    Limits {
        iops: [rate(0), rate(1)],
        burst: None,
        mb_s: [stream(1200.0), stream(writes)],
        alone,
        counted: COUNTED_AS_ONE,
        source: GOOGLE,
    }
}

fn pd_standard(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "pd-standard")?;
    Ok(persistent(gib, [0.75, 1.5], 0.12, [0.0, 0.0], OF_DISKS))
}

fn pd_balanced(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "pd-balanced")?;
    Ok(persistent(gib, [6.0, 6.0], 0.28, [3000.0, 140.0], SINGLE_DIGIT_MS))
}

fn pd_ssd(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "pd-ssd")?;
    Ok(persistent(gib, [30.0, 30.0], 0.48, [6000.0, 240.0 * MIB / 1e6], PD_SSD_ALONE))
}

fn cloud_ssd(order: &Order, gib: f64) -> Result<Limits, String> {
    fixed(order, "cloud_ssd")?;
    let iops = (1800.0 + 30.0 * gib).min(25_000.0);
    let mb_s = (120.0 + 0.5 * gib).min(300.0);
    Ok(alike(exactly(iops), exactly(mb_s), SINGLE_DIGIT_MS, ALIBABA))
}
