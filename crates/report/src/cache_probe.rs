//! What a run shows of caches, as text, JSON and a picture.

use assay_analysis::{CacheProbe, FlushMeaning, FoundCache, RunSummary, WorkingSet, cache_probe, time};
use assay_record::RunHeader;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{self, TimeUnit, rounded, size};
use crate::options::{Detail, TextOptions};
use crate::svg::{Axis, Line, Lines, escape};
use crate::table::{Cell, Column, Decimals, Format, Table};

/// Most working sets of a table that has to fit a screen.
const BRIEF_ROWS: usize = 6;

/// Returns it as text; nothing for a run without working sets.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, options: TextOptions) -> String {
    let Some(probe) = cache_probe(header, summary) else { return String::new() };
    let is_brief = options.detail == Detail::Brief;
    let sentences = if is_brief { brief_words(&probe) } else { words(&probe) };
    let sentences: String =
        sentences.iter().map(|sentence| format!("{}\n", wrap(sentence, options.prose(), "  "))).collect();
    let (shown, title) = if is_brief { (telling(&probe), "") } else { (every(&probe), TITLE) };
    let table = table(&probe, &shown).render(Format::Text(options.width));
    format!("\n{sentences}\n{title}{table}")
}

/// What its table is of, where no column says so.
const TITLE: &str = "Random reads over working sets\n";

/// Returns true for a probe that other programs disturbed so much that no cache can be distinguished.
pub(crate) fn is_disturbed(header: &RunHeader, summary: &RunSummary) -> bool {
    cache_probe(header, summary).is_some_and(|probe| probe.disturbed().is_some())
}

fn every(probe: &CacheProbe) -> Vec<usize> {
    (0..probe.working_sets.len()).collect()
}

/// The working sets that show most: both ends, and those beside the largest steps of the mean latency.
fn telling(probe: &CacheProbe) -> Vec<usize> {
    let sets = &probe.working_sets;
    if sets.len() <= BRIEF_ROWS {
        return every(probe);
    }
    let step = |at: usize| (sets[at].mean_us / sets[at - 1].mean_us.max(f64::MIN_POSITIVE)).ln().abs();
    let mut steps: Vec<usize> = (1..sets.len()).collect();
    steps.sort_by(|a, b| step(*b).total_cmp(&step(*a)));
    let mut shown = vec![0, sets.len() - 1];
    for at in steps.into_iter().flat_map(|at| [at - 1, at]) {
        if shown.len() < BRIEF_ROWS && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown.sort_unstable();
    shown
}

/// Returns it for the JSON document; null for a run without working sets.
pub(crate) fn document(header: &RunHeader, summary: &RunSummary) -> Value {
    let Some(probe) = cache_probe(header, summary) else { return Value::Null };
    let sets = probe.working_sets.iter().map(|set| {
        json!({
            "bytes": set.bytes,
            "iops": rounded(set.iops),
            "mean_us": rounded(set.mean_us),
            "p50_us": rounded(set.p50_us),
            "touched_ratio": set.touched.and_then(rounded),
            "hit_ratios": set.hits.iter().map(|hit| rounded(*hit)).collect::<Vec<_>>(),
        })
    });
    let caches = probe.caches.iter().map(|cache| {
        json!({
            "place": cache.place,
            "bytes": rounded(cache.bytes.round()),
            "bytes_lo": rounded(cache.bytes_range.0.round()),
            "bytes_hi": rounded(cache.bytes_range.1.round()),
            "threshold_us": rounded(cache.threshold_us),
            "hit_us": rounded(cache.hit_us),
            "miss_us": rounded(cache.miss_us),
            "deviation_ratio": rounded(cache.deviation),
        })
    });
    json!({
        "working_sets": sets.collect::<Vec<_>>(),
        "caches": caches.collect::<Vec<_>>(),
        "touch": probe.touch,
        "absorption": probe.absorption,
        "flush": probe.flush,
        "says": words(&probe),
    })
}

/// Returns it as a part of the page; nothing for a run without working sets.
pub(crate) fn html(header: &RunHeader, summary: &RunSummary) -> String {
    let Some(probe) = cache_probe(header, summary) else { return String::new() };
    let words: String = words(&probe).iter().map(|w| format!("<p>{}</p>\n", escape(w))).collect();
    format!(
        "<h2>Caches</h2>\n{words}<div class=\"charts\">\n{}</div>\n<div class=\"scroll\" tabindex=\"0\">{}</div>\n",
        chart(&probe),
        table(&probe, &every(&probe)).html("Random reads of 4 KiB over the first part of the target.")
    )
}

fn table(probe: &CacheProbe, shown: &[usize]) -> Table {
    let unit = TimeUnit::for_means(&probe.working_sets.iter().map(|s| s.mean_us * 1e3).collect::<Vec<_>>());
    let us = |us: f64| Cell::from(unit.of_ns(us * 1e3));
    let mut columns = vec![
        Column::text("Working set"),
        Column::number("IOPS", "").decimals(Decimals::Fixed(0)),
        Column::number("Avg", unit.name()),
        Column::number("p50", unit.name()),
    ];
    columns.extend(probe.caches.iter().map(|cache| {
        Column::number(&format!("below {}", time(cache.threshold_us)), "%").decimals(Decimals::Fixed(1))
    }));
    let mut table = Table::new(columns);
    for set in shown.iter().map(|index| &probe.working_sets[*index]) {
        let mut cells: Vec<Cell> =
            vec![size(set.bytes).into(), set.iops.into(), us(set.mean_us), us(set.p50_us)];
        cells.extend(set.hits.iter().map(|hit| Cell::from(hit * 100.0)));
        table.rows.push(crate::table::Row::Cells(cells));
    }
    table
}

/// What was found, a sentence each.
fn words(probe: &CacheProbe) -> Vec<String> {
    let mut words = cache_words(probe, Detail::Full);
    words.extend(probe.touch.map(|touch| {
        format!(
            "The first {}: {} MiB/s when read for the first time, {} MiB/s when read again ({:.1} times).",
            size(touch.bytes),
            number::short(touch.first_mib_per_s),
            number::short(touch.again_mib_per_s),
            touch.again_mib_per_s / touch.first_mib_per_s.max(f64::MIN_POSITIVE)
        )
    }));
    words.extend(write_words(probe));
    words
}

/// The same on one screen, the answer first.
fn brief_words(probe: &CacheProbe) -> Vec<String> {
    let mut words = cache_words(probe, Detail::Brief);
    words.extend(probe.touch.map(|touch| {
        format!(
            "First read of {}: {} MiB/s; second read: {} MiB/s.",
            size(touch.bytes),
            number::short(touch.first_mib_per_s),
            number::short(touch.again_mib_per_s)
        )
    }));
    words.extend(probe.absorption.map(|writes| match writes.drop {
        Some(drop) => format!(
            "Write cache: about {}. Random 64 KiB writes: {} MiB/s until it was full, then {} MiB/s.",
            bytes(drop.absorbed_bytes),
            number::short(writes.before_mib_per_s),
            number::short(drop.drain_mib_per_s)
        ),
        None => format!(
            "No write cache became full: random 64 KiB writes kept {} MiB/s for {:.0} s.",
            number::short(writes.before_mib_per_s),
            writes.seconds
        ),
    }));
    words.extend(probe.flush.as_ref().map(|flush| {
        let means = match flush.meaning {
            FlushMeaning::FasterThanRotation => "a cache acknowledges it; if unprotected, a power failure loses it",
            FlushMeaning::VolatileCacheAnswers => {
                "a write-back cache answers the flush, which is safe only if batteries or capacitors protect it"
            }
            FlushMeaning::NoCost => "the target protects its memory, or does not make writes durable",
            FlushMeaning::Waits => "a durable write waits for the storage behind the cache",
        };
        format!("Durable 4 KiB write: {}, plain: {}; {means}.", time(flush.durable_us), time(flush.plain_us))
    }));
    words
}

/// A sentence for each cache, or that none was found, or can be distinguished.
fn cache_words(probe: &CacheProbe, detail: Detail) -> Vec<String> {
    let found = |(index, cache): (usize, &FoundCache)| {
        let (low, high) = cache.bytes_range;
        let times = format!("Hits take about {}, misses about {}.", time(cache.hit_us), time(cache.miss_us));
        match mixed_sets(probe, index) < 2 {
            true => format!(
                "Possibly a cache of {}: {}. {times} Only one working set shows both; a larger --size makes it \
                 certain.",
                bytes(cache.bytes),
                cache.place
            ),
            false => format!(
                "A cache of {} ({} to {} by working set): probably {}. {times}",
                bytes(cache.bytes),
                bytes(low),
                bytes(high),
                cache.place
            ),
        }
    };
    let mut words: Vec<String> = probe.caches.iter().enumerate().map(found).collect();
    if let Some(share) = probe.disturbed() {
        words.push(format!(
            "UNRELIABLE: other programs moved up to {:.0} % of what the disks moved, so fast and slow reads show no \
             size of a cache. Stop them (iotop shows them) and probe again.",
            share * 100.0
        ));
    } else if probe.caches.is_empty() {
        words.extend(no_cache_words(probe, detail));
    }
    words
}

fn no_cache_words(probe: &CacheProbe, detail: Detail) -> Vec<String> {
    let bytes_of = |set: Option<&WorkingSet>| size(set.map_or(0, |set| set.bytes));
    let (smallest, largest) = (bytes_of(probe.working_sets.first()), bytes_of(probe.working_sets.last()));
    let untouched = probe.working_sets.iter().filter(|s| s.touched.is_some_and(|t| t < 0.95)).count();
    let mut words = vec![match detail {
        Detail::Brief => format!(
            "No cache was found between {smallest} and {largest}. One larger than {largest} would answer every read."
        ),
        Detail::Full => format!(
            "No cache was found between working sets of {smallest} and {largest}: the share of fast reads does not \
             fall as a cache of any size in between would make it. A cache larger than that would answer every read."
        ),
    }];
    if untouched > 0 {
        words.push(format!("{untouched} working sets were not read to their end before, and do not count."));
    }
    words
}

/// How many working sets show hits and misses of a cache. One alone may have another reason, such as a busy host.
fn mixed_sets(probe: &CacheProbe, cache: usize) -> usize {
    let is_mixed = |set: &&WorkingSet| set.hits.get(cache).is_some_and(|hits| (0.05..=0.95).contains(hits));
    probe.working_sets.iter().filter(is_mixed).count()
}

fn write_words(probe: &CacheProbe) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(writes) = probe.absorption {
        words.push(match writes.drop {
            Some(drop) => format!(
                "Random 64 KiB writes ran at {} MiB/s until second {:.0}, when {} had been written, and at {} MiB/s \
                 from then on: a write cache took about {}, and drains at the later rate.",
                number::short(writes.before_mib_per_s),
                drop.at_s,
                bytes(drop.bytes_until),
                number::short(drop.drain_mib_per_s),
                bytes(drop.absorbed_bytes)
            ),
            None => format!(
                "Random 64 KiB writes kept {} MiB/s for {:.0} s ({}): no write cache became full, or there is none.",
                number::short(writes.before_mib_per_s),
                writes.seconds,
                size(writes.bytes)
            ),
        });
    }
    if let Some(flush) = &probe.flush {
        let means = match flush.meaning {
            FlushMeaning::FasterThanRotation => {
                "less than half a revolution of the disk: a cache acknowledges them, and unless it is protected, a \
                 power failure loses them"
            }
            FlushMeaning::VolatileCacheAnswers => {
                "durable writes cost nothing although the device reports a volatile write cache (write back): it \
                 answers the flush itself. That is safe only if a battery or capacitors protect the cache"
            }
            FlushMeaning::NoCost => {
                "durable writes cost nothing: the target holds them in protected memory, or does not make them durable"
            }
            FlushMeaning::Waits => "a durable write waits for the storage behind the cache",
        };
        words.push(format!(
            "A 4 KiB write takes {}, a durable one {} ({:.1} times): {means}.",
            time(flush.plain_us),
            time(flush.durable_us),
            flush.durable_us / flush.plain_us.max(f64::MIN_POSITIVE)
        ));
    }
    words
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size, and not negative")]
fn bytes(bytes: f64) -> String {
    size(bytes.max(0.0).round() as u64)
}

/// Mean and median latency over the working set.
fn chart(probe: &CacheProbe) -> String {
    let sets = &probe.working_sets;
    let unit = TimeUnit::for_means(&sets.iter().map(|s| s.mean_us * 1e3).collect::<Vec<_>>());
    let mib = |set: &assay_analysis::WorkingSet| set.bytes as f64 / f64::from(1 << 20);
    let line = |name: &str, of: &dyn Fn(&assay_analysis::WorkingSet) -> f64| Line {
        name: name.to_owned(),
        pieces: vec![sets.iter().map(|set| (mib(set), unit.of_ns(of(set) * 1e3))).collect()],
    };
    let lines = vec![line("mean", &|set| set.mean_us), line("median", &|set| set.p50_us)];
    let all = || lines.iter().flat_map(|l| &l.pieces[0]).map(|(_, y)| *y);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let title = format!("latency, {}", unit.name());
    let latency = Lines {
        title: "Latency over the working set",
        x: Axis::doubling("working set, MiB", &sets.iter().map(mib).collect::<Vec<_>>()),
        y: if high > low * 30.0 { Axis::log(&title, low, high) } else { Axis::from_zero(&title, high) },
        lines,
        breaks: probe.caches.iter().map(|cache| cache.bytes / f64::from(1 << 20)).collect(),
        marks: vec![],
    };
    let mut text = latency.svg();
    if !probe.caches.is_empty() {
        let lines = probe.caches.iter().enumerate().map(|(index, cache)| Line {
            name: format!("below {}", time(cache.threshold_us)),
            pieces: vec![sets.iter().map(|set| (mib(set), set.hits[index] * 100.0)).collect()],
        });
        let hits = Lines {
            title: "Share of fast reads over the working set",
            x: Axis::doubling("working set, MiB", &sets.iter().map(mib).collect::<Vec<_>>()),
            y: Axis::from_zero("% of the reads", 100.0),
            lines: lines.collect(),
            breaks: probe.caches.iter().map(|cache| cache.bytes / f64::from(1 << 20)).collect(),
            marks: vec![],
        };
        text.push_str(&hits.svg());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_table_keeps_both_ends_and_the_steps_between() {
        let set = |bytes: u64, mean_us: f64| WorkingSet {
            step: assay_record::StepId { test: 0, step: 0 },
            bytes,
            iops: 1e6 / mean_us,
            mean_us,
            p50_us: mean_us,
            touched: None,
            hits: vec![],
            foreign: None,
        };
        let means = [10.0, 10.1, 10.0, 80.0, 81.0, 80.0, 80.5, 900.0, 905.0, 910.0];
        let probe = |means: &[f64]| CacheProbe {
            working_sets: means.iter().map(|mean| set(8 << 20, *mean)).collect(),
            caches: vec![],
            touch: None,
            absorption: None,
            flush: None,
        };
        assert_eq!(telling(&probe(&means)), [0, 2, 3, 6, 7, 9]);
        assert_eq!(telling(&probe(&means[..4])), [0, 1, 2, 3]);
    }
}
