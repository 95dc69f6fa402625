//! Names of files and of things in plans.

/// The name of a file without its folders.
pub(crate) fn file_name(origin: &str) -> &str {
    origin.rsplit('/').next().unwrap_or(origin)
}

/// The same without its ending.
pub(crate) fn stem(origin: &str) -> &str {
    let name = file_name(origin);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).trim_start_matches('.')
}

/// Returns `name`, with a number behind it where it is taken.
pub(crate) fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(name) {
        return name.to_owned();
    }
    (2..).map(|n| format!("{name} ({n})")).find(|name| !is_taken(name)).unwrap_or_default()
}

/// A name without the number that [`unique`] put behind it.
pub(crate) fn base_name(name: &str, is_known: impl Fn(&str) -> bool) -> &str {
    let base = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match base {
        Some((base, number)) if number.parse::<u32>().is_ok() && is_known(base) => base,
        _ => name,
    }
}

/// A name that a plan takes, with room for a number behind it.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(assay_spec::limits::NAME_CHARS_MAX - 20).collect()
}
