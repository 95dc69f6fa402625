//! A document of [`json`](crate::json) read back, to be compared with other results.

use std::sync::Arc;

use assay_analysis::Estimate;
use assay_analysis::compare::{Facet, FindingNote, ResultSet, Row, Source, Weight, facets, load_facets};
use assay_analysis::{Load, Severity, options, rule_name};
use assay_model::quantity::Bounds;
use assay_record::{FleetHost, HostFacts, RunHeader, RunSetting, StatedMemory, TargetFacts};
use assay_spec::Plan;
use serde::Deserialize;

use crate::json::SCHEMA;

/// The parts of the document that a comparison needs; the others may be of any version.
#[derive(Deserialize)]
struct Document {
    schema: String,
    run: String,
    status: String,
    label: Option<String>,
    version: String,
    plan: Plan,
    host: HostFacts,
    targets: Vec<TargetFacts>,
    /// Documents of older releases do not have it, whatever their run had.
    #[serde(default, deserialize_with = "present")]
    array: Option<Option<String>>,
    #[serde(default)]
    stated: StatedMemory,
    /// What the targets cost.
    #[serde(default)]
    price: Option<assay_record::Price>,
    tests: Vec<Test>,
    findings: Vec<Found>,
}

#[derive(Deserialize)]
struct Test {
    name: String,
    step: Option<String>,
    load: Load,
    total: Ops,
    #[serde(default)]
    expected: Option<Expected>,
    series: Vec<Second>,
}

#[derive(Deserialize)]
struct Ops {
    iops: f64,
    mib_per_s: f64,
    response_us: Times,
}

#[derive(Deserialize)]
struct Times {
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
}

#[derive(Deserialize)]
struct Second {
    iops: f64,
}

#[derive(Deserialize)]
struct Expected {
    is_bound: bool,
    iops: Ends,
}

#[derive(Deserialize)]
struct Ends {
    value: f64,
    lo: f64,
    hi: f64,
}

#[derive(Deserialize)]
struct Found {
    rule: String,
    severity: Severity,
    says: String,
}

/// Reads the text of a document, and the label in it. The error says what does not fit.
///
/// # Errors
/// When the text is no document of a run.
pub fn read(text: &str) -> Result<(ResultSet, Option<String>), String> {
    let document: Document = serde_json::from_str(text)
        .map_err(|e| format!("not a JSON document of a run (assay run --json, assay show --json): {e}"))?;
    if document.schema != SCHEMA {
        return Err(format!("its schema is `{}`; only `{SCHEMA}` can be compared", document.schema));
    }
    let mut header = RunHeader {
        run: document.run.clone(),
        version: document.version,
        started_unix_ms: 0,
        plan: document.plan,
        targets: document.targets,
        host: document.host,
        array: document.array.clone().flatten(),
        stated: document.stated,
        imported: None,
        setting: RunSetting::default(),
        diagnosis: None,
    };
    header.setting.hosts = hosts(&header.plan);
    let targets: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let mut facets = facets(&header);
    facets.retain(|facet| document.array.is_some() || facet.name != "array");
    facets.push(Facet::new("ended", document.status, Weight::Weakens));
    let reading = ResultSet {
        source: Source::Run,
        about: format!("{} on {}", header.plan.name, targets.join(", ")),
        options: options(&header.plan),
        hosts: header.setting.hosts.iter().map(|host| host.name.clone()).collect(),
        facets,
        rows: document.tests.iter().filter(|t| t.total.iops > 0.0).map(|t| row(&header.plan, t)).collect(),
        findings: document.findings.into_iter().map(note).collect(),
        price: document.price,
        cases: Vec::new(),
        during_unix_ms: None,
        id: document.run,
    };
    Ok((reading, document.label))
}

/// The hosts of a run of several, of which the document has the names: each job is of one of them.
fn hosts(plan: &Plan) -> Vec<FleetHost> {
    let mut hosts: Vec<FleetHost> = Vec::new();
    for name in
        plan.tests.iter().flat_map(|test| &test.steps).flat_map(|step| &step.jobs).flat_map(|job| &job.hosts)
    {
        if !hosts.iter().any(|host| host.name == *name) {
            hosts.push(FleetHost { name: name.clone(), facts: HostFacts::default() });
        }
    }
    hosts
}

/// Tells a field that is null from one that is missing.
fn present<'de, D: serde::Deserializer<'de>>(field: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(field).map(Some)
}

fn row(plan: &Plan, test: &Test) -> Row {
    let step = test.step.clone().unwrap_or_default();
    let planned = plan.tests.iter().filter(|t| t.name == test.name).flat_map(|t| &t.steps);
    let planned = planned.into_iter().find(|s| s.label() == step);
    Row {
        test: test.name.clone(),
        facets: planned.map(load_facets).unwrap_or_default(),
        is_paced: matches!(test.load, Load::Throttled | Load::Open),
        iops: test.total.iops,
        mib_per_s: test.total.mib_per_s,
        mean_ms: test.total.response_us.mean.map(|us| us / 1e3),
        // A document has no distributions, so nothing is known of the error of a percentile.
        p50_ms: test.total.response_us.p50.map(|us| Estimate::bare(us / 1e3)),
        p99_ms: test.total.response_us.p99.map(|us| Estimate::bare(us / 1e3)),
        curve_ms: Vec::new(),
        seconds: test.series.iter().map(|s| s.iops).collect(),
        heat: Arc::default(),
        expected: test.expected.as_ref().map(|e| Bounds {
            lo: e.iops.lo,
            value: e.iops.value,
            hi: e.iops.hi,
        }),
        is_bound: test.expected.as_ref().is_some_and(|e| e.is_bound),
        step,
    }
}

fn note(found: Found) -> FindingNote {
    FindingNote { rule: rule_name(&found.rule).to_owned(), severity: found.severity, says: found.says }
}
