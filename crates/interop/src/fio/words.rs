//! Words of command lines: the name of fio, and what people have before it.

/// Words that people have before a command, besides prompts.
const LAUNCHERS: [&str; 7] = ["sudo", "time", "nohup", "nice", "exec", "&", "PS"];

/// Whether a word may stand before a command: a prompt, `sudo`, an assignment.
pub(crate) fn is_before_command(word: &str) -> bool {
    LAUNCHERS.contains(&word)
        || word.ends_with(['$', '#', '>', '%'])
        || assignment(word).is_some_and(|(_, value)| !value.contains(['(', ')']))
}

/// Whether a word is a command that runs the command behind it and has words of its own before that:
/// `timeout 60 fio …`, `sudo -u bench fio …`.
pub(crate) fn is_wrapper(word: &str, next: Option<&str>) -> bool {
    const WRAPPERS: [&str; 11] = [
        "timeout", "taskset", "numactl", "ionice", "chrt", "stdbuf", "env", "doas", "setarch", "cgexec",
        "prlimit",
    ];
    let name = word.rsplit('/').next().unwrap_or(word);
    WRAPPERS.contains(&name) || (LAUNCHERS.contains(&name) && next.is_some_and(|next| next.starts_with('-')))
}

/// Whether a word is the name of fio, with or without its folder.
pub(crate) fn is_fio(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    matches!(name.as_str(), "fio" | "fio.exe")
}

/// Returns the name and the value of an assignment, `DEV=/dev/sdb`.
pub(crate) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}
