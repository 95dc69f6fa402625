//! What `break` breaks and `mend` mends.

use anyhow::{Context as _, bail};

use super::network::{far_end, lose, lose_nothing, shape};
use super::shell::{missing, run};
use super::state::{Broken, Lab};
use super::wait_until_server;
use crate::args::LabFault;

/// Breaks something, and notes it.
pub(super) fn break_(lab: &mut Lab, fault: LabFault) -> anyhow::Result<Broken> {
    let fault = Broken::from(fault);
    if let Some(link) = fault.link().filter(|link| !(1..=lab.links).contains(link)) {
        bail!("there is no link {link}; this lab has links 1 to {}", lab.links);
    }
    let names = lab.names();
    match fault {
        Broken::Cut { link } => {
            run(&format!("ip -n {} link set {} down", names.namespace, far_end(link)))?;
        }
        Broken::Slow { link, mbit } => shape(lab, link, mbit)?,
        Broken::Loss { link, percent } => {
            if !(0.01..=100.0).contains(&percent) {
                bail!("a loss is from 0.01 to 100 %, not {percent}");
            }
            let packages = missing(&[("nft", "nftables")]);
            if !packages.is_empty() {
                bail!("losing packets needs nftables, which is not installed: apt-get install nftables");
            }
            lose_nothing(&names, link);
            lose(lab, link, percent)?;
        }
        Broken::Mtu { link, bytes } => {
            run(&format!("ip -n {} link set {} mtu {bytes}", names.namespace, far_end(link)))?;
        }
        Broken::Disk { .. } | Broken::Server => {}
    }
    let kind = std::mem::discriminant(&fault);
    lab.broken.retain(|known| std::mem::discriminant(known) != kind || known.link() != fault.link());
    lab.broken.push(fault);
    // The members of the array that are left must still be an array.
    lab.array_now().with_context(|| fault.says())?;
    // The serving process looks at the state and does the rest.
    lab.write()?;
    if fault == Broken::Server {
        wait_until_server(lab, None)?;
    }
    Ok(fault)
}

/// Mends everything, and returns what was broken.
pub(super) fn mend(lab: &mut Lab) -> anyhow::Result<Vec<Broken>> {
    let names = lab.names();
    for fault in &lab.broken {
        match *fault {
            Broken::Cut { link } => {
                run(&format!("ip -n {} link set {} up", names.namespace, far_end(link)))?;
            }
            Broken::Slow { link, .. } => shape(lab, link, lab.mbit)?,
            Broken::Loss { link, .. } => lose_nothing(&names, link),
            Broken::Mtu { link, .. } => {
                run(&format!("ip -n {} link set {} mtu {}", names.namespace, far_end(link), lab.mtu))?;
            }
            Broken::Disk { .. } | Broken::Server => {}
        }
    }
    let mended = std::mem::take(&mut lab.broken);
    lab.write()?;
    wait_until_server(lab, None)?;
    Ok(mended)
}
