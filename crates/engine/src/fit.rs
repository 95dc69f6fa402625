//! Checks that a step can run on the targets: sizes against blocks, slices against spans, buffers against memory.

use assay_spec::units::Bytes;
use assay_spec::{Access, Job, Semantics, Step};
use assay_target::IoBuf;
use assay_target::lun::UnmapLimits;

use crate::flights::depth;
use crate::planner::{least_span, narrowest, usable};
use crate::prefilled::{size_max, spare_buffers};
use crate::tally::Tally;

/// Result of the check.
pub(crate) enum Fit {
    /// The step can run.
    Fits,
    /// The step cannot run; the sentence states the reason and the remedy.
    Misfit(String),
}

/// Properties of a job's targets that matter here.
pub(crate) struct JobTargets {
    /// Usable bytes of each member.
    pub(crate) spans: Vec<u64>,
    /// Smallest I/O, bytes.
    pub(crate) block_bytes: u32,
    /// Origin of the smallest I/O.
    pub(crate) blocks: Blocks,
    /// Largest I/O, bytes.
    pub(crate) transfer_bytes_max: u64,
    /// Names for messages.
    pub(crate) name: String,
    /// Largest number of I/Os in flight per worker.
    pub(crate) depth_max: u32,
    /// Memory that I/O buffers may take, bytes.
    pub(crate) memory_bytes: u64,
    /// Reason why it cannot be flushed between writes, if any.
    pub(crate) flush_refusal: Option<&'static str>,
    /// Reason why its blocks cannot be trimmed, if any.
    pub(crate) trim_refusal: Option<&'static str>,
    /// Limits of trims, for each target that reports any.
    pub(crate) unmap_limits: Vec<UnmapLimits>,
}

/// Origin of the smallest I/O of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Direct I/O to a file or device; I/O through the page cache avoids it.
    OfDirectIo,
    /// The target itself.
    OfDevice,
}

/// Returns whether `step` can run on `places`, one for each of its jobs.
pub(crate) fn fit(step: &Step, semantics: Semantics, places: &[JobTargets]) -> Fit {
    let misfit = step.jobs.iter().zip(places).find_map(|(job, place)| job_misfit(job, semantics, place));
    misfit.or_else(|| memory_misfit(step, semantics, places)).map_or(Fit::Fits, Fit::Misfit)
}

fn job_misfit(job: &Job, semantics: Semantics, place: &JobTargets) -> Option<String> {
    ability_misfit(job, place)
        .or_else(|| block_misfit(job, semantics, place))
        .or_else(|| transfer_misfit(job, place))
        .or_else(|| trim_misfit(job, place))
        .or_else(|| window_misfit(job, place))
        .or_else(|| span_misfit(job, semantics, place))
        .or_else(|| own_window_misfit(job, semantics, place))
        .or_else(|| depth_misfit(job, semantics, place))
}

/// Checks the depth. Only psync limits it, with a thread for each I/O in flight.
fn depth_misfit(job: &Job, semantics: Semantics, place: &JobTargets) -> Option<String> {
    let depth = depth(semantics, job, place.spans.len());
    (depth > place.depth_max).then(|| {
        format!(
            "{depth} I/Os in flight of one worker on {} are more than psync can have, which is {}: lower \
             `outstanding`, use several `workers`, or --io uring",
            place.name, place.depth_max
        )
    })
}

fn block_misfit(job: &Job, semantics: Semantics, place: &JobTargets) -> Option<String> {
    let block = u64::from(place.block_bytes);
    for access in &job.mix {
        // Iometer rounds up offsets itself, but not sizes.
        let align = if semantics == Semantics::Iometer { Bytes(block) } else { access.align };
        for (what, bytes) in [("size", access.size), ("align", align), ("reply", access.reply)] {
            if !bytes.0.is_multiple_of(block) {
                let unit = match place.blocks {
                    Blocks::OfDirectIo => "the smallest direct I/O",
                    Blocks::OfDevice => "the block size",
                };
                let binary = Bytes(bytes.0 / 1000 * 1024);
                let next = match place.blocks {
                    _ if bytes.0.is_multiple_of(1000) && bytes.0 > 0 && binary.0.is_multiple_of(block) => {
                        format!("; KB is 1,000 bytes: write {binary}")
                    }
                    Blocks::OfDirectIo => "; --cached has no such limit".to_owned(),
                    Blocks::OfDevice => "; use a multiple of it".to_owned(),
                };
                return Some(format!(
                    "{what} {bytes} is not a multiple of {}, {unit} of {}{next}",
                    Bytes(block),
                    place.name
                ));
            }
        }
    }
    let zone = job.zoned.map(|zoned| zoned.bytes).filter(|zone| !zone.0.is_multiple_of(block))?;
    let name = &place.name;
    Some(format!("zones of {zone} are no multiple of {} of {name}; use a multiple of it", Bytes(block)))
}

fn transfer_misfit(job: &Job, place: &JobTargets) -> Option<String> {
    let size = job.transfer_max();
    (size.0 > place.transfer_bytes_max).then(|| {
        format!(
            "size {size} exceeds the largest I/O of {}, {}; use a smaller size",
            place.name,
            Bytes(place.transfer_bytes_max)
        )
    })
}

/// Checks trims against the limits that LUNs report. A trim of less than a unit frees nothing.
fn trim_misfit(job: &Job, place: &JobTargets) -> Option<String> {
    let lines = || job.mix.iter().filter(|line| line.trims());
    place.unmap_limits.iter().find_map(|limits| {
        let unit = limits.granularity_bytes;
        let too_large = lines().map(|line| line.size).find(|size| size.0 > limits.bytes_max).map(|size| {
            let most = Bytes(limits.bytes_max);
            format!("trims of {size} exceed the largest UNMAP of {}, {most}; use a smaller size", place.name)
        });
        too_large.or_else(|| {
            let parts = lines().flat_map(|line| [("size", line.size), ("align", line.align)]);
            let (what, bytes) = parts.into_iter().find(|(_, bytes)| !bytes.0.is_multiple_of(unit))?;
            Some(format!(
                "{what} {bytes} of trims is not a multiple of {}, the unit in which {} frees blocks: the rest would \
                 stay allocated; use a multiple of it",
                Bytes(unit),
                place.name
            ))
        })
    })
}

/// Returns a sentence about what this kind of target does not support.
fn ability_misfit(job: &Job, place: &JobTargets) -> Option<String> {
    let flush = place.flush_refusal.filter(|_| job.flush.is_some()).map(|why| ("flush", why));
    let trim = place.trim_refusal.filter(|_| job.mix.iter().any(Access::trims)).map(|why| ("trim", why));
    flush.or(trim).map(|(what, why)| format!("{} cannot {what} between reads and writes: {why}", place.name))
}

/// Returns the window of a job, for messages.
fn window(job: &Job) -> String {
    job.span.map_or_else(|| job.window.to_string(), |span| format!("the first {span}"))
}

/// Returns a sentence about a window, or zones of given sizes, beyond the end of a target.
fn window_misfit(job: &Job, place: &JobTargets) -> Option<String> {
    let smallest = place.spans.iter().copied().min().unwrap_or(0);
    let used = job.window.of(smallest);
    // Where a window has no size, each worker's goes to the end.
    let steps = if job.window.size.is_some() { u64::from(job.workers - 1) } else { 0 };
    let onward = job.increment.of(smallest).saturating_mul(steps);
    let end = job.span.map_or(used.end, |span| span.0).saturating_add(onward);
    if end > smallest {
        return Some(format!(
            "the window ({}{}) ends at {} of {}, which has {}; use a larger --size or a smaller `window`",
            window(job),
            if onward > 0 { ", further on for each worker" } else { "" },
            Bytes(end),
            place.name,
            Bytes(smallest)
        ));
    }
    let bytes = used.end.saturating_sub(used.start);
    let line = job.mix.iter().find(|line| line.distribution.exceeds(bytes))?;
    Some(format!(
        "the zones ({}) need more than the {} of {} that the job uses; use a larger --size or smaller zones",
        line.distribution,
        Bytes(bytes),
        place.name
    ))
}

fn span_misfit(job: &Job, semantics: Semantics, place: &JobTargets) -> Option<String> {
    let least = least_span(job, semantics, place.block_bytes);
    let smallest = place.spans.iter().copied().min().unwrap_or(0);
    let of_window = job.span.map_or(smallest, |span| span.0.min(smallest));
    let used = usable(job, semantics, place.block_bytes, of_window);
    if (smallest >= least || job.span.is_some()) && used < least {
        return Some(format!(
            "{} with I/Os of up to {} {} at least {}; the window ({}) of {} leaves {}; use a larger `window`",
            if job.workers == 1 { "one worker".to_owned() } else { format!("{} workers", job.workers) },
            job.size_max(),
            if job.workers == 1 { "needs" } else { "need" },
            Bytes(least),
            window(job),
            place.name,
            Bytes(used)
        ));
    }
    (smallest < least).then(|| {
        format!(
            "{} with I/Os of up to {} {} at least {} of {}, which has {}; use a larger --size",
            if job.workers == 1 { "one worker".to_owned() } else { format!("{} workers", job.workers) },
            job.size_max(),
            if job.workers == 1 { "needs" } else { "need" },
            Bytes(least),
            place.name,
            Bytes(smallest)
        )
    })
}

/// Checks what each worker has to itself, where they begin further on than one another.
fn own_window_misfit(job: &Job, semantics: Semantics, place: &JobTargets) -> Option<String> {
    let smallest = place.spans.iter().copied().min().unwrap_or(0);
    let own = narrowest(job, semantics, job.span.map_or(smallest, |span| span.0.min(smallest)));
    let (what, least) = match job.zoned {
        Some(zoned) => ("a zone", zoned.bytes),
        None => ("an I/O", Bytes(least_span(job, semantics, place.block_bytes))),
    };
    (semantics == Semantics::Fio && own < least.0).then(|| {
        format!(
            "{what} of {least} does not fit into the {} of {} that a worker has; use a larger `window` or --size, a \
             smaller `increment`, or fewer workers",
            Bytes(own),
            place.name
        )
    })
}

/// Checks the memory. The jobs of a step run at the same time, so their buffers and counters exist together.
fn memory_misfit(step: &Step, semantics: Semantics, places: &[JobTargets]) -> Option<String> {
    let (mut slots, mut buffers, mut lines, mut counters) = (0, 0, 0, 0);
    for (job, place) in step.jobs.iter().zip(places) {
        let (depth, workers) = (depth(semantics, job, place.spans.len()), u64::from(job.workers));
        slots += u64::from(depth) * workers;
        buffers += IoBuf::footprint_bytes(depth + spare_buffers(job, depth), size_max(job)) * workers;
        lines += job.mix.len() as u64 * workers;
        counters += Tally::footprint_bytes(job.mix.len(), job.pacing.is_open()) * workers;
    }
    let most = places.iter().map(|place| place.memory_bytes).min().unwrap_or(u64::MAX);
    if buffers + counters <= most {
        return None;
    }
    let limit = format!(
        "at most {} may be used (half of the memory, less the stamps of verify mode)",
        Bytes(most).rounded()
    );
    Some(if counters > buffers {
        format!(
            "the latencies of {lines} access lines, summed over the workers, take {} of counters; {limit}: use fewer \
             lines, `workers` or jobs",
            Bytes(counters).rounded()
        )
    } else {
        let size_max = step.jobs.iter().map(Job::size_max).max().unwrap_or_default();
        format!(
            "{slots} I/Os in flight of up to {size_max} take {} of buffers; {limit}: lower `outstanding`, `workers` or \
             `size`",
            Bytes(buffers).rounded()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::{Overrides, PlanFile};

    fn misfit(text: &str, block_bytes: u32, span: u64) -> Option<String> {
        misfit_of(text, block_bytes, span, Blocks::OfDirectIo)
    }

    fn misfit_of(text: &str, block_bytes: u32, span: u64, blocks: Blocks) -> Option<String> {
        misfit_by("", text, block_bytes, span, blocks)
    }

    fn misfit_by(head: &str, text: &str, block_bytes: u32, span: u64, blocks: Blocks) -> Option<String> {
        let text = format!("{head}[[test]]\nname = \"t\"\n{text}\n");
        let plan = PlanFile::parse("p", &text).unwrap().resolve(&Overrides::default()).unwrap();
        let place = || JobTargets {
            spans: vec![span],
            block_bytes,
            blocks,
            transfer_bytes_max: 64 << 20,
            name: "t.dat".into(),
            depth_max: 256,
            memory_bytes: 1 << 30,
            flush_refusal: Some("it never can"),
            trim_refusal: None,
            unmap_limits: vec![UnmapLimits { bytes_max: 1 << 20, granularity_bytes: 65536, ranges_max: 1 }],
        };
        let step = &plan.tests[0].steps[0];
        let places: Vec<JobTargets> = step.jobs.iter().map(|_| place()).collect();
        match fit(step, plan.semantics, &places) {
            Fit::Fits => None,
            Fit::Misfit(why) => Some(why),
        }
    }

    #[test]
    fn a_step_that_fits_is_not_refused() {
        assert_eq!(misfit("access = [{ size = 4096 }]\nworkers = 4", 4096, 4 * 4096), None);
    }

    #[test]
    fn windows_zones_and_flushes_that_do_not_fit_are_refused() {
        let line = "access = [{ size = 4096 }]";
        let beyond =
            misfit(&format!("{line}\nwindow = {{ offset = \"1MiB\", size = \"1MiB\" }}"), 512, 1 << 20);
        assert!(
            beyond.unwrap().starts_with("the window (1MiB from 1MiB) ends at 2MiB of t.dat, which has 1MiB")
        );
        let narrow = misfit(&format!("{line}\nworkers = 4\nwindow = {{ size = \"8KiB\" }}"), 512, 1 << 20);
        assert!(narrow.unwrap().contains("the window (the first 8KiB) of t.dat leaves 8KiB"));
        assert_eq!(misfit(&format!("{line}\nwindow = {{ offset = \"50%\" }}"), 512, 1 << 20), None);
        let zoned =
            "access = [{ size = 4096, distribution = { zones = [{ share = 100, size = \"2MiB\" }] } }]";
        assert!(
            misfit(zoned, 512, 1 << 20)
                .unwrap()
                .starts_with("the zones (100 % in 2MiB) need more than the 1MiB")
        );
        let flushes = misfit(&format!("{line}\nflush = {{ every = 1 }}"), 512, 1 << 20).unwrap();
        assert_eq!(flushes, "t.dat cannot flush between reads and writes: it never can");
    }

    #[test]
    fn zones_that_are_written_from_their_beginnings_fit_into_each_workers_window() {
        let of = |zone: &str, more: &str, span_mib: u64| {
            let text = format!(
                "access = [{{ size = 4096, read = 0, random = 100 }}]\nzoned = {{ size = {zone} }}\n{more}"
            );
            misfit_by("semantics = \"fio\"\n", &text, 4096, span_mib << 20, Blocks::OfDirectIo)
        };
        let zoned = |more: &str, span_mib: u64| of("\"4MiB\"", more, span_mib);
        assert_eq!(zoned("", 4), None);
        let narrow = zoned("window = { size = \"3MiB\" }", 64).unwrap();
        assert!(narrow.starts_with("a zone of 4MiB does not fit into the 3MiB of t.dat"), "{narrow}");
        // The third begins 12 MiB on, and has what is left.
        let apart = "workers = 3\nincrement = \"6MiB\"";
        assert_eq!(zoned(apart, 16), None);
        let cut = zoned(apart, 15).unwrap();
        assert!(cut.starts_with("a zone of 4MiB does not fit into the 3MiB of t.dat"), "{cut}");
        let odd = of("1050624", "", 64).unwrap();
        assert!(odd.contains("are no multiple of 4KiB of t.dat"), "{odd}");
    }

    #[test]
    fn trims_must_respect_the_limits_of_a_lun() {
        let trims = |size: &str, more: &str| {
            let line = format!("access = [{{ size = \"{size}\", read = 0, change = \"trim\"{more} }}]");
            misfit_of(&line, 512, 64 << 20, Blocks::OfDevice)
        };
        assert_eq!(trims("64KiB", ""), None);
        let large = trims("2MiB", "").unwrap();
        assert_eq!(large, "trims of 2MiB exceed the largest UNMAP of t.dat, 1MiB; use a smaller size");
        let small = trims("4KiB", "").unwrap();
        assert!(
            small.starts_with("size 4KiB of trims is not a multiple of 64KiB, the unit in which"),
            "{small}"
        );
        let odd = trims("128KiB", ", align = \"4KiB\"").unwrap();
        assert!(odd.starts_with("align 4KiB of trims is not a multiple of 64KiB"), "{odd}");
        // Only data that is transferred counts for the largest I/O.
        let huge = misfit("access = [{ size = \"64MiB\", read = 0 }]\noutstanding = 1", 512, 1 << 30);
        assert_eq!(huge, None);
    }

    #[test]
    fn misfits_name_a_remedy() {
        let small = misfit("access = [{ size = 512 }]", 4096, 1 << 20).unwrap();
        assert_eq!(
            small,
            "size 512B is not a multiple of 4KiB, the smallest direct I/O of t.dat; --cached has no such limit"
        );
        let decimal = misfit("access = [{ size = \"4KB\" }]", 512, 1 << 20).unwrap();
        assert!(decimal.ends_with("; KB is 1,000 bytes: write 4KiB"), "{decimal}");
        let lun = misfit_of("access = [{ size = 512 }]", 4096, 1 << 20, Blocks::OfDevice).unwrap();
        assert_eq!(lun, "size 512B is not a multiple of 4KiB, the block size of t.dat; use a multiple of it");
        let narrow = misfit("access = [{ size = 4096 }]\nworkers = 4", 512, 3 * 4096).unwrap();
        assert!(narrow.contains("need at least 16KiB of t.dat, which has 12KiB"), "{narrow}");
        let many = misfit("access = [{ size = 4096 }]\noutstanding = 257", 512, 1 << 30).unwrap();
        assert!(many.starts_with("257 I/Os in flight of one worker on t.dat are more than psync"), "{many}");
        let deep =
            misfit("access = [{ size = \"8MiB\" }]\noutstanding = 256\nworkers = 16", 512, 1 << 40).unwrap();
        assert!(deep.contains("take 32 GiB of buffers; at most 1 GiB"), "{deep}");
        // 768 MiB each.
        let job = "[[test.job]]\naccess = [{ size = \"8MiB\" }]\noutstanding = 96\n";
        assert_eq!(misfit(job, 512, 1 << 40), None);
        let both = misfit(&format!("{job}{job}"), 512, 1 << 40).unwrap();
        let mix = vec!["{ weight = 1, size = 4096 }"; 1000].join(", ");
        let lines = misfit(&format!("access = [{mix}]\nworkers = 8"), 512, 1 << 40).unwrap();
        assert!(
            lines.starts_with("the latencies of 8000 access lines, summed over the workers, take"),
            "{lines}"
        );
        assert!(lines.contains("at most 1 GiB may be used"), "{lines}");
        assert!(both.starts_with("192 I/Os in flight of up to 8MiB take 1.5 GiB of buffers"), "{both}");
    }
}
