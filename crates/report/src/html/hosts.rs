//! The hosts of a step: a row for each, with its rate over time.

use assay_analysis::{HostRate, HostSpread, StepSummary};
use assay_record::RunHeader;

use crate::number::{self, TimeUnit};
use crate::svg::{escape, spark};

/// Rows of a table; of more hosts the slowest and the fastest are shown.
const ROWS_MAX: usize = 40;
/// Points of a line of that size.
const POINTS_MAX: usize = 56;

/// Returns the table of the hosts of a step; nothing for a run of one host.
pub(super) fn table(header: &RunHeader, step: &StepSummary) -> String {
    let Some(spread) = HostSpread::of(header, step) else { return String::new() };
    let shown = shown(&spread);
    let highest = highest(&shown);
    let row = |host: &&HostRate| row(host, &spread, highest);
    let between = match spread.hosts.len() - shown.len() {
        0 => String::new(),
        count => format!(" The other {count} lie between the {} slowest and the fastest.", ROWS_MAX / 2),
    };
    let scale = match highest > 0.0 {
        true => format!(" Over time: IOPS, all hosts on one scale from 0 to {}.", number::long(highest)),
        false => String::new(),
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"hosts\">\n<caption>Hosts{}: {}.{scale}{between}\
         </caption>\n<thead><tr>\
         <th class=\"w\">Host</th><th>IOPS</th><th>Of the mean</th><th>MiB/s</th><th>In flight</th>\
         <th>CPU µs per I/O</th><th>First I/O</th><th>Over time</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        if step.step.is_empty() { String::new() } else { format!(" at {}", escape(&step.step)) },
        escape(&crate::fleet::mean(&spread)),
        shown.iter().map(row).collect::<String>()
    )
}

/// All hosts in the order of the run; of many the slowest and the fastest.
fn shown(spread: &HostSpread) -> Vec<&HostRate> {
    let mut hosts: Vec<&HostRate> = spread.hosts.iter().collect();
    if hosts.len() > ROWS_MAX {
        hosts.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        hosts.drain(ROWS_MAX / 2..hosts.len() - ROWS_MAX / 2);
    }
    hosts
}

/// The highest rate that is drawn, IOPS.
fn highest(hosts: &[&HostRate]) -> f64 {
    hosts.iter().flat_map(|host| drawn(host)).fold(0.0, f64::max)
}

/// Mean rates of so many seconds that a line has room for.
fn drawn(host: &HostRate) -> Vec<f64> {
    let together = host.over_time.len().div_ceil(POINTS_MAX).max(1);
    let mean = |part: &[(f64, f64)]| part.iter().map(|(_, rate)| rate).sum::<f64>() / part.len() as f64;
    host.over_time.chunks(together).map(mean).collect()
}

fn row(host: &HostRate, spread: &HostSpread, highest: f64) -> String {
    let first = host.end.as_ref().and_then(|end| end.first_io_ns);
    let first = first.map_or_else(
        || "-".to_owned(),
        |ns| {
            let unit = TimeUnit::for_means(&[ns.unsigned_abs() as f64]);
            format!("{} {}", number::long(unit.of_ns(ns as f64)), unit.name())
        },
    );
    let cpu = host.tester_us_per_io.map_or_else(|| "-".to_owned(), number::long);
    let share = match spread.mean_iops > 0.0 {
        true => format!("{:.0} %", 100.0 * host.iops / spread.mean_iops),
        false => "-".to_owned(),
    };
    let lost = match host.end.as_ref().and_then(|end| end.lost.as_deref()) {
        Some(why) => format!(" <span class=\"sev critical\" title=\"{}\">lost</span>", escape(why)),
        None => String::new(),
    };
    let shares: Vec<f32> = drawn(host).iter().map(|rate| share_of(*rate, highest)).collect();
    format!(
        "<tr><td class=\"w\">{}{lost}</td><td>{}</td><td>{share}</td><td>{}</td><td>{}</td><td>{cpu}</td><td>\
         {first}</td><td>{}</td></tr>\n",
        escape(&host.name),
        number::long(host.iops),
        number::long(host.mib_per_s),
        host.outstanding,
        spark(&format!("IOPS of {} over time", host.name), &shares)
    )
}

#[expect(clippy::cast_possible_truncation, reason = "a share of a line 28 pixels high")]
fn share_of(rate: f64, highest: f64) -> f32 {
    if highest > 0.0 { (rate / highest) as f32 } else { 0.0 }
}
