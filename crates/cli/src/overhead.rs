//! `assay overhead`: the real engine on the null target, which leaves the tester's own cost.

use assay_analysis::Collector;
use assay_engine::{RunRequest, StopSignal};
use assay_prepare::{BlankChoice, FillChoice, IoChoice, PrepareOptions, TooSmall};
use assay_record::RunHeader;
use assay_spec::units::Nanos;
use assay_spec::{Address, Overrides, Plan, PlanFile};
use assay_target::{Caching, Durability};
use serde_json::json;

use crate::args::OverheadArgs;
use crate::exit::Exit;
use crate::terminal::say;

/// Random 4 KiB reads over 1 TiB by one worker, with full latency recording.
const PLAN: &str = r#"
name = "overhead"
[[test]]
name = "null"
access = [{ size = "4KiB", read = 100, random = 100 }]
warmup = "100ms"
sweep = { outstanding = [1, 32, 128] }
"#;

/// The cost at one queue depth.
struct Cost {
    outstanding: u64,
    ns_per_io: f64,
    iops_per_core: f64,
}

pub(crate) fn overhead(args: &OverheadArgs) -> anyhow::Result<Exit> {
    let costs = measure(&plan(args.run)?)?;
    if args.form.json {
        let list: Vec<_> = costs
            .iter()
            .map(|c| {
                json!({ "outstanding": c.outstanding, "ns_per_io": c.ns_per_io, "iops_per_core": c.iops_per_core })
            })
            .collect();
        say(&format!("{:#}\n", json!({ "schema": "assay.overhead/1", "depths": list })))?;
        return Ok(Exit::Done);
    }
    say("Cost of Assay itself: 4 KiB random reads on null:, one worker, full latency recording\n\n")?;
    say("Outstanding   ns per I/O   IOPS per core\n")?;
    for cost in costs {
        say(&format!(
            "{:>11}   {:>10.1}   {:>13.0}\n",
            cost.outstanding, cost.ns_per_io, cost.iops_per_core
        ))?;
    }
    Ok(Exit::Done)
}

fn plan(run: Nanos) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    overrides.set(&format!("run={run}"))?;
    Ok(PlanFile::parse("overhead", PLAN)?.resolve(&overrides)?)
}

fn measure(plan: &Plan) -> anyhow::Result<Vec<Cost>> {
    let stop = StopSignal::default();
    let options = PrepareOptions {
        io: IoChoice::Psync,
        caching: Caching::Direct,
        durability: Durability::Device,
        overwrite: Vec::new(),
        blank: BlankChoice::Required,
        fill: FillChoice::Never,
        too_small: TooSmall::Refuse,
        chap_secret: None,
    };
    let host = assay_host::host_facts();
    let addresses: [Address; 1] = ["null:".parse()?];
    let prepared = assay_prepare::open(plan, &addresses, &options, &host)?.fill(&|| false, &mut |_| {})?;
    let targets = crate::run::run_targets(&prepared);
    let header = RunHeader {
        run: "overhead".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ms: 0,
        plan: plan.clone(),
        targets: prepared.facts(),
        host,
        array: None,
        stated: Default::default(),
        imported: None,
        diagnosis: None,
    };
    let mut collector = Collector::new(&header);
    let request = RunRequest { header, targets: &targets, warnings: Vec::new(), stop, cpus: Vec::new() };
    assay_engine::run(request, &mut |event| {
        collector.add(&event);
        Ok(())
    })?;
    let cost = |step: &assay_analysis::StepSummary| Cost {
        outstanding: step.outstanding_asked,
        ns_per_io: 1e9 / step.total.iops,
        iops_per_core: step.total.iops,
    };
    Ok(collector.summary().steps.iter().map(cost).collect())
}
