//! `assay --help`: the verbs in groups, a line each, narrow enough for 80 columns.

/// What clap prints for `assay --help`; its own list of verbs has no groups.
pub(crate) const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Measure
  run          Run a suite or a plan on targets
  curve        Measure response time over the offered load
  probe-cache  Find caches in front of a target, and their sizes
  map          Measure latency over the addresses of a target
  attach       Resume a run over hosts whose coordinator ended
  scale        Find the limit as the load grows: tester, host or storage
  overhead     Measure the cost of an I/O in Assay itself

Explain
  diagnose     Find what limits a load, by experiments
  check        Describe a target, without any load
  compare      Compare results: which differences are real
  baseline     Set the reference that later runs are compared with
  journal      Measure each change to a set-up

Predict
  predict      Predict the performance of an array
  size         Size an array: how many disks, what remains after a failure
  calibrate    Measure the software cost of a target, for predictions
  arrays       List and print descriptions of arrays
  published    List and print measured tables of articles
  validate     Check predictions against measured systems

Keep
  runs         List stored runs
  show         Show a stored run
  report       Write a run as HTML, CSV, Markdown, BBCode or JSON
  label        Set the label or the note of a run
  rm           Remove stored runs
  export       Export a run for Prometheus, fio, Iometer, pandas, Assay
  import       Import runs of Assay, fio, Iometer, CrystalDiskMark, …
  store        Create a store in PostgreSQL, or copy one to another
  serve        Serve results and running runs to a browser, and /metrics

Set up
  suites       List and print the suites
  convert      Convert a plan of fio, Iometer, DiskSpd or vdbench
  target       Set the array or the price of a target
  lab          Serve a simulated array over iSCSI or NFS, to try things
  agent        Announce this host on a NATS server
  hosts        List such hosts, with the error of their clocks
  completions  Print completions for bash, zsh or fish
  man          Write the man pages
  version      Print version, commit and format of stores
  help         Print the help of a verb: assay help VERB

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
