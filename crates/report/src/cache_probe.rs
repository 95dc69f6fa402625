//! What a run shows of caches, as text, JSON and a picture.

use assay_analysis::{CacheProbe, FlushMeaning, RunSummary, WorkingSet, cache_probe, time};
use assay_record::RunHeader;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{self, TimeUnit, rounded, size};
use crate::svg::{Axis, Line, Lines, escape};
use crate::table::{Cell, Column, Decimals, Format, Table};

/// Returns it as text; nothing for a run without working sets.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, columns: usize, prose: usize) -> String {
    let Some(probe) = cache_probe(header, summary) else { return String::new() };
    let mut text =
        format!("\nRandom reads over working sets\n{}", table(&probe).render(Format::Text(columns)));
    for sentence in words(&probe) {
        text.push_str(&format!("{}\n", wrap(&sentence, prose, "  ")));
    }
    text
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
        table(&probe).html("Random reads of 4 KiB over the first part of the target.")
    )
}

fn table(probe: &CacheProbe) -> Table {
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
    for set in &probe.working_sets {
        let mut cells: Vec<Cell> =
            vec![size(set.bytes).into(), set.iops.into(), us(set.mean_us), us(set.p50_us)];
        cells.extend(set.hits.iter().map(|hit| Cell::from(hit * 100.0)));
        table.rows.push(crate::table::Row::Cells(cells));
    }
    table
}

/// What was found, a sentence each.
fn words(probe: &CacheProbe) -> Vec<String> {
    let mut words: Vec<String> = probe
        .caches
        .iter()
        .enumerate()
        .map(|(index, cache)| {
            let (low, high) = cache.bytes_range;
            if mixed_sets(probe, index) < 2 {
                return format!(
                    "Possibly a cache of {}: {}. Hits take about {}, misses about {}. Only one working set shows both; \
                     a larger --size makes it certain.",
                    bytes(cache.bytes),
                    cache.place,
                    time(cache.hit_us),
                    time(cache.miss_us)
                );
            }
            format!(
                "A cache of {} ({} to {} by working set): probably {}. Hits take about {}, misses about {}.",
                bytes(cache.bytes),
                bytes(low),
                bytes(high),
                cache.place,
                time(cache.hit_us),
                time(cache.miss_us)
            )
        })
        .collect();
    if probe.caches.is_empty() {
        let bytes_of = |set: Option<&assay_analysis::WorkingSet>| set.map_or(0, |set| set.bytes);
        let (smallest, largest) = (bytes_of(probe.working_sets.first()), bytes_of(probe.working_sets.last()));
        let untouched = probe.working_sets.iter().filter(|s| s.touched.is_some_and(|t| t < 0.95)).count();
        words.push(format!(
            "No cache was found between working sets of {} and {}: the share of fast reads does not fall as a cache of \
             any size in between would make it. A cache larger than that would answer every read.",
            size(smallest),
            size(largest)
        ));
        if untouched > 0 {
            words.push(format!(
                "{untouched} working sets were not read to their end before, and do not count."
            ));
        }
    }
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
