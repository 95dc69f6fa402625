//! One set of results as a comparison sees it, whether it is a run, a published table, or a file from elsewhere.

use std::sync::Arc;

use assay_model::array::Array;
use assay_model::predict::Prediction;
use assay_model::published::Published;
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;
use assay_record::{Content, Latency, Price, RunHeader};
use assay_spec::units::Bytes;
use assay_spec::{Access, Address, Arrivals, Goal, Job, Pacing, Step};

use super::Difference;
use crate::case::Case;
use crate::expected::{Judgement, predicted};
use crate::finding::{Finding, Severity};
use crate::remembered;
use crate::shell::options;
use crate::summary::{Load, RunSummary, StepSummary};
use crate::timeline::HeatMap;
use assay_statistics::Estimate;

use crate::precision::{Precision, precision};

/// Points of a latency curve, and the nines it ends at.
const CURVE_POINTS: u32 = 48;
const CURVE_NINES_MAX: f64 = 4.0;
/// I/Os beyond the last point of a latency curve.
const CURVE_BEYOND_MIN: f64 = 5.0;
/// The facet that names the targets.
pub(super) const TARGET: &str = "target";
/// The facet that names the host that a path is on.
pub(super) const OWNER: &str = "host of the target";
/// The facet that names sizes and positions.
const ACCESS: &str = "access";
/// The facet of rows that ran beside others.
const BESIDE: &str = "together with others";

/// One set of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// Id of the run, or name of the table or file.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// Plan and targets, in a line.
    pub about: String,
    /// What the command line changed in the plan, as it is typed; empty where it changed nothing.
    pub options: Vec<String>,
    /// The hosts that measured it together; empty where one host did.
    pub hosts: Vec<String>,
    /// Conditions beside the storage that the results depend on.
    pub facets: Vec<Facet>,
    /// In the order of the plan.
    pub rows: Vec<Row>,
    /// Findings about them.
    pub findings: Vec<FindingNote>,
    /// What the targets cost, where it is known.
    pub price: Option<Price>,
    /// The measured loads with their expectations, where an array was attached.
    pub cases: Vec<Case>,
    /// Begin and end of a run of Assay, ms since 1970 UTC, by the clock of its host.
    pub during_unix_ms: Option<(u64, u64)>,
}

/// Where results come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A run of Assay, from the store or from its JSON document.
    #[default]
    Run,
    /// A table that an article published.
    Article,
    /// What the model expects of an array.
    Prediction,
}

/// A condition that results depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facet {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The meaning of a difference in it.
    pub weight: Weight,
}

/// The meaning of a difference for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It is what is compared.
    Subject,
    /// Part of the change may come from it.
    Weakens,
    /// A setting that somebody changes to see what that does. Where the same was meant to be measured again, and
    /// between repetitions, it is as one that breaks.
    Changed,
    /// Rates of both say nothing of each other.
    Breaks,
}

/// A finding, as far as a comparison needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingNote {
    /// Name of the rule.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// Its text.
    pub says: String,
}

/// One load point.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of its test.
    pub test: String,
    /// Swept values; may be empty.
    pub step: String,
    /// The load.
    pub facets: Vec<Facet>,
    /// Whether I/Os are started at a rate of the plan, so that latency is what can differ.
    pub is_paced: bool,
    /// I/Os per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// Mean time that was waited for an I/O, ms.
    pub mean_ms: Option<f64>,
    /// Median of it, ms.
    pub p50_ms: Option<Estimate>,
    /// 99th percentile of it, ms.
    pub p99_ms: Option<Estimate>,
    /// Shares of the I/Os with the latency that they do not exceed, ms; may be empty.
    pub curve_ms: Vec<(f64, f64)>,
    /// IOPS of each second; may be empty.
    pub seconds: Vec<f64>,
    /// Latencies over time; may be empty.
    pub heat: Arc<HeatMap>,
    /// Expected IOPS by the array file.
    pub expected: Option<Bounds>,
    /// Whether that is a bound only, as the software cost is unknown.
    pub is_bound: bool,
}

impl ResultSet {
    /// Of a run, stored or just done.
    pub fn of_run(
        header: &RunHeader,
        summary: &RunSummary,
        findings: &[Finding],
        judgement: Option<&Judgement>,
    ) -> Self {
        let measured = summary.steps.iter().filter(|s| s.total.iops > 0.0 && s.skipped.is_none());
        let rows = measured.filter_map(|step| Row::of_step(header, step, judgement)).collect();
        let mut facets = facets(header);
        let status = summary.status.name();
        facets.push(Facet::new("ended", status, Weight::Weakens));
        Self {
            id: header.run.clone(),
            source: Source::Run,
            about: about(header),
            options: options(&header.plan),
            hosts: header.setting.hosts.iter().map(|host| host.name.clone()).collect(),
            facets,
            rows,
            findings: findings.iter().map(FindingNote::of).collect(),
            price: header.setting.price.clone(),
            cases: judgement.map(|j| j.cases.clone()).unwrap_or_default(),
            during_unix_ms: during(header, summary),
        }
    }

    /// Of a table that an article published.
    pub fn of_published(table: &Published, judgement: &Judgement) -> Self {
        let rows = table.rows.iter().zip(&judgement.cases).filter_map(|(row, case)| {
            let iops = row.measured_iops()?;
            let mut facets = Vec::new();
            if let (Some(size), Some(read), Some(random)) = (row.size_bytes, row.read_pct, row.random_pct) {
                facets.push(Facet::new(ACCESS, pattern(Bytes(size), read, random), Weight::Breaks));
            }
            if let Some(model) = &row.model {
                facets.push(Facet::new("I/Os in flight", model.outstanding.to_string(), Weight::Breaks));
                facets.push(Facet::new(BESIDE, yes_no(!model.group.is_empty()), Weight::Breaks));
            }
            Some(Row {
                test: row.test.clone(),
                step: String::new(),
                facets,
                is_paced: false,
                iops,
                mib_per_s: row.mib_s.or(row.mb_s.map(|mb| mb * 1e6 / 1_048_576.0)).unwrap_or(0.0),
                mean_ms: row.mean_ms,
                p50_ms: None,
                p99_ms: None,
                curve_ms: Vec::new(),
                seconds: Vec::new(),
                heat: Arc::default(),
                expected: case.load.as_ref().map(|l| l.prediction.iops),
                is_bound: case.is_bound(),
            })
        });
        Self {
            id: format!("published:{}", table.name),
            source: Source::Article,
            about: table.system.clone(),
            options: Vec::new(),
            hosts: Vec::new(),
            facets: vec![Facet::new("measured by", "the author of the article", Weight::Weakens)],
            rows: rows.collect(),
            findings: judgement.findings.iter().map(FindingNote::of).collect(),
            price: None,
            cases: judgement.cases.clone(),
            during_unix_ms: None,
        }
    }

    /// Of what an array is expected to do with the plan of a run.
    pub fn of_array(array: &Array, header: &RunHeader) -> Self {
        let row = |(test, step, expected): (&str, &Step, Prediction)| Row {
            test: test.to_owned(),
            step: step.label(),
            facets: load_facets(step),
            is_paced: false,
            iops: expected.iops.value,
            mib_per_s: expected.mib_s.value,
            mean_ms: Some(expected.mean_ms.value),
            p50_ms: None,
            p99_ms: None,
            curve_ms: Vec::new(),
            seconds: Vec::new(),
            heat: Arc::default(),
            expected: Some(expected.iops),
            is_bound: expected.software == Software::Unknown,
        };
        Self {
            id: format!("array:{}", array.name),
            source: Source::Prediction,
            about: format!("{} on {}, predicted", header.plan.name, array.title),
            facets: vec![Facet::new("measured by", "none: predicted by the model", Weight::Weakens)],
            rows: predicted(array, header).into_iter().map(row).collect(),
            ..Self::default()
        }
    }

    /// The row that measured the same as `row` of `other`: by name, else the first with the same load, if its own name
    /// is not in `other`. Two articles are matched by name only: with one load they may have measured different things,
    /// a disk here and a link there.
    pub fn matching(&self, row: &Row, other: &Self) -> Option<&Row> {
        let are_articles = self.source == Source::Article && other.source == Source::Article;
        let by_load = |r: &&Row| !are_articles && r.has_load_of(row) && other.named(r).is_none();
        self.named(row).or_else(|| self.rows.iter().find(by_load))
    }

    /// The row of the test and step of another set's row.
    fn named(&self, row: &Row) -> Option<&Row> {
        self.rows.iter().find(|r| r.test == row.test && r.step == row.step)
    }

    /// Whether a test of the other is one of its own; two that have no test are of one kind.
    pub(super) fn has_tests_of(&self, other: &Self) -> bool {
        let is_empty = self.rows.is_empty() || other.rows.is_empty();
        is_empty || other.rows.iter().any(|row| self.matching(row, other).is_some())
    }

    /// Whether both are of the same targets, over the same span and in the same way.
    pub(super) fn is_on_targets_of(&self, other: &Self) -> bool {
        let decides = |facet: &&Facet| {
            facet.weight >= Weight::Changed || [TARGET, OWNER].contains(&facet.name.as_str())
        };
        let same = |facet: &Facet| {
            let there = other.facets.iter().find(|f| f.name == facet.name);
            there.is_some_and(|there| there.value == facet.value)
        };
        let mut deciding = self.facets.iter().filter(decides).peekable();
        deciding.peek().is_some() && deciding.all(same)
    }
}

impl Facet {
    /// Such a facet.
    pub fn new(name: &str, value: impl Into<String>, weight: Weight) -> Self {
        Self { name: name.to_owned(), value: value.into(), weight }
    }
}

impl FindingNote {
    fn of(finding: &Finding) -> Self {
        Self { rule: finding.rule.clone(), severity: finding.severity, says: finding.says.clone() }
    }
}

impl Row {
    /// What differs in the load, from this to the other; what is known of one only is taken to be alike.
    pub(crate) fn load_differences(&self, other: &Self) -> Vec<Difference> {
        let load = self.facets.iter().filter(|f| f.weight >= Weight::Changed);
        let differs = |facet: &Facet| {
            let there = other.facets.iter().find(|f| f.name == facet.name)?;
            (there.value != facet.value).then(|| Difference {
                what: facet.name.clone(),
                values: vec![facet.value.clone(), there.value.clone()],
                weight: facet.weight,
            })
        };
        load.filter_map(differs).collect()
    }

    /// Whether both are known to be of one pattern, and of nothing that differs.
    fn has_load_of(&self, other: &Self) -> bool {
        let knows = |r: &Self| r.facets.iter().any(|f| f.name == ACCESS);
        knows(self) && knows(other) && self.load_differences(other).is_empty()
    }

    fn of_step(header: &RunHeader, step: &StepSummary, judgement: Option<&Judgement>) -> Option<Self> {
        let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        let seconds: Vec<f64> = step.series.iter().map(|p| p.iops).collect();
        let waited = step.total.waited();
        let precision = precision(step);
        let percentile = |of: fn(&Precision) -> Option<Estimate>| {
            let us = of(precision.as_ref()?)?;
            let ms = |us: f64| us / 1e3;
            Some(Estimate { value: ms(us.value), lo: us.lo.map(ms), hi: us.hi.map(ms), ..us })
        };
        let load = judgement.and_then(|j| j.step(step.id)).and_then(|(case, _)| case.load.as_ref());
        Some(Self {
            test: step.test.clone(),
            step: step.step.clone(),
            facets: known(header, load_facets(plan)),
            is_paced: !matches!(step.load, Load::Closed | Load::Mixed),
            iops: step.total.iops,
            mib_per_s: step.total.mib_per_s,
            mean_ms: waited.mean_ns().map(|ns| ns / 1e6),
            p50_ms: percentile(|of| of.p50_us),
            p99_ms: percentile(|of| of.p99_us),
            curve_ms: curve(waited),
            seconds,
            heat: Arc::new(step.heat.clone()),
            expected: load.map(|l| l.prediction.iops),
            is_bound: load.is_some_and(|l| l.prediction.software == Software::Unknown),
        })
    }
}

/// Shares of a latency curve, in nines: as far as five I/Os lie beyond.
fn curve(waited: &Latency) -> Vec<(f64, f64)> {
    let end = (waited.count() as f64 / CURVE_BEYOND_MIN).log10().min(CURVE_NINES_MAX);
    let shares = (0..=CURVE_POINTS).map(|n| CURVE_NINES_MAX * f64::from(n) / f64::from(CURVE_POINTS));
    shares
        .take_while(|nines| *nines <= end)
        .map(|nines| 1.0 - 10_f64.powf(-nines))
        .filter_map(|share| Some((share, waited.quantile_ns(share)? / 1e6)))
        .collect()
}

/// Returns begin and end of a run; what was imported has them from elsewhere, or not at all.
fn during(header: &RunHeader, summary: &RunSummary) -> Option<(u64, u64)> {
    let length = std::time::Duration::try_from_secs_f64(summary.length_s).ok()?;
    let began = header.imported.is_none().then_some(header.started_unix_ms)?;
    Some((began, began.saturating_add(u64::try_from(length.as_millis()).ok()?)))
}

/// Returns plan and targets of a run in a line.
fn about(header: &RunHeader) -> String {
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    format!("{} on {}", header.plan.name, targets.join(", "))
}

/// Returns the conditions that all results of a run depend on.
pub fn facets(header: &RunHeader) -> Vec<Facet> {
    use Weight::{Breaks, Changed, Subject, Weakens};
    let is_tester_alone =
        header.targets.iter().all(|target| on_its_host(header, &target.address).starts_with("null:"));
    let of = |value: &dyn Fn(&assay_record::MemberFacts) -> String| -> String {
        let mut values: Vec<String> = header.targets.iter().map(|t| value(&t.member)).collect();
        values.dedup();
        values.join(", ")
    };
    let host = &header.host;
    let addresses: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let array = header.array.as_deref().map_or("none given".to_owned(), |text| {
        remembered::array(text).map_or("unreadable".to_owned(), |known| known.array.name.clone())
    });
    if let Some(from) = &header.imported {
        // Nothing else is known of another tool's results.
        return vec![
            Facet::new(TARGET, addresses.join(", "), Subject),
            Facet::new("array", array, Subject),
            Facet::new("plan", header.plan.name.clone(), Weakens),
            Facet::new("measured by", from.tool.clone(), Weakens),
        ];
    }
    // A path means another disk on another host; the name of a LUN or of an export means the same everywhere.
    let is_local =
        addresses.iter().any(|address| matches!(on_its_host(header, address).parse(), Ok(Address::Path(_))));
    let owner = is_local.then(|| Facet::new(OWNER, host.name.clone(), Subject));
    let mut facets = vec![
        Facet::new(TARGET, addresses.join(", "), Subject),
        Facet::new("array", array, Subject),
        Facet::new("I/O issued by", of(&|m| m.engine.to_string()), Subject),
        Facet::new("storage behind the target", yes_no(!is_tester_alone), Breaks),
        Facet::new("semantics", format!("{:?}", header.plan.semantics).to_lowercase(), Breaks),
        Facet::new("span", of(&|m| Bytes(m.span_bytes).to_string()), Breaks),
        Facet::new("bypassing the page cache", of(&|m| yes_no(m.direct).to_owned()), Changed),
        Facet::new("each write durable", of(&|m| yes_no(m.sync).to_owned()), Changed),
        Facet::new("never written in the span", of(&|m| unwritten(m.unwritten_bytes)), Breaks),
        Facet::new("plan", header.plan.name.clone(), Weakens),
        Facet::new("content", of(&|m| content(m.content).to_owned()), Weakens),
        Facet::new("assay", header.version.clone(), Weakens),
        Facet::new("host", format!("{}, {} CPUs", host.name, host.cpus), Weakens),
        Facet::new("kernel", host.kernel.clone(), Weakens),
    ];
    facets.extend(owner);
    facets
}

/// Returns an address as the host had it: where several hosts ran the plan, the record has their names before it.
fn on_its_host<'a>(header: &RunHeader, address: &'a str) -> &'a str {
    let hosts = &header.setting.hosts;
    let own = address.split_once(':').filter(|(name, _)| hosts.iter().any(|host| host.name == *name));
    own.map_or(address, |(_, own)| own)
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// A file system that cannot tell counts as written: the run's own finding says so.
fn unwritten(bytes: Option<u64>) -> String {
    match bytes {
        None | Some(0) => "nothing".to_owned(),
        Some(bytes) => Bytes(bytes).to_string(),
    }
}

fn content(content: Content) -> &'static str {
    match content {
        Content::Prepared | Content::Reused => "written by Assay",
        Content::Foreign => "written by another program",
        Content::None => "none",
    }
}

/// What is known of the load: another tool's results say nothing of the rest, which has defaults in their plan.
pub(super) fn known(header: &RunHeader, facets: Vec<Facet>) -> Vec<Facet> {
    const UNSAID: [&str; 4] = ["pace", "reconnect every", "write data", "verify"];
    let is_unsaid = |facet: &Facet| UNSAID.iter().any(|name| facet.name.ends_with(name));
    let is_imported = header.imported.is_some();
    facets.into_iter().filter(|facet| !(is_imported && is_unsaid(facet))).collect()
}

/// Returns the load of a step.
pub fn load_facets(step: &Step) -> Vec<Facet> {
    use Weight::{Breaks, Changed, Weakens};
    let several = step.jobs.len() > 1;
    let mut facets = Vec::new();
    for job in &step.jobs {
        let mut add = |name: &str, value: String, weight| {
            let name = if several { format!("{}: {name}", job.name) } else { name.to_owned() };
            facets.push(Facet { name, value, weight });
        };
        add(ACCESS, job.mix.iter().map(access).collect::<Vec<_>>().join(" + "), Changed);
        add("I/Os in flight", (u64::from(job.workers) * u64::from(job.outstanding)).to_string(), Changed);
        add("workers", job.workers.to_string(), Changed);
        add("pace", pace(job.pacing), Changed);
        add("reconnect every", job.reconnect_every.map_or("never".to_owned(), |n| n.to_string()), Changed);
        let particulars = job.particulars();
        if !particulars.is_empty() {
            add("where and when", particulars.trim_start_matches(", ").to_owned(), Changed);
        }
        if job.writes() {
            add("write data", data(job), Changed);
        }
    }
    facets.push(Facet::new("verify", yes_no(step.verify), Breaks));
    facets.push(Facet::new(BESIDE, yes_no(several), Breaks));
    let length = match step.stop.goal {
        None | Some(Goal::SteadySweep) => step.stop.words(),
        Some(Goal::Within(tolerance)) => format!("until {tolerance}, at most {}", step.stop.time),
        Some(Goal::Steady { round }) => format!("rounds of {round} until steady"),
    };
    facets.push(Facet::new("measured for", length, Weakens));
    facets.push(Facet::new("warm-up", step.warmup.to_string(), Weakens));
    facets
}

fn pattern(size: Bytes, read: f64, random: f64) -> String {
    format!("{size}, {read} % read, {random} % random")
}

fn access(access: &Access) -> String {
    let mut text = pattern(access.size, access.read, access.random);
    if access.weight != 100 && access.weight != 1 {
        text.push_str(&format!(", weight {}", access.weight));
    }
    if access.align.0 > 0 && access.align != access.size {
        text.push_str(&format!(", aligned to {}", access.align));
    }
    if access.burst > 1 || access.delay.0 > 0 {
        text.push_str(&format!(", bursts of {} after {}", access.burst, access.delay));
    }
    if access.reply.0 > 0 {
        text.push_str(&format!(", reply {}", access.reply));
    }
    text.push_str(&access.particulars());
    text
}

fn pace(pacing: Pacing) -> String {
    match pacing {
        Pacing::Closed => "closed".to_owned(),
        Pacing::Throttled { rate } => format!("at most {rate}"),
        Pacing::Open { rate, arrivals: Arrivals::Constant } => format!("{rate}, evenly"),
        Pacing::Open { rate, arrivals: Arrivals::Poisson } => format!("{rate}, at random"),
    }
}

fn data(job: &Job) -> String {
    use assay_spec::Data;
    match job.data {
        Data::Unique => "unique".to_owned(),
        Data::Reducible { compress, dedupe } => format!("compressible {compress}, duplicated {dedupe}"),
        Data::IometerRepeating => "Iometer, one byte repeated".to_owned(),
        Data::IometerPseudoRandom => "Iometer, pseudo random".to_owned(),
        Data::IometerFullRandom => "Iometer, full random".to_owned(),
    }
}
