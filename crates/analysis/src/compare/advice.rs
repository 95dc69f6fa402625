//! What to type so that results that say nothing of each other can be compared.

use assay_spec::suites::suite_titled;

use super::{Against, ResultSet, Side, Source, Weight};
use crate::quoted;

/// Returns why no test is in both, and what to do about it.
pub(super) fn without_common_test(sides: &[Side], index: usize) -> String {
    let (first, own) = (&sides[0].readings[0], &sides[index].readings[0]);
    if let Some(article) = [first, own].into_iter().find(|side| side.source == Source::Article) {
        let id = &article.id;
        return format!(
            "no test is in both. Tests are compared by name, else by load; assay show {id} lists those of the article."
        );
    }
    let next = again(first, own, "");
    match (value(first, "plan"), value(own, "plan")) {
        (Some(a), Some(b)) if a != b => {
            format!("no test is in both: one ran {a}, the other {b}. Run one plan on both targets:{next}")
        }
        _ => format!("no test is in both. Run the same tests (--only) on both targets:{next}"),
    }
}

/// Returns what to do about rows that cannot be compared; empty where all can, or nothing can be done.
pub(super) fn unlike(sides: &[Side], index: usize, compared: &[&Against]) -> String {
    let (first, own) = (&sides[0].readings[0], &sides[index].readings[0]);
    let differs = |facet: &str| value(first, facet).filter(|a| value(own, facet).is_some_and(|b| b != *a));
    let breaks = first.facets.iter().filter(|facet| facet.weight == Weight::Breaks);
    let broken: Vec<&str> =
        breaks.map(|facet| facet.name.as_str()).filter(|name| differs(name).is_some()).collect();
    if let Some(name) = [first, own].into_iter().find_map(measures_tester) {
        let is_broken = !broken.is_empty();
        return if is_broken {
            format!(" {name} measures Assay itself; compare it with other runs on {name} only.")
        } else {
            String::new()
        };
    }
    if broken.is_empty() {
        return match compared.iter().any(|against| !against.load_differs.is_empty()) {
            true => " Run the same plan with the same --set on both to compare them.".to_owned(),
            false => String::new(),
        };
    }
    if [first, own].iter().any(|side| side.source != Source::Run || value(side, TARGET).is_none()) {
        return String::new();
    }
    let mut options = String::new();
    options.extend(differs("bypassing the page cache").filter(|direct| *direct == "no").map(|_| " --cached"));
    options.extend(differs("each write durable").filter(|sync| *sync == "yes").map(|_| " --sync"));
    format!(" To compare them, measure one as the other was measured:{}", again(first, own, &options))
}

/// The facet that names the targets.
const TARGET: &str = "target";

fn value<'r>(set: &'r ResultSet, facet: &str) -> Option<&'r str> {
    set.facets.iter().find(|f| f.name == facet).map(|f| f.value.as_str())
}

/// `null:`, if that is every target.
fn measures_tester(set: &ResultSet) -> Option<&str> {
    null_targets(value(set, TARGET)?, &set.hosts)
}

/// The targets of a facet as they are called, if all of them are `null:`; of several hosts each stands behind the name
/// of its own.
fn null_targets<'r>(targets: &'r str, hosts: &[String]) -> Option<&'r str> {
    let is_null = |target: &str| {
        let of_host = |host: &String| target.strip_prefix(host.as_str())?.strip_prefix(':');
        match hosts {
            [] => target.starts_with("null:"),
            hosts => hosts.iter().filter_map(of_host).any(|own| own.starts_with("null:")),
        }
    };
    let are_null = targets.split(", ").all(is_null);
    are_null.then_some(if hosts.is_empty() { targets } else { "null:" })
}

/// The command that runs the plan of one side on the targets of another, over the same span.
fn again(first: &ResultSet, own: &ResultSet, options: &str) -> String {
    let plan = value(first, "plan").and_then(suite_titled).map_or("PLAN", |suite| suite.name);
    let targets = value(own, TARGET).map_or_else(|| "TARGET".to_owned(), |of| typed(of, &own.hosts));
    // Spans of several targets that differ are joined.
    let span = value(first, "span").filter(|span| !span.contains(','));
    let size = span.filter(|_| value(own, TARGET).is_some()).map(|span| format!(" --size {span}"));
    let changes: String = first.options.iter().map(|option| format!(" {option}")).collect();
    format!(" assay run {plan} {targets}{}{changes}{options}.", size.unwrap_or_default())
}

/// The targets of a facet as a shell takes them. A diagnosis has other ways to a target beside it, `TARGET (one path)`,
/// which are no addresses. Of several hosts the record has those of each, behind its name; where they are reached is in
/// no record.
fn typed(targets: &str, hosts: &[String]) -> String {
    let all: Vec<&str> = targets.split(", ").collect();
    if !hosts.is_empty() {
        let patterns = patterns(&all, hosts).unwrap_or_else(|| vec!["TARGET".to_owned()]);
        let patterns: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
        return format!(
            "{} --hosts {} --nats nats://HOST:4222",
            patterns.join(" "),
            quoted(&hosts.join(","))
        );
    }
    let is_way = |target: &&str| target.rsplit_once(" (").is_some_and(|(address, _)| all.contains(&address));
    all.iter().copied().filter(|target| !is_way(target)).map(quoted).collect::<Vec<_>>().join(" ")
}

/// What was typed so that each host has these targets, with {host} for its name.
fn patterns(all: &[&str], hosts: &[String]) -> Option<Vec<String>> {
    let of = |host: &String| -> Vec<&str> {
        all.iter().filter_map(|target| target.strip_prefix(host.as_str())?.strip_prefix(':')).collect()
    };
    let each: Vec<Vec<&str>> = hosts.iter().map(of).collect();
    let count = each.first().filter(|first| each.iter().all(|own| own.len() == first.len()))?.len();
    let pattern = |index: usize| {
        let mut rests: Vec<&str> = each.iter().map(|own| own[index]).collect();
        let mut pattern = String::new();
        while let Some(next) = rests[0].chars().next() {
            let behind_name = || -> Option<Vec<&str>> {
                rests.iter().zip(hosts).map(|(rest, host)| rest.strip_prefix(host.as_str())).collect()
            };
            rests = match behind_name().filter(|_| hosts.len() > 1) {
                Some(behind) => {
                    pattern.push_str("{host}");
                    behind
                }
                None => {
                    pattern.push(next);
                    rests.iter().map(|rest| rest.strip_prefix(next)).collect::<Option<_>>()?
                }
            };
        }
        rests.iter().all(|rest| rest.is_empty()).then_some(pattern)
    };
    (0..count).map(pattern).collect()
}

#[cfg(test)]
mod tests {
    use super::{null_targets, typed};

    #[test]
    fn a_printed_command_can_be_copied_into_a_shell() {
        assert_eq!(typed("a.dat, /dev/sdb", &[]), "a.dat /dev/sdb");
        assert_eq!(
            typed("iscsi://nas/iqn.2004-01.example:disk/1?portals=all&paths=2, it's.dat", &[]),
            r"'iscsi://nas/iqn.2004-01.example:disk/1?portals=all&paths=2' 'it'\''s.dat'"
        );
        assert_eq!(typed("/dev/sdb, /dev/sdb (one path)", &[]), "/dev/sdb");
    }

    /// It said "null:, b:null: measures Assay itself", and the same of a host on null beside one on a disk.
    #[test]
    fn assay_itself_is_measured_where_every_target_of_every_host_is_null() {
        let of = |targets: &'static str, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            null_targets(targets, &hosts)
        };
        assert_eq!(of("null:?latency=1ms", &[]), Some("null:?latency=1ms"));
        assert_eq!(of("a:null:, b:null:", &["a", "b"]), Some("null:"));
        assert_eq!(of("a:null:, b:/dev/sdb", &["a", "b"]), None);
        assert_eq!(of("null:, /dev/sdb", &[]), None);
    }

    /// It said `assay run PLAN a:/mnt/a/t.dat b:/mnt/b/t.dat`, which are no targets.
    #[test]
    fn the_targets_of_hosts_are_printed_as_they_are_typed() {
        let of = |targets: &str, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            let typed = typed(targets, &hosts);
            typed.strip_suffix(" --nats nats://HOST:4222").unwrap().to_owned()
        };
        for (targets, hosts, expected) in [
            ("a:/data/a/t.dat, b:/data/b/t.dat", &["a", "b"][..], "'/data/{host}/t.dat' --hosts a,b"),
            ("a:null:, b:null:", &["a", "b"], "null: --hosts a,b"),
            ("e1:/e1, e1:/x, e2:/e2, e2:/x", &["e1", "e2"], "'/{host}' /x --hosts e1,e2"),
            ("e1:iscsi://n/iqn.x:e1/0", &["e1"], "iscsi://n/iqn.x:e1/0 --hosts e1"),
            ("a:/dev/sdb, b:/dev/sdc", &["a", "b"], "TARGET --hosts a,b"),
            ("a:/t, b:/t2", &["a", "b"], "TARGET --hosts a,b"),
        ] {
            assert_eq!(of(targets, hosts), expected);
        }
    }
}
