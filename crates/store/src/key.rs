//! What one target is called in the store, however it was typed.

use std::path::Path;

use assay_record::TargetFacts;
use assay_spec::Address;

/// Returns the name under which the store keeps what it knows of a target: paths are absolute, links followed;
/// addresses of LUNs and exports have one spelling, without a secret; others are as typed.
#[must_use]
pub fn target_key(address: &str) -> String {
    match address.parse::<Address>() {
        Ok(Address::Path(path)) => {
            let absolute = path.canonicalize().or_else(|_| std::path::absolute(&path));
            absolute.unwrap_or(path).display().to_string()
        }
        Ok(remote @ (Address::Iscsi(_) | Address::Nfs(_))) => remote.to_string(),
        _ => address.to_owned(),
    }
}

/// Returns the name of a target that a run uses. One that was measured elsewhere, from a relative path, goes by the
/// path that its record has.
pub(crate) fn key_of_run(target: &TargetFacts) -> String {
    match target.address.parse::<Address>() {
        Ok(Address::Path(path)) if path.is_relative() && !path.exists() => {
            let recorded = Path::new(&target.member.path);
            if recorded.is_absolute() { target.member.path.clone() } else { target.address.clone() }
        }
        _ => target_key(&target.address),
    }
}

/// Whether an address is a path that leads elsewhere from another folder.
pub(crate) fn is_relative(address: &str) -> bool {
    matches!(address.parse::<Address>(), Ok(Address::Path(path)) if path.is_relative())
}

/// Returns the names of the targets of a run among those that the store has of it. Where two relative paths have no
/// end in common with a name, as links have not, the two cannot be distinguished, and stay as they were typed: in the
/// folder of whoever asks they would be other files.
pub(crate) fn keys_among(targets: &[&str], known: &[String]) -> Vec<String> {
    let fits = |target: &str, name: &str| Path::new(name).ends_with(target.trim_start_matches("./"));
    let key = |target: &&str| (!is_relative(target)).then(|| target_key(target));
    let mut keys: Vec<Option<String>> = targets.iter().map(key).collect();
    // What fits only one is taken, and leaves less for the others, until nothing more is found.
    loop {
        let left: Vec<&String> = known.iter().filter(|name| !keys.contains(&Some((*name).clone()))).collect();
        let open: Vec<usize> = (0..keys.len()).filter(|at| keys[*at].is_none()).collect();
        let by_end = open.iter().find_map(|at| {
            let mut fitting = left.iter().filter(|name| fits(targets[*at], name));
            fitting.next().filter(|_| fitting.next().is_none()).map(|name| (*at, (*name).clone()))
        });
        let last = || {
            Some((*open.first()?, (*left.first()?).clone())).filter(|_| open.len() == 1 && left.len() == 1)
        };
        let Some((at, name)) = by_end.or_else(last) else { break };
        keys[at] = Some(name);
    }
    keys.into_iter().zip(targets).map(|(key, target)| key.unwrap_or_else(|| (*target).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use assay_record::MemberFacts;

    use super::*;

    #[test]
    fn a_path_has_one_name_however_it_is_typed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().canonicalize().expect("it exists").join("t.dat");
        std::fs::write(&file, "").expect("a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert_eq!(target_key(link.to_str().expect("text")), file.display().to_string());
        let roundabout = format!("{}/../{}/t.dat", folder.path().display(), name(folder.path()));
        assert_eq!(target_key(&roundabout), file.display().to_string());
        for other in ["iscsi://nas/iqn.2001-05.com.example:t/0", "null:", "sim:ix4-200d"] {
            assert_eq!(target_key(other), other);
        }
        assert_eq!(
            target_key("iscsi://nas/iqn.2001-05.com.example:t/0?"),
            "iscsi://nas/iqn.2001-05.com.example:t/0"
        );
        let far = |address: &str| TargetFacts {
            address: address.to_owned(),
            member: MemberFacts { path: "/mnt/far/t.dat".into(), ..MemberFacts::default() },
        };
        assert_eq!(key_of_run(&far("./no-such-file.dat")), "/mnt/far/t.dat");
        assert_eq!(key_of_run(&far("/no/such/file.dat")), "/no/such/file.dat");
    }

    #[test]
    fn a_relative_path_of_a_run_is_that_of_its_folder() {
        let check = |targets: &[&str], known: &[&str], expected: &[&str]| {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(keys_among(targets, &known), expected);
        };
        check(&["./t.dat"], &["/mnt/a/t.dat"], &["/mnt/a/t.dat"]);
        check(&["../t.dat"], &["/mnt/t.dat"], &["/mnt/t.dat"]);
        check(
            &["b.dat", "null:", "./a.dat"],
            &["/x/a.dat", "/x/b.dat", "null:"],
            &["/x/b.dat", "null:", "/x/a.dat"],
        );
        check(&["/no/t.dat"], &["/mnt/t.dat"], &["/no/t.dat"]);
        check(&["a.dat", "sub/a.dat"], &["/x/a.dat", "/x/sub/a.dat"], &["/x/a.dat", "/x/sub/a.dat"]);
        check(&["l1", "l2"], &["/x/a.dat", "/x/b.dat"], &["l1", "l2"]);
    }

    fn name(path: &Path) -> String {
        path.file_name().expect("it has a name").to_string_lossy().into_owned()
    }
}
