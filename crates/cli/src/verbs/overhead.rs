//! `assay overhead`: the real engine on the null target, which leaves the tester's own cost.

use anyhow::Context as _;
use assay_analysis::Collector;
use assay_record::RunEvent;
use assay_runner::on_null;
use assay_spec::units::Nanos;
use assay_spec::{Overrides, Plan, PlanFile};
use serde_json::json;

use crate::args::OverheadArgs;
use crate::exit::Exit;
use crate::output::terminal::say;

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
    let mut collector: Option<Collector> = None;
    on_null(plan, &assay_host::host_facts(), &mut |event| {
        if let RunEvent::Started(header) = &event.what {
            collector = Some(Collector::new(header));
        }
        collector.iter_mut().for_each(|collector| collector.add(event));
    })?;
    let summary = collector.context("the run on null: did not begin")?.summary();
    let cost = |step: &assay_analysis::StepSummary| Cost {
        outstanding: step.outstanding_asked,
        ns_per_io: 1e9 / step.total.iops,
        iops_per_core: step.total.iops,
    };
    Ok(summary.steps.iter().map(cost).collect())
}
