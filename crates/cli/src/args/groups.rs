//! `assay --help`: the verbs in groups, a line each, narrow enough for 80 columns.

/// What clap prints for `assay --help`; its own list of verbs has no groups.
pub(crate) const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Measure
  run          Run a suite or a plan on targets
  curve        Response time over the offered load
  probe-cache  Caches in front of a target, and their sizes
  map          Latency over the addresses of a target
  attach       Take up a run over hosts whose coordinator ended
  scale        Which limits as the load grows: tester, host or storage
  overhead     The cost of an I/O in Assay itself

Explain
  diagnose     What limits a load, by experiments
  check        What a target is, without any load
  compare      Results side by side: which differences are real
  baseline     What later runs are compared with
  journal      Changes to a set-up, each measured

Predict
  predict      What an array should give
  size         How many disks, which array, what remains after a failure
  calibrate    The software cost of a target, for predictions
  arrays       Descriptions of arrays that ship
  published    Measured tables of articles that ship
  validate     How far predictions and diagnoses are right

Keep
  runs         List stored runs
  show         Show a stored run
  report       Write a run as HTML, CSV, Markdown, BBCode or JSON
  label        Name a run, or note something about it
  rm           Remove stored runs
  export       For Prometheus, fio, Iometer, pandas, another Assay
  import       From another Assay, fio, Iometer, CrystalDiskMark, …
  store        Make one in PostgreSQL, copy one to another
  serve        Results and running runs in a browser, and /metrics

Set up
  suites       Plans that ship
  convert      A plan of fio, Iometer, DiskSpd or vdbench as a plan file
  target       Record the array or the price of a target
  lab          A simulated array over iSCSI or NFS, to try things
  agent        Announce this host on a NATS server
  hosts        List such hosts, with the error of their clocks
  completions  For bash, zsh and fish
  man          Write the man pages
  version      Version, commit, format of stores
  help         assay help VERB: all of a verb

{options}
{after-help}";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::HELP;
    use crate::args::Cli;

    #[test]
    fn every_verb_is_in_one_group() {
        let listed: Vec<&str> =
            HELP.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
        let verbs: Vec<String> =
            Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        for verb in &verbs {
            assert_eq!(listed.iter().filter(|listed| *listed == verb).count(), 1, "{verb}");
        }
        assert_eq!(listed.len(), verbs.len() + 1, "and `help`, which clap adds");
        assert!(HELP.lines().all(|line| line.chars().count() <= 78));
    }
}
