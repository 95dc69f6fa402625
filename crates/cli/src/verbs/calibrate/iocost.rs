//! `assay calibrate --iocost`: the six coefficients of the linear model of the kernel's I/O controller blk-iocost.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use assay_analysis::StepSummary;
use assay_runner::Order;
use assay_spec::Address;
use assay_spec::units::Nanos;

use super::plan;
use crate::args::CalibrateArgs;
use crate::exit::{Exit, Failed};
use crate::output::terminal::say;
use crate::running::{Done, execute};
use crate::signals::stop_on_signals;
use crate::words::store::open_store;

const PLAN: &str = include_str!("iocost.toml");
/// The coefficients in the order of the kernel's documentation.
const COEFFICIENTS: [&str; 6] = ["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"];

pub(super) fn iocost(args: &CalibrateArgs, target: &String) -> anyhow::Result<Exit> {
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let order = Order {
        label: Some("iocost".to_owned()),
        ..args.io.order(plan(args, PLAN)?, std::slice::from_ref(target), args.size, &stop)?
    };
    let mut done = execute(order, &store)?;
    if let Some(failure) = done.failures.pop() {
        return Err(failure);
    }
    if stop.is_set() {
        return Ok(Exit::Interrupted);
    }
    let text = text_of(&done, target, args.run).map_err(|error| Failed::new(Exit::Errors, error))?;
    say(&text)?;
    Ok(Exit::Done)
}

fn text_of(done: &Done, target: &str, run: Nanos) -> anyhow::Result<String> {
    let summary = done.collector.summary();
    let values: Vec<String> = COEFFICIENTS
        .iter()
        .map(|name| {
            let step = summary.steps.iter().find(|step| step.test == *name && step.total.ops > 0);
            let step = step.ok_or_else(|| anyhow::anyhow!("the test {name} has no result; run it again"))?;
            Ok(format!("{name}={:.0}", coefficient(name, step)))
        })
        .collect::<anyhow::Result<_>>()?;
    let (device, remark) = device_of(target);
    Ok(format!(
        "{device} ctrl=user model=linear {}\n\n\
         Write this line to io.cost.model of the root cgroup, and enable the controller in io.cost.qos.\n\
         {remark}Measured as tools/cgroup/iocost_coef_gen.py of the kernel does, with Assay's own engine: 64 \
         outstanding,\nrbps and wbps with 16 MiB sequential, the others with 4 KiB; {} each. A drive that was not \
         written full\nbefore shows the rates of a fresh one; write it once from end to end first.\n",
        values.join(" "),
        run,
    ))
}

/// Bytes or I/Os per second, as the name of the coefficient says.
fn coefficient(name: &str, step: &StepSummary) -> f64 {
    if name.ends_with("bps") { step.total.mib_per_s * 1_048_576.0 } else { step.total.iops }
}

/// Major and minor number of the device that holds the target, and what to say of it.
fn device_of(target: &str) -> (String, String) {
    let local = !matches!(
        target.parse::<Address>(),
        Ok(Address::Iscsi(_) | Address::Nfs(_) | Address::Null { .. } | Address::Sim { .. })
    );
    let found = std::fs::metadata(Path::new(target)).ok().filter(|_| local);
    let Some(found) = found else {
        let says = "MAJ:MIN stands for the kernel's disk of this target (lsblk shows it): the target was not opened \
                    through the kernel.\n";
        return ("MAJ:MIN".to_owned(), says.to_owned());
    };
    let is_device = found.file_type().is_block_device();
    let number = if is_device { found.rdev() } else { found.dev() };
    // As the kernel packs them into 64 bits.
    let major = ((number >> 8) & 0xfff) | ((number >> 32) & !0xfff);
    let minor = (number & 0xff) | ((number >> 12) & !0xff & 0xffff_ffff);
    let device = format!("{major}:{minor}");
    let says = if is_device {
        "The controller works on whole disks: for a partition, give the number of its disk.\n"
    } else {
        "It is the device of the file system; the controller works on whole disks (lsblk shows them). A file \
         measures its file system too.\n"
    };
    (device, says.to_owned())
}
