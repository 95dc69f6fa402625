//! Secrets that somebody typed into an address, where they do not belong: found and covered in one place.
//!
//! A word with a secret in it is refused before anything else is done with it, and what is shown of it is its covered
//! form. Rather too much is covered than too little: everything from the first colon after a user's name to the
//! last `@` may belong to a password.

use crate::address_keys::{ISCSI_KEYS, NFS_KEYS};

/// Schemes of which an address may have a user and a password.
const SCHEMES: [&str; 12] =
    ["iscsi", "nfs", "nfs4", "smb", "cifs", "http", "https", "s3", "ftp", "ssh", "nats", "postgres"];
/// Keys that hold no secret, whatever their names contain.
const HARMLESS_KEYS: [&str; 1] = ["chap_file"];
/// Parts of the names of keys that hold secrets.
const SECRET_KEYS: [&str; 12] = [
    "secret", "pass", "pwd", "pw", "psk", "key", "auth", "signature", "token", "chap", "mutual", "credential",
];
/// Times that a percent sign itself may be percent-encoded in a word.
const DECODED_TIMES: usize = 4;
/// What divides pairs of keys and values from one another, and from what precedes them.
const DIVIDERS: [char; 5] = ['?', '&', ';', '/', ','];
/// Those of them that no name of a file has for another purpose.
const BETWEEN_PAIRS: [char; 4] = ['?', '&', ';', ','];
/// What stands in place of a secret.
const COVER: &str = "***";

/// A secret in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the host: `user:secret@`.
    User,
    /// A key, whose value it is.
    Query,
}

/// Returns true if a word has a secret in it, as a target or an option may.
pub fn has_secret(word: &str) -> bool {
    find(word).is_some()
}

/// Returns the text of an address as it may be repeated in a message: neither secrets nor values of unknown keys.
pub fn without_secret(text: &str) -> String {
    find(text).map_or_else(|| without_unknown(text), |(_, covered)| covered)
}

/// Covers the values of keys that no address has: whoever misspells the key of a secret gives the secret all the same.
fn without_unknown(text: &str) -> String {
    if is_path(text) {
        return text.to_owned();
    }
    let decoded = decoded(text);
    let (prefix, rest) = after_prefix(&decoded);
    // `host:/export`, which is no address of Assay, but looks like one.
    let is_export = || decoded.split_once(":/").is_some_and(|(host, _)| is_export_host(host));
    if prefix.is_empty() && !is_export() {
        return text.to_owned();
    }
    pairs_covered(rest).map_or_else(|| text.to_owned(), |covered| format!("{prefix}{covered}"))
}

/// Returns a part of an address as it may be repeated in a message, like [`without_secret`] a whole one.
pub(crate) fn part_without_secret(text: &str) -> String {
    pairs_covered(&decoded(text)).unwrap_or_else(|| text.to_owned())
}

/// Returns true if the text hides a pair of an unknown key and a value by percent codes, which addresses do not have.
pub(crate) fn has_coded_pair(text: &str) -> bool {
    let decoded = decoded(text);
    decoded != text && pairs_covered(&decoded).is_some()
}

fn is_export_host(host: &str) -> bool {
    // A single letter is a drive.
    host.len() > 1 && !host.contains(|c: char| c.is_whitespace() || DIVIDERS.contains(&c))
}

/// Covers the values of unknown keys; `None` if there are none. A value ends where a pair with a known key begins,
/// because it may have any of the dividers in it. A `/` divides no pairs here: files and folders may be named `x=y`.
fn pairs_covered(text: &str) -> Option<String> {
    let mut covered = String::new();
    let mut is_covering = false;
    let mut divider = None;
    let mut is_found = false;
    for piece in text.split_inclusive(BETWEEN_PAIRS) {
        let end = piece.chars().next_back().filter(|last| BETWEEN_PAIRS.contains(last));
        let piece = &piece[..piece.len() - end.map_or(0, char::len_utf8)];
        let pair = piece.split_once('=');
        let unknown = pair.filter(|(key, value)| divider.is_some() && !is_known(key) && !value.is_empty());
        if pair.is_some_and(|(key, _)| is_known(key)) {
            is_covering = false;
        }
        if !is_covering {
            covered.extend(divider);
            match unknown {
                Some((key, _)) => covered.push_str(&format!("{key}={COVER}")),
                None => covered.push_str(piece),
            }
        }
        if unknown.is_some() {
            (is_covering, is_found) = (true, true);
        }
        divider = end;
    }
    if !is_covering {
        covered.extend(divider);
    }
    is_found.then_some(covered)
}

fn is_known(key: &str) -> bool {
    ISCSI_KEYS.contains(&key) || NFS_KEYS.contains(&key)
}

/// Returns where a word has a secret, and the word with the secret covered.
pub(crate) fn find(word: &str) -> Option<(Place, String)> {
    if is_path(word) {
        return None;
    }
    let text = decoded(word);
    let (prefix, rest) = after_prefix(&text);
    if let Some(covered) = in_user(prefix, rest) {
        return Some((Place::User, format!("{prefix}{covered}")));
    }
    // Without a scheme a word with a `?` or `=` is a name like any other.
    (!prefix.is_empty())
        .then(|| in_query(rest))
        .flatten()
        .map(|covered| (Place::Query, format!("{prefix}{covered}")))
}

/// Whoever writes a path as one means a path; `//host/share` is how shares are written.
fn is_path(word: &str) -> bool {
    !is_share(word) && ["/", "./", "../"].iter().any(|path| word.starts_with(path))
}

fn is_share(word: &str) -> bool {
    word.starts_with("//") || word.starts_with("\\\\")
}

/// Splits off the scheme, or the slashes of a share; the first part is empty where there is neither.
fn after_prefix(text: &str) -> (&str, &str) {
    match is_share(text) {
        true => text.split_at(text.len() - text.trim_start_matches(['/', '\\']).len()),
        false => after_scheme(text),
    }
}

/// Replaces the percent-encoded forms of the characters that divide an address.
pub(crate) fn decoded(word: &str) -> String {
    const CODES: [(&str, &str); 9] = [
        ("%3a", ":"),
        ("%40", "@"),
        ("%2f", "/"),
        ("%3f", "?"),
        ("%3d", "="),
        ("%26", "&"),
        ("%3b", ";"),
        ("%2c", ","),
        ("%25", "%"),
    ];
    let mut text = word.to_owned();
    for _ in 0..DECODED_TIMES {
        let before = text.clone();
        for (code, plain) in CODES {
            text = text.replace(code, plain).replace(&code.to_uppercase(), plain);
        }
        if text == before {
            break;
        }
    }
    text
}

/// Splits off the scheme with its colon and slashes; the first part is empty where there is none.
fn after_scheme(text: &str) -> (&str, &str) {
    let Some((scheme, rest)) = text.split_once(':') else { return ("", text) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let is_known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let is_written_so = rest.starts_with("//") && !scheme.is_empty() && scheme.chars().all(is_name);
    if !is_known && !is_written_so {
        return ("", text);
    }
    text.split_at(text.len() - rest.trim_start_matches('/').len())
}

/// Covers a password before the host.
fn in_user(prefix: &str, rest: &str) -> Option<String> {
    if let Some(covered) = behind_percent(prefix, rest) {
        return Some(covered);
    }
    let mut from = 0;
    loop {
        let divider = from + rest[from..].find([':', '@', '/', '?'])?;
        let (name, tail) = (&rest[from..divider], &rest[divider + 1..]);
        match rest[divider..].chars().next()? {
            // The name itself may have an `@`; and what follows it may be an address with a password of its own.
            '@' => from = divider + 1,
            ':' => {
                let (_, host) = tail.rsplit_once('@')?;
                let is_host = is_host_with_port(prefix, name, tail);
                return (!is_host).then(|| format!("{}:{COVER}@{host}", &rest[..divider]));
            }
            _ => return None,
        }
    }
}

/// Covers a password as libiscsi has it: `user%secret@host`.
fn behind_percent(prefix: &str, rest: &str) -> Option<String> {
    if !prefix.to_ascii_lowercase().starts_with("iscsi") || rest.starts_with('[') {
        return None;
    }
    let user = &rest[..rest.find([':', '@', '/', '?'])?];
    let (name, _) = user.split_once('%')?;
    let (_, host) = rest.rsplit_once('@')?;
    Some(format!("{name}%{COVER}@{host}"))
}

/// Whether a colon divides a host from its port or its path, although an `@` follows somewhere behind.
fn is_host_with_port(prefix: &str, host: &str, tail: &str) -> bool {
    if host.starts_with('[') {
        return tail.split_once(']').is_some_and(|(address, _)| !address.contains(['@', '/']));
    }
    let path = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_port = path.len() < tail.len();
    if prefix.is_empty() {
        // `host:/export`, `C:\x`, and words that are no address at all.
        return path.starts_with(['/', '\\']) || tail.contains(char::is_whitespace);
    }
    let target = path.strip_prefix('/').unwrap_or_default().to_ascii_lowercase();
    match prefix.to_ascii_lowercase().starts_with("iscsi") {
        true => has_port && ["iqn.", "eui.", "naa."].iter().any(|kind| target.starts_with(kind)),
        false => has_port && path.starts_with(['/', '\\', '?']),
    }
}

/// Covers values of keys that are named like secrets, wherever a pair stands, and passwords in addresses of portals.
fn in_query(rest: &str) -> Option<String> {
    let mut covered = String::new();
    let mut is_found = false;
    for pair in rest.split_inclusive(DIVIDERS) {
        let end = pair.len() - pair.trim_end_matches(DIVIDERS).len();
        let (pair, end) = pair.split_at(pair.len() - end);
        let Some((key, value)) = pair.split_once('=') else {
            covered.push_str(&format!("{pair}{end}"));
            continue;
        };
        let name = key.to_ascii_lowercase();
        let is_secret = !HARMLESS_KEYS.contains(&name.as_str())
            && SECRET_KEYS.iter().any(|part| name.contains(part))
            && !value.is_empty();
        let value = match (is_secret, name.contains("portal").then(|| in_user("", value)).flatten()) {
            (true, _) => COVER.to_owned(),
            (false, Some(value)) => value,
            (false, None) => {
                covered.push_str(&format!("{key}={value}{end}"));
                continue;
            }
        };
        is_found = true;
        covered.push_str(&format!("{key}={value}{end}"));
        if is_secret {
            // The secret may have any of the dividers in it.
            return Some(covered);
        }
    }
    is_found.then_some(covered)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form in which the hostile tester got a secret back, and its relatives.
    #[test]
    fn a_secret_is_found_and_covered_wherever_it_stands_in_an_address() {
        for text in [
            "iscsi://bob:hush@nas/iqn.x/1",
            "ISCSI://bob:hush@nas/iqn.x/1",
            "iscsi:/bob:hush@nas/iqn.x/1",
            "iscsi:bob:hush@nas/iqn.x/1",
            "iscsi:///bob:hush@nas/iqn.x/1",
            "iscsi://bob%3Ahush@nas/iqn.x/1",
            "iscsi://bob%3ahush%40nas/iqn.x/1",
            "iscsi://bob:p@hush@nas/iqn.x/1",
            "iscsi://bob:p/hush@nas/iqn.x/1",
            "iscsi://bob:p?hush@nas/iqn.x/1",
            "iscsi://bob:123/hush@nas/iqn.x/1",
            "iscsi://bob@corp:hush@nas/iqn.x/1",
            "iscsi://:hush@nas/iqn.x/1",
            "iscsi://bob:hush@nas",
            "iscsi://bob:hush@[fe80::1%eth0]:3260/iqn.x/1",
            "iscsi://nas/iqn.x/1?secret=hush",
            "iscsi://nas/iqn.x/1?sessions=2&chap_secret=hush",
            "iscsi://nas/iqn.x/1?password=a&hush",
            "iscsi://nas/iqn.x/1&secret=hush",
            "iscsi://bob@nas/iqn.x/1?mutual=hush",
            "iscsi://nas/iqn.x/1?portal=bob:hush@nas2",
            "nfs://bob:hush@nas/vol",
            "NFS:bob:hush@nas/vol",
            "smb://bob:hush@nas/share",
            "https://bob:hush@nas/",
            "odd+scheme://bob:hush@nas/",
            "bob:hush@nas/iqn.x/1",
            "//bob:hush@nas/share/x",
            "///bob:hush@nas/share",
            "//nas/share?password=hush",
            "//nas/share,username=bob,password=hush",
            "\\\\bob:hush@nas\\share",
            "iscsi://nas/iqn.x/1?pw=hush",
            "iscsi://nas/iqn.x/1?psk=hush",
            "nfs://nas/vol?key=hush",
            "https://nas/vol?X-Amz-Signature=hush",
            "iscsi://bob%253Ahush@nas/iqn.x/1",
            "iscsi://bob%hush@nas/iqn.x/1",
            "iscsi://bob%hush:hush@nas/iqn.x/1",
            "iscsi://bob%hush/hush@nas/iqn.x:a/1",
            "iscsi://bob%25253ahush%2540nas/iqn.x/1",
        ] {
            let covered = without_secret(text);
            assert!(
                has_secret(text) && !covered.contains("hush") && covered.contains("***"),
                "{text}: {covered}"
            );
        }
        assert_eq!(
            without_secret("iscsi://lab:secret-1@10.0.0.5/iqn.x/1"),
            "iscsi://lab:***@10.0.0.5/iqn.x/1"
        );
    }

    /// The message about a misspelt key repeated what stood behind it.
    #[test]
    fn values_of_unknown_keys_are_not_repeated() {
        let text = "iscsi://nas/iqn.x/1?sessions=2&sesions=2&portal=a";
        assert_eq!(without_secret(text), "iscsi://nas/iqn.x/1?sessions=2&sesions=***&portal=a");
        assert_eq!(without_secret("nfs://nas/vol?uid=1&scret=hush"), "nfs://nas/vol?uid=1&scret=***");
        assert!(!has_secret(text), "a spelling mistake is no secret");
    }

    /// Only pairs behind a `?` and between `&`s were looked at, and only with a scheme.
    #[test]
    fn values_of_unknown_keys_are_not_repeated_wherever_a_pair_stands() {
        for (text, covered) in [
            ("nfs://h/vol?uid=1;scret=hush", "nfs://h/vol?uid=1;scret=***"),
            ("nfs://h/vol?uid=1?scret=hush", "nfs://h/vol?uid=1?scret=***"),
            ("nfs://h/vol?uid=1,scret=hush", "nfs://h/vol?uid=1,scret=***"),
            ("nfs://h/vol?scret=hush/hush", "nfs://h/vol?scret=***"),
            ("nfs://h/vol?scret=hush=hush", "nfs://h/vol?scret=***"),
            ("nfs://h/vol/x%3Fscret=hush", "nfs://h/vol/x?scret=***"),
            ("nfs://h/vol?uid=1%26scret=hush", "nfs://h/vol?uid=1&scret=***"),
            ("nfs://h/vol?scret%3Dhush", "nfs://h/vol?scret=***"),
            ("nfs://h/vol?scret%253dhush", "nfs://h/vol?scret=***"),
            ("iscsi://h/iqn.x/1?portal=a;scret=hush", "iscsi://h/iqn.x/1?portal=a;scret=***"),
            ("iscsi://h/iqn.x/1&scret=hush", "iscsi://h/iqn.x/1&scret=***"),
            ("iscsi://h/iqn.x/1;scret=hush", "iscsi://h/iqn.x/1;scret=***"),
            ("//nas/share?scret=hush", "//nas/share?scret=***"),
            ("//nas/share,user=hush", "//nas/share,user=***"),
            ("\\\\nas\\share?scret=hush", "\\\\nas\\share?scret=***"),
            ("nas:/vol?scret=hush", "nas:/vol?scret=***"),
            ("[fe80::1]:/vol?scret=hush", "[fe80::1]:/vol?scret=***"),
        ] {
            assert_eq!(without_secret(text), covered, "{text}");
        }
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for text in [
            "iscsi://lab@nas/iqn.x:a@b/1",
            "iscsi://nas:3260/iqn.2004-01.example:a@b/1?portal=10.0.0.1:3260&chap_file=/etc/x",
            "iscsi://bob@[fe80::1%eth0]:3260/eui.0123456789abcdef/1?portal=[fd00::1]:3260",
            "nfs://nas:2049/vol/a@b?uid=1",
            "nfs://nas/vol/x=y",
            "nfs://nas/vol/50%25?uid=1",
            "nfs://nas/vol/a%3Fb",
            "nas:/vol/x=y",
            "./x?y=z",
            "x?y=z",
            "/mnt/x&y=z",
            "./x:y@z",
            "/mnt/a:b@c",
            "//nas/share/x",
            "//nas:445/share/a@b",
            "//nas/share/a:b@c",
            "\\\\nas:445\\share\\a@b",
            "50%25 of it",
            "nas:/vol1/a@b",
            "C:\\x@y",
            "dir/with:colon@x",
            "sim:ix4-200d",
            "null:64GiB",
            "a note: mail bob@example.com",
            "size=64KiB",
            "é",
            "iscsi:/é",
        ] {
            assert_eq!(without_secret(text), text);
            assert!(!has_secret(text), "{text}");
        }
    }
}
