//! The links of a lab: virtual Ethernet between this host and the namespace of the server, shaped at both ends.

use std::path::Path;

use super::shell::{run, run_if_possible};
use super::state::{Lab, Names};

/// Creates the namespace; fails if there is one of its name.
pub(super) fn create(names: &Names) -> anyhow::Result<()> {
    run(&format!("ip netns add {}", names.namespace)).map(|_| ())
}

/// Builds all links in the new namespace.
pub(super) fn build(lab: &Lab) -> anyhow::Result<()> {
    let names = lab.names();
    run(&format!("ip -n {} link set lo up", names.namespace))?;
    (1..=lab.links).try_for_each(|link| plug(lab, &names, link))
}

fn plug(lab: &Lab, names: &Names, link: u32) -> anyhow::Result<()> {
    let (here, there, mtu) = (names.interface(link), far_end(link), lab.mtu);
    let space = &names.namespace;
    run(&format!("ip link add {here} mtu {mtu} type veth peer name {there} mtu {mtu} netns {space}"))?;
    run(&format!("ip addr add {}/24 dev {here}", names.host_address(link)))?;
    run(&format!("ip -n {space} addr add {}/24 dev {there}", names.server_address(link)))?;
    run(&format!("ip link set {here} up"))?;
    run(&format!("ip -n {space} link set {there} up"))?;
    shape(lab, link, lab.mbit)
}

/// The end of a link in the namespace of the server.
pub(super) fn far_end(link: u32) -> String {
    format!("link{link}")
}

/// Limits both ends of a link to a rate. The burst and the queue are so large that nothing is lost at full rate: with
/// the defaults retransmissions cost 5 to 60 % of it.
pub(super) fn shape(lab: &Lab, link: u32, mbit: u32) -> anyhow::Result<()> {
    let names = lab.names();
    let here = (String::new(), names.interface(link));
    let there = (format!("-n {} ", names.namespace), far_end(link));
    for (space, device) in [here, there] {
        run_if_possible(&format!("tc {space}qdisc del dev {device} root"));
        run(&format!("tc {space}qdisc add dev {device} root handle 1: htb default 1"))?;
        run(&format!(
            "tc {space}class add dev {device} parent 1: classid 1:1 htb rate {mbit}mbit burst 256k cburst 256k \
             quantum 60000"
        ))?;
        run(&format!("tc {space}qdisc add dev {device} parent 1:1 handle 10: pfifo limit 2000"))?;
    }
    Ok(())
}

/// Drops packets that arrive at either end of a link. Dropping what leaves would not do: the sender's own TCP would see
/// it and wait, and nothing would be lost.
pub(super) fn lose(lab: &Lab, link: u32, percent: f64) -> anyhow::Result<()> {
    let names = lab.names();
    // In ten-thousandths, as nftables has no fractions.
    let share = (percent * 100.0).round();
    let (table, here) = (loss_table(&names, link), names.interface(link));
    let space = format!("ip netns exec {} ", names.namespace);
    for (prefix, device) in [("", here), (space.as_str(), far_end(link))] {
        run(&format!("{prefix}nft add table netdev {table}"))?;
        run(&format!(
            "{prefix}nft add chain netdev {table} in {{ type filter hook ingress device {device} priority 0 ; }}"
        ))?;
        run(&format!("{prefix}nft add rule netdev {table} in numgen random mod 10000 < {share} drop"))?;
    }
    Ok(())
}

fn loss_table(names: &Names, link: u32) -> String {
    format!("assay_{}_{link}", names.lab)
}

/// Undoes what [`lose`] did.
pub(super) fn lose_nothing(names: &Names, link: u32) {
    let table = loss_table(names, link);
    run_if_possible(&format!("nft delete table netdev {table}"));
    run_if_possible(&format!("ip netns exec {} nft delete table netdev {table}", names.namespace));
}

/// Returns true if the namespace exists.
pub(super) fn exists(names: &Names) -> bool {
    Path::new("/run/netns").join(&names.namespace).exists()
}

/// Returns the first interface of this host that has the name of a link of the lab.
pub(super) fn taken(lab: &Lab) -> Option<String> {
    let names = lab.names();
    let is_taken = |name: &String| Path::new("/sys/class/net").join(name).exists();
    (1..=lab.links).map(|link| names.interface(link)).find(is_taken)
}

/// Removes the namespace and the links that end in it; what is not there is no error. An interface of this host that
/// only has the name of a link is left.
pub(super) fn remove(names: &Names) {
    let space = &names.namespace;
    for link in 1..=super::state::LINKS_MAX {
        let far = far_end(link);
        if run(&format!("ip -n {space} link show dev {far}")).is_ok() {
            // A lab that lost nothing has no table, and nftables may be missing.
            run_if_possible(&format!("nft delete table netdev {}", loss_table(names, link)));
            // Both ends go at once.
            run_if_possible(&format!("ip -n {space} link del {far}"));
        }
    }
    run_if_possible(&format!("ip netns del {space}"));
}
