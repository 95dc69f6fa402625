//! What an agent does that is asked to: its own configuration decides, whatever arrives on the bus.
//!
//! ```toml
//! [[target]]
//! pattern = "/mnt/bench/**"        # * is a part of a name, ** also has slashes
//! write = true                     # may be created, filled, overwritten and removed; default: false
//! [[target]]
//! pattern = "/dev/sdb"
//! write = true
//! overwrite = ["WD-WCC4E1234567"]  # identities, as for assay run --overwrite
//! ```

use std::path::Path;

use assay_prepare::PrepareOptions;
use assay_spec::reader::{Source, Table, Value};
use assay_spec::{Address, PlanError, without_secret};

use crate::nats::wire::Task;

/// Most targets of a configuration.
const TARGETS_MAX: usize = 1000;
/// Most identities of a target.
const IDENTITIES_MAX: usize = 100;

/// Targets that an agent uses, and what it may do with them. The default allows only targets that cost nothing:
/// `null:` and simulated arrays that ship.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    targets: Vec<AllowedTarget>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedTarget {
    pattern: String,
    may_write: bool,
    /// Identities that may be overwritten.
    overwrite: Vec<String>,
}

/// What an agent may do for a task.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) targets: Vec<Address>,
    pub(crate) options: PrepareOptions,
    pub(crate) may_remove: bool,
}

impl Allowed {
    /// Reads a configuration; `origin` is what messages call it.
    ///
    /// # Errors
    /// Where it is not understood, with the line.
    pub fn parse(origin: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source::new(origin, text);
        let parsed = source.parse()?;
        let top = Table::top(&source, &parsed);
        let targets = top.get("target").map(|value| {
            value.array_up_to(TARGETS_MAX, "targets")?.iter().map(target).collect::<Result<Vec<_>, _>>()
        });
        let targets = targets.transpose()?.unwrap_or_default();
        top.finish()?;
        Ok(Self { targets })
    }

    /// Returns a line for each pattern, for the list of hosts.
    #[must_use]
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |target: &AllowedTarget| match target.may_write {
            true => format!("{} (write)", target.pattern),
            false => format!("{} (read)", target.pattern),
        };
        self.targets.iter().map(line).collect()
    }

    /// Returns what may be done for a task.
    ///
    /// # Errors
    /// With a sentence, where a target is not named, or must not be written.
    pub(crate) fn permit(&self, agent: &str, task: &Task) -> Result<Permission, String> {
        let targets: Vec<Address> =
            task.targets.iter().map(|target| address(target)).collect::<Result<_, _>>()?;
        let rules: Vec<Rule<'_>> = (task.targets.iter().zip(&targets))
            .map(|(text, address)| self.rule(agent, text, address))
            .collect::<Result<_, _>>()?;
        for (index, rule) in (0..).zip(&rules) {
            if !rule.may_write() && writes_to(task, index) {
                return Err(format!(
                    "the plan writes to {}, and the configuration of agent {agent} allows only reading there; add \
                     write = true to its [[target]], or run the plan with --set read=100",
                    without_secret(&task.targets[index as usize])
                ));
            }
        }
        let may_write = rules.iter().all(Rule::may_write);
        let identities = rules.iter().flat_map(|rule| rule.overwrite().iter());
        let overwrite =
            identities.filter(|known| task.options.overwrite.contains(known)).cloned().collect::<Vec<_>>();
        let options =
            if may_write { task.options.for_writing(overwrite) } else { task.options.for_reading() };
        Ok(Permission { targets, options, may_remove: may_write && task.options.remove })
    }

    fn rule(&self, agent: &str, text: &str, address: &Address) -> Result<Rule<'_>, String> {
        if costs_nothing(address) {
            return Ok(Rule::Free);
        }
        if let Address::Path(path) = address {
            check_path(path)?;
        }
        let rule = self.targets.iter().find(|target| matches(target.pattern.as_bytes(), text.as_bytes()));
        rule.map(Rule::Of).ok_or_else(|| {
            let text = without_secret(text);
            format!(
                "the configuration of agent {agent} does not name {text}; add a [[target]] with pattern = \"{text}\" \
                 to it and restart the agent (assay agent --config FILE)"
            )
        })
    }
}

/// What holds for a target.
enum Rule<'a> {
    Free,
    Of(&'a AllowedTarget),
}

impl Rule<'_> {
    fn may_write(&self) -> bool {
        match self {
            Self::Free => true,
            Self::Of(target) => target.may_write,
        }
    }

    fn overwrite(&self) -> &[String] {
        match self {
            Self::Free => &[],
            Self::Of(target) => &target.overwrite,
        }
    }
}

fn target(value: &Value<'_>) -> Result<AllowedTarget, PlanError> {
    let table = value.table()?;
    let pattern = table.get("pattern").map(|value| Ok(value.string()?.to_owned())).transpose()?;
    let missing = table.complain("a target needs a `pattern`, for example pattern = \"/mnt/bench/**\"");
    let identity = |value: &Value<'_>| value.string().map(|text| text.trim().to_owned());
    let overwrite = table.get("overwrite").map(|value| {
        value.array_up_to(IDENTITIES_MAX, "identities")?.iter().map(identity).collect::<Result<Vec<_>, _>>()
    });
    let (may_write, overwrite) = (
        table.get("write").map(|value| value.boolean()).transpose()?.unwrap_or(false),
        overwrite.transpose()?.unwrap_or_default(),
    );
    let needless = table.complain("`overwrite` needs write = true beside it");
    table.finish()?;
    match pattern {
        None => Err(missing),
        Some(_) if !may_write && !overwrite.is_empty() => Err(needless),
        Some(pattern) => Ok(AllowedTarget { pattern, may_write, overwrite }),
    }
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|error| format!("target `{}`: {error}", without_secret(text)))
}

/// Whether a target is no storage, and reads no file of the host.
fn costs_nothing(address: &Address) -> bool {
    match address {
        Address::Null { .. } => true,
        Address::Sim { array } => !array.contains(['/', '.']),
        Address::Path(_) | Address::Iscsi(_) | Address::Nfs(_) => false,
    }
}

/// A path is compared as text, so it has to say where it leads.
fn check_path(path: &Path) -> Result<(), String> {
    let is_plain = path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..");
    match is_plain && !path.to_string_lossy().contains("/./") {
        true => Ok(()),
        false => Err(format!("{}: an agent takes only absolute paths without `..`", path.display())),
    }
}

fn writes_to(task: &Task, index: u32) -> bool {
    let steps = task.plan.tests.iter().flat_map(|test| &test.steps);
    let mut jobs = steps.flat_map(|step| &step.jobs);
    jobs.any(|job| job.writes() && (job.targets.is_empty() || job.targets.contains(&index)))
}

/// Whether a text has the form of a pattern: `*` stands for any part of a name, `**` for anything. Own code: the crates
/// for this match paths, and addresses such as iscsi://… are none.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|at| matches(rest, &text[at..])),
        [b'*', rest @ ..] => {
            let name = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=name).any(|at| matches(rest, &text[at..]))
        }
        [first, rest @ ..] => text.first() == Some(first) && matches(rest, &text[1..]),
    }
}

#[cfg(test)]
mod tests {
    use assay_prepare::{Changes, FillChoice};
    use assay_spec::{Overrides, PlanFile};

    use super::*;
    use crate::nats::task::TaskOptions;

    const CONFIG: &str = r#"
[[target]]
pattern = "/mnt/*/t.dat"
write = true
[[target]]
pattern = "/dev/sdb"
write = true
overwrite = ["SERIAL1"]
[[target]]
pattern = "/srv/**"
"#;

    fn task(targets: &[&str], read: u32) -> Task {
        let text = format!("[[test]]\nname = \"t\"\naccess = [{{ size = \"4KiB\", read = {read} }}]\n");
        let plan = PlanFile::parse("p", &text).unwrap().resolve(&Overrides::default()).unwrap();
        let options = TaskOptions {
            uring: None,
            cached: false,
            sync: false,
            overwrite: vec!["SERIAL1".into(), "SERIAL2".into()],
            not_blank: true,
            no_fill: false,
            too_small_is_refused: false,
            remove: true,
            keep_awake: false,
        };
        Task { run: "r".into(), plan, targets: targets.iter().map(|t| (*t).to_owned()).collect(), options }
    }

    #[test]
    fn only_what_the_configuration_names_is_written_and_only_by_the_identities_that_it_lists() {
        let allowed = Allowed::parse("agent.toml", CONFIG).unwrap();
        let permitted = |targets: &[&str], read| allowed.permit("a", &task(targets, read));
        let file = permitted(&["/mnt/a/t.dat"], 0).unwrap();
        assert!(file.may_remove && file.options.overwrite.is_empty(), "SERIAL1 is of another target");
        let disk = permitted(&["/dev/sdb"], 0).unwrap();
        assert_eq!(disk.options.overwrite, ["SERIAL1"], "the bus asked for SERIAL2 too");
        let foreign = permitted(&["/srv/data/x.img"], 100).unwrap();
        assert_eq!((foreign.options.changes, foreign.options.fill), (Changes::Refused, FillChoice::Never));
        assert!(!foreign.may_remove && foreign.options.overwrite.is_empty());
        assert!(permitted(&["/srv/data/x.img"], 99).unwrap_err().contains("allows only reading"));
        let mixed = permitted(&["/mnt/a/t.dat", "/srv/x"], 100).unwrap();
        assert_eq!(
            mixed.options.changes,
            Changes::Refused,
            "nothing is filled beside a target that is only read"
        );
    }

    #[test]
    fn what_is_not_named_is_not_even_read() {
        let allowed = Allowed::parse("agent.toml", CONFIG).unwrap();
        for target in [
            "/mnt/a/b/t.dat",
            "/mnt/a/t.dat.bak",
            "/dev/sdc",
            "/mnt/../dev/sda",
            "/srv/../etc/shadow",
            "srv/x",
            "sim:/etc/shadow",
            "sim:secret.toml",
            "iscsi://nas/iqn.2004-01.example:d/1",
        ] {
            assert!(allowed.permit("a", &task(&[target], 100)).is_err(), "{target}");
            assert!(Allowed::default().permit("a", &task(&[target], 100)).is_err(), "{target}");
        }
        for free in ["null:", "sim:ix4-200d"] {
            assert!(Allowed::default().permit("a", &task(&[free], 0)).is_ok(), "{free}");
        }
    }

    #[test]
    fn mistakes_in_the_configuration_are_reported_with_their_line() {
        for (text, says) in [
            ("[[target]]\nwrite = true\n", "needs a `pattern`"),
            ("[[target]]\npattern = \"/x\"\nwirte = true\n", "write"),
            ("[[target]]\npattern = \"/x\"\noverwrite = [\"S\"]\n", "needs write = true"),
        ] {
            let error = Allowed::parse("agent.toml", text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("agent.toml:"), "{error}");
        }
    }
}
