//! Checks that a plan and the targets of the command line match, before any target is inspected.

use std::mem::discriminant;
use std::path::PathBuf;

use assay_spec::{Address, Plan, Step, Test};

use crate::error::PrepareError;
use crate::path::real_path;

/// Fails if a plan names targets that were not given, or that do not support its requests.
pub(crate) fn check(plan: &Plan, addresses: &[Address]) -> Result<(), PrepareError> {
    if addresses.is_empty() {
        return Err(PrepareError::NoTarget);
    }
    check_different(addresses)?;
    for test in &plan.tests {
        for step in &test.steps {
            let mut used: Vec<usize> = Vec::new();
            for job in &step.jobs {
                let indices = indices(test, &job.name, &job.targets, addresses)?;
                if plan.verifies()
                    && let Some(shared) = indices.iter().find(|index| used.contains(index))
                {
                    let target = addresses[*shared].to_string();
                    return Err(PrepareError::VerifyShares { test: test.name.clone(), target });
                }
                let targets: Vec<&Address> = indices.iter().map(|index| &addresses[*index]).collect();
                if step.verify && !targets.iter().all(|address| keeps_data(address)) {
                    return Err(PrepareError::VerifyNull { test: test.name.clone() });
                }
                check_kinds(test, &job.name, &targets)?;
                used.extend(indices);
            }
        }
    }
    Ok(())
}

/// Checks that the targets of one job are of one kind, and that a LUN or file on an NFS server is alone, because one
/// thread drives them together.
fn check_kinds(test: &Test, job: &str, targets: &[&Address]) -> Result<(), PrepareError> {
    let (test, job) = (test.name.clone(), job.to_owned());
    let remote = targets.iter().find(|address| matches!(address, Address::Iscsi(_) | Address::Nfs(_)));
    match remote {
        Some(lun) if targets.len() > 1 => Err(PrepareError::LunShares { test, job, lun: lun.to_string() }),
        _ if targets.windows(2).any(|two| discriminant(two[0]) != discriminant(two[1])) => {
            Err(PrepareError::MixedKinds { test, job })
        }
        _ => Ok(()),
    }
}

/// Returns true if written data can be read back.
fn keeps_data(address: &Address) -> bool {
    match address {
        Address::Path(_) | Address::Iscsi(_) | Address::Nfs(_) => true,
        Address::Null { .. } | Address::Sim { .. } => false,
    }
}

fn indices(test: &Test, job: &str, named: &[u32], addresses: &[Address]) -> Result<Vec<usize>, PrepareError> {
    if named.is_empty() {
        return Ok((0..addresses.len()).collect());
    }
    let given = addresses.len();
    let missing = |index| PrepareError::NoSuchTarget {
        test: test.name.clone(),
        job: job.to_owned(),
        index,
        given: if given == 1 { "1 was".into() } else { format!("{given} were") },
    };
    named.iter().map(|i| if (*i as usize) < given { Ok(*i as usize) } else { Err(missing(*i)) }).collect()
}

fn check_different(addresses: &[Address]) -> Result<(), PrepareError> {
    let mut earlier: Vec<(PathBuf, String)> = Vec::new();
    for address in addresses {
        let place = match address {
            Address::Path(path) => real_path(path),
            // A target's name identifies it, whatever portals lead to it.
            Address::Iscsi(lun) => PathBuf::from(format!("{}/{}", lun.target, lun.lun)),
            Address::Nfs(file) => PathBuf::from(format!("nfs://{}{}", file.host, file.path)),
            Address::Null { .. } | Address::Sim { .. } => continue,
        };
        if let Some((_, same)) = earlier.iter().find(|(other, _)| *other == place) {
            return Err(PrepareError::SameTwice(same.clone(), address.to_string()));
        }
        earlier.push((place, address.to_string()));
    }
    Ok(())
}

/// Returns the name of the first test that writes to the `index`-th target.
pub(crate) fn writer(plan: &Plan, index: u32) -> Option<&str> {
    let writes = |test: &&Test| test.steps.iter().any(|step| writes_to(step, index));
    plan.tests.iter().find(writes).map(|test| test.name.as_str())
}

/// Returns true if a step writes to the `index`-th target.
pub(crate) fn writes_to(step: &Step, index: u32) -> bool {
    let uses = |targets: &[u32]| targets.is_empty() || targets.contains(&index);
    step.jobs.iter().any(|job| uses(&job.targets) && job.writes())
}
