//! XML profiles of DiskSpd (`-X`): each time span becomes a test, each of its targets a job.

use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{
    Access, Data, Distribution, Extent, IO_BYTES_MAX, OUTSTANDING_MAX, Semantics, WORKERS_MAX, Window, Zone,
};

use super::short;
use crate::draft::{Draft, DraftJob, DraftTest};
use crate::names::{file_name, stem};
use crate::secrets::of_text;
use crate::targets::TargetNames;
use crate::xml::{self, Element};
use crate::{ImportError, ImportOptions, ImportedPlan, Note, complain};

/// Whether a text is such a profile.
pub fn is_profile(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(4096)];
    head.contains("<Profile>") && !head.contains("<Results>")
}

/// Reads a profile.
///
/// # Errors
/// When it is no XML, has no time span, or a value is out of range.
pub fn import(origin: &str, text: &str, options: &ImportOptions) -> Result<ImportedPlan, ImportError> {
    let root = xml::parse(origin, &of_text(text))?;
    let spans: Vec<&Element> =
        root.child("TimeSpans").map(|spans| spans.all("TimeSpan").collect()).unwrap_or_default();
    if root.name != "Profile" || spans.is_empty() {
        return Err(complain(origin, root.line, "is not a DiskSpd profile: it has no TimeSpan"));
    }
    let mut notes = Vec::new();
    let (mut tests, mut users, mut size) = (Vec::new(), Vec::new(), None);
    for (number, span) in (1..).zip(&spans) {
        let reader = Reader { origin, span };
        let (test, names) = reader.test(number, &mut size, &mut notes)?;
        tests.push(test);
        users.extend(names);
    }
    notes.sort_by_key(|note: &Note| note.line);
    notes.dedup_by(|a, b| a.says == b.says);
    let targets = TargetNames::of(origin, &users, options, &mut notes)?;
    for (user, job) in tests.iter_mut().flat_map(|test: &mut DraftTest| &mut test.jobs).enumerate() {
        job.targets = targets.of_user(user, usize::MAX);
        if job.window.size.is_some() && size.is_some_and(|size| job.window.of(u64::MAX).end == size) {
            job.window.size = None;
        }
    }
    let seed =
        spans[0].text_of("RandSeed").and_then(|text| text.parse::<u64>().ok()).filter(|seed| *seed > 0);
    let draft = Draft {
        name: stem(origin).to_owned(),
        about: String::new(),
        source: format!("DiskSpd profile {}.", file_name(origin)),
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Assay,
        seed: seed.map(|seed| seed & (i64::MAX as u64)),
        size: size.map(Bytes),
        tests,
    };
    Ok(draft.imported("DiskSpd profile", notes, targets))
}

/// One time span being read.
struct Reader<'r> {
    origin: &'r str,
    span: &'r Element,
}

impl Reader<'_> {
    fn number(&self, of: &Element, name: &str, most: u64) -> Result<Option<u64>, ImportError> {
        let Some(child) = of.child(name).filter(|child| !child.text.is_empty()) else { return Ok(None) };
        match child.text.parse::<u64>() {
            Ok(value) if value <= most => Ok(Some(value)),
            _ => Err(complain(
                self.origin,
                child.line,
                format!("<{name}>: `{}` must be a whole number up to {most}", short(&child.text)),
            )),
        }
    }

    fn test(
        &self,
        number: usize,
        size: &mut Option<u64>,
        notes: &mut Vec<Note>,
    ) -> Result<(DraftTest, Vec<Vec<String>>), ImportError> {
        let span = self.span;
        let targets: Vec<&Element> =
            span.child("Targets").map(|targets| targets.all("Target").collect()).unwrap_or_default();
        if targets.is_empty() || targets.len() > 256 {
            return Err(complain(self.origin, span.line, "the time span must have from 1 to 256 targets"));
        }
        let shared = self.number(span, "ThreadCount", WORKERS_MAX)?.filter(|threads| *threads > 0);
        if shared.is_some() {
            notes.push(Note::new(
                span.line,
                "ThreadCount: DiskSpd's threads serve all targets; here each target has as many of its own.",
            ));
        }
        let (mut jobs, mut users) = (Vec::new(), Vec::new());
        for (index, target) in (1..).zip(&targets) {
            let end =
                self.number(target, "MaxFileSize", 1 << 62)?.or(self.number(target, "FileSize", 1 << 62)?);
            *size = (*size).max(end.filter(|end| *end > 0));
            let job = self.job(target, shared, notes)?;
            // A target may end before the largest of them.
            let own = end.filter(|end| *end > 0).map(|end| end.saturating_sub(job.window.offset.of(end)));
            let window = Window { size: own.map(|own| Extent::Bytes(Bytes(own))), ..job.window };
            jobs.push(DraftJob { name: format!("target {index}"), window, ..job });
            users.push(target.text_of("Path").map(|path| vec![path.to_owned()]).unwrap_or_default());
        }
        let seconds = |name: &str| self.number(span, name, 366 * 86_400);
        if seconds("Cooldown")?.is_some_and(|cooldown| cooldown > 0) {
            notes.push(Note::new(span.line, "Cooldown: the load ends with the measured window."));
        }
        let test = DraftTest {
            name: format!("timespan {number}"),
            run: Some(Nanos::from_secs(seconds("Duration")?.unwrap_or(10).max(1))),
            warmup: Nanos::from_secs(seconds("Warmup")?.unwrap_or(5)),
            jobs,
            ..DraftTest::default()
        };
        Ok((test, users))
    }

    fn job(
        &self,
        target: &Element,
        shared: Option<u64>,
        notes: &mut Vec<Note>,
    ) -> Result<DraftJob, ImportError> {
        let size = self.number(target, "BlockSize", IO_BYTES_MAX)?.unwrap_or(64 << 10).max(1);
        let threads = self.number(target, "ThreadsPerFile", WORKERS_MAX)?.unwrap_or(1).max(1);
        let depth = self.number(target, "RequestCount", OUTSTANDING_MAX)?.unwrap_or(2).max(1);
        let writes = self.number(target, "WriteRatio", 100)?.unwrap_or(0);
        let random_align = self.number(target, "Random", IO_BYTES_MAX)?;
        let random = match (self.number(target, "RandomRatio", 100)?, random_align) {
            (Some(share), _) => share,
            (None, Some(_)) => 100,
            (None, None) => 0,
        };
        let stride = self.number(target, "StrideSize", IO_BYTES_MAX)?;
        if stride.is_some_and(|stride| stride != size) && random == 0 {
            notes.push(Note::new(target.line, "StrideSize: I/Os follow one another without a stride."));
        }
        let workers = shared.unwrap_or(threads);
        if target.is_on("InterlockedSequential")
            || target.is_on("ParallelAsyncIO")
            || (workers > 1 && random == 0)
        {
            let says = "Each thread streams through its own part of the target; DiskSpd's begin at one place without a \
                        ThreadStride, or share their position.";
            notes.push(Note::new(target.line, says));
        }
        let is_past_cache = ["DisableOSCache", "DisableAllCache"].iter().any(|name| target.is_on(name));
        if !is_past_cache {
            notes.push(Note::new(
                target.line,
                "DiskSpd uses the page cache here; Assay bypasses it (--cached uses it).",
            ));
        }
        let percent = |share: u64| f64::from(u32::try_from(share).unwrap_or(100));
        let burst = self.number(target, "BurstSize", 1_000_000_000)?.filter(|burst| *burst > 0);
        let pause = self.number(target, "ThinkTime", 86_400_000)?.filter(|_| burst.is_some());
        let line = Access {
            size: Bytes(size),
            read: percent(100 - writes),
            random: percent(random),
            align: Bytes(random_align.filter(|align| *align > 0).unwrap_or(size)),
            distribution: match target.child("Distribution").filter(|_| random > 0) {
                Some(distribution) => self.distribution(distribution)?,
                None => Distribution::Uniform,
            },
            burst: u32::try_from(burst.unwrap_or(1)).unwrap_or(1),
            delay: Nanos::from_millis(pause.unwrap_or(0)),
            ..Access::default()
        };
        let offset = self.number(target, "BaseFileOffset", 1 << 62)?.unwrap_or(0);
        // Bytes per millisecond of each thread, or I/Os per second.
        let rate = self.number(target, "Throughput", 1 << 40)?.filter(|rate| *rate > 0);
        let counts_ios = target.child("Throughput").and_then(|rate| rate.attribute("unit")) == Some("IOPS");
        let of_one = |rate: u64| if counts_ios { rate as f64 } else { rate as f64 * 1000.0 / size as f64 };
        Ok(DraftJob {
            workers: u32::try_from(workers).unwrap_or(1),
            outstanding: u32::try_from(depth).unwrap_or(1),
            pace: rate.map(|rate| (PerSecond(of_one(rate) * workers as f64), None)),
            data: Some(self.data(target)),
            is_durable: writes > 0 && (target.is_on("WriteThrough") || target.is_on("DisableAllCache")),
            mix: vec![line],
            window: Window { offset: Extent::Bytes(Bytes(offset)), size: None },
            ..DraftJob::default()
        })
    }

    fn data(&self, target: &Element) -> Data {
        let is_random = self.span.is_on("RandomWriteData")
            || target
                .child("WriteBufferContent")
                .is_some_and(|content| content.child("RandomDataSource").is_some());
        if is_random { Data::Unique } else { Data::IometerRepeating }
    }

    /// `<Percent><Range IO="10">20</Range>…`: a share of the I/Os for each part of the target, percent or bytes.
    fn distribution(&self, of: &Element) -> Result<Distribution, ImportError> {
        let mut zones = Vec::new();
        for kind in ["Percent", "Absolute"] {
            for range in of.child(kind).into_iter().flat_map(|ranges| ranges.all("Range")) {
                let complaint = || {
                    complain(
                        self.origin,
                        range.line,
                        format!("<Range>: `{}` cannot be read", short(&range.text)),
                    )
                };
                let share = range.attribute("IO").and_then(|io| io.parse::<f64>().ok());
                let share = share.filter(|share| (0.0..=100.0).contains(share)).ok_or_else(complaint)?;
                let value = range.text.parse::<u64>().map_err(|_| complaint())?;
                let size = match kind {
                    "Percent" if value <= 100 => Extent::Percent(value as f64),
                    "Percent" => return Err(complaint()),
                    _ => Extent::Bytes(Bytes(value)),
                };
                zones.push(Zone { share, size });
            }
        }
        zones_of(zones).map_err(|why| complain(self.origin, of.line, format!("<Distribution>: {why}")))
    }
}

/// What is left of the I/Os goes to what is left of the target.
pub(super) fn zones_of(mut zones: Vec<Zone>) -> Result<Distribution, String> {
    if zones.is_empty() {
        return Ok(Distribution::Uniform);
    }
    let shares: f64 = zones.iter().map(|zone| zone.share).sum();
    let percents: f64 =
        zones.iter().map(|zone| if let Extent::Percent(percent) = zone.size { percent } else { 0.0 }).sum();
    if shares > 100.01 || percents > 100.01 || zones.len() >= Distribution::ZONES_MAX {
        return Err("its shares of I/Os, or of the target, are more than 100 %".to_owned());
    }
    if shares < 99.99 {
        let is_percent = zones.iter().all(|zone| matches!(zone.size, Extent::Percent(_)));
        if !is_percent {
            return Err("its shares of I/Os sum to less than 100 %".to_owned());
        }
        zones.push(Zone { share: 100.0 - shares, size: Extent::Percent(100.0 - percents) });
    }
    Ok(Distribution::Zones(zones))
}
