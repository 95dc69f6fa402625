//! The link of a question: its speed, and what a faster one brings.

use assay_model::array::LinkRate;

use super::{NETWORKS, QuestionError, Reading, refuse};
use crate::words::number;

/// Protocols that run over one.
const PROTOCOLS: &[&str] = &["iscsi", "nfs", "smb", "cifs", "fc", "fibre"];
/// Units of a link and of nothing else.
pub(super) const LINK_UNITS: &[&str] = &["gbit", "gbit/s", "gb/s", "gbps", "gig", "gigabit", "gbe", "gfc"];

impl Reading {
    /// Whether the next words are a link: `10 GbE`, `10gbit iscsi`, `16G FC`.
    pub(super) fn link_follows(&self) -> bool {
        let word = |ahead: usize| self.words.get(self.next + ahead).map_or("", String::as_str);
        match number(word(0)) {
            Some((_, "")) => LINK_UNITS.contains(&word(1)) || of_network(word(1), word(2)),
            Some((_, unit)) => LINK_UNITS.contains(&unit) || of_network(unit, word(1)),
            None => false,
        }
    }

    /// Whether a size may be meant for the speed of a link: `10 gb iscsi`, `10 GB Ethernet`. `500 GB NFS` is data.
    pub(super) fn may_be_link(&self, unit: &str) -> bool {
        NETWORKS.contains(&self.peek()) || unit != "gbyte" && PROTOCOLS.contains(&self.peek())
    }

    pub(super) fn data_or_link(&self, value: f64, unit: &str) -> Result<(), QuestionError> {
        let unit = if unit == "gbyte" { "GB" } else { unit };
        refuse(format!(
            "{value} {unit} {}: write {value} Gb for the speed of a link, or \"{value} GB,\" with a comma for an \
             amount of data",
            self.peek()
        ))
    }

    pub(super) fn link(&mut self, name: &str) -> Result<(), QuestionError> {
        match LinkRate::named(name) {
            Some(rate) => {
                self.links.push(rate);
                Ok(())
            }
            None => {
                let names: Vec<&str> = LinkRate::NAMES
                    .iter()
                    .map(|(n, _)| *n)
                    .filter(|n| n.ends_with("GbE") || n.ends_with("GFC"))
                    .collect();
                refuse(format!(
                    "{name} is not a known link speed; use one of {}; an amount of data is written in GB",
                    names.join(", ")
                ))
            }
        }
    }

    /// The link of the array, and the one whose effect is asked for: `iSCSI over 1 GbE, what does 10 GbE bring`.
    pub(super) fn link_and_change(&self) -> Result<(Option<LinkRate>, Option<LinkRate>), QuestionError> {
        if let Some(word) = self.network.as_ref().filter(|_| self.links.is_empty() && self.protocol.is_none())
        {
            return refuse(format!(
                "`{word}`: say which, as in 10 GbE, 16 GFC, iSCSI, NFS or SMB; leave it out for local disks or the \
                 link of an array"
            ));
        }
        if self.brings && self.links.is_empty() {
            return refuse(
                "what a change brings: name the link, as in \"what does 10 GbE bring\"; give any other change with \
                 --what-if, as in --what-if raid=10"
                    .to_owned(),
            );
        }
        match (&self.links[..], self.brings) {
            ([], _) => Ok((None, None)),
            ([link], false) => Ok((Some(*link), None)),
            ([change], true) => Ok((None, Some(*change))),
            ([link, change], true) => Ok((Some(*link), Some(*change))),
            (links, _) => {
                let names: Vec<String> = links.iter().map(|link| link.name().into_owned()).collect();
                refuse(format!(
                    "{}: a question has one link; ask what another one brings, as in \"iSCSI over 1 GbE, what does 10 \
                     GbE bring\"",
                    names.join(" and ")
                ))
            }
        }
    }
}

/// Whether gigabits are meant, of a network or of Fibre Channel: `10G Ethernet`, `10 gb lan`, `16G FC`.
pub(super) fn of_network(unit: &str, next: &str) -> bool {
    ["gb", "g"].contains(&unit) && NETWORKS.contains(&next) || unit == "g" && ["fc", "fibre"].contains(&next)
}
