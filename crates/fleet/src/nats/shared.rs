//! Targets that several hosts would use while one of them writes. Each host takes care that the unit it writes to stays
//! the unit that it has inspected, and knows of no writes but its own: those of another host would look to it like a
//! disk that was exchanged, or like writes that the storage has lost.

use assay_spec::{Address, Placement};

/// Returns why a run cannot be done, where hosts would write to one LUN or one file of a server. Paths of files say
/// nothing: the same one is on every host.
pub(crate) fn written_by_several(
    placement: &Placement,
    targets: &[String],
    may_overwrite: bool,
) -> Option<String> {
    let of_server =
        |target: &&String| matches!(target.parse::<Address>(), Ok(Address::Iscsi(_) | Address::Nfs(_)));
    let shared = targets.iter().filter(|target| !target.contains("{host}")).find(of_server)?;
    let hosts: Vec<&str> = placement.hosts.iter().map(|host| host.host.as_str()).collect();
    let writes = may_overwrite || placement.hosts.iter().any(|host| host.plan.writes());
    (writes && hosts.len() > 1).then(|| {
        format!(
            "{} would write to {shared} or read it while another host writes: each would take the writes of the \
             others for a fault of the storage. Give each host its own target ({{host}} in the address), or fill this \
             one by a run on one host and only read it here, without --overwrite",
            hosts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use assay_spec::{Overrides, PlanFile};

    use super::*;

    fn says(read: u8, target: &str, hosts: &[&str], may_overwrite: bool) -> Option<String> {
        let text = format!(
            "[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{{ size = \"4KiB\", random = 100, read = {read} }}]\n"
        );
        let plan = PlanFile::parse("t", &text).unwrap().resolve(&Overrides::default()).unwrap();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        written_by_several(&plan.placed(&hosts, 1).unwrap(), &[target.to_owned()], may_overwrite)
    }

    #[test]
    fn hosts_never_write_to_one_lun_together() {
        let lun = "iscsi://nas/iqn.2026-01.test:a/1";
        let refused = says(50, lun, &["p", "q"], true).unwrap();
        assert!(
            refused.starts_with(&format!("p, q would write to {lun}")) && refused.contains("{host}"),
            "{refused}"
        );
        assert!(says(100, lun, &["p", "q"], true).is_some(), "it would be filled by both");
        assert!(says(0, "nfs://nas/vol/t.dat", &["p", "q"], false).is_some());
        for (read, target, hosts, may_overwrite) in [
            (100, lun, vec!["p", "q"], false),
            (0, lun, vec!["p"], true),
            (0, "iscsi://nas/iqn.2026-01.test:{host}/1", vec!["p", "q"], true),
            (0, "nfs://nas/vol/{host}.dat", vec!["p", "q"], false),
            (0, "/mnt/t.dat", vec!["p", "q"], false),
        ] {
            assert_eq!(says(read, target, &hosts, may_overwrite), None, "{target}");
        }
    }
}
