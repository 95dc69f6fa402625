//! What a word on the command line looks like. Only a word that looks like nothing but the name of a file is taken for
//! one: a mistyped address would otherwise become a local file, and that file would be measured.

use crate::reader::nearest;

/// Schemes that are served, without the colon.
const SERVED: [&str; 4] = ["iscsi", "nfs", "null", "sim"];
/// Ports of NFS and of its port mapper.
const NFS_PORTS: [&str; 2] = ["2049", "111"];
/// Folders below /dev that have files.
const FILES_IN_DEV: [&str; 3] = ["/dev/hugepages/", "/dev/mqueue/", "/dev/shm/"];
/// Ends of names that only hosts on a local network have.
const LOCAL_DOMAINS: [&str; 5] = [".local", ".lan", ".localdomain", ".home.arpa", ".internal"];

/// Whether a path is where devices are.
pub fn names_device(path: &str) -> bool {
    path.starts_with("/dev/") && !FILES_IN_DEV.iter().any(|folder| path.starts_with(folder))
}

/// What a word looks like that is not the name of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Meant {
    /// With its article: `the address of a host`.
    pub(crate) what: &'static str,
    /// What to write for that.
    pub(crate) like: String,
}

/// Returns the scheme of a word in lower case, and what stands behind its colon: `Some(("nfs", "//nas/x"))`.
pub(crate) fn scheme(word: &str) -> Option<(String, &str)> {
    let (scheme, rest) = word.trim().split_once(':')?;
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    (begins && scheme.chars().all(is_scheme)).then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Returns true if a word says that it is a path: it begins with `/`, `./` or `../`.
pub(crate) fn is_plainly_path(word: &str) -> bool {
    matches!(word.split('/').next(), Some("" | "." | ".."))
}

/// Returns what a word looks like; `None` where it can only be the name of a file.
pub(crate) fn meant(word: &str) -> Option<Meant> {
    if is_plainly_path(word) {
        return None;
    }
    let word = word.trim();
    of_windows(word)
        .or_else(|| of_target_name(word))
        .or_else(|| of_ipv6(word))
        .or_else(|| of_colon(word))
        .or_else(|| of_missing_colon(word))
        .or_else(|| of_host(word))
        .or_else(|| of_device(word))
}

fn says(what: &'static str, like: impl Into<String>) -> Option<Meant> {
    Some(Meant { what, like: like.into() })
}

/// `\\nas\share`, `C:\x`, `dir\file`.
fn of_windows(word: &str) -> Option<Meant> {
    if word.starts_with(r"\\") {
        let like = crate::SmbShare::of(word).map_or("//HOST/SHARE".to_owned(), |share| share.to_string());
        return says("a share of an SMB server", like);
    }
    let is_drive = word.len() > 2
        && word.as_bytes()[0].is_ascii_alphabetic()
        && matches!(word.get(1..3), Some(":\\" | ":/"));
    (is_drive || word.contains('\\'))
        .then(|| Meant { what: "a path of Windows", like: "a path of this host with /".into() })
}

/// `iqn.2026-11.example:disk`, `eui.…`, `naa.…`.
fn of_target_name(word: &str) -> Option<Meant> {
    let lower = word.to_ascii_lowercase();
    let is_name = lower.starts_with("iqn.")
        || ["eui.", "naa."].iter().any(|prefix| {
            let digits = lower.strip_prefix(prefix).unwrap_or_default();
            let digits = digits.split('/').next().unwrap_or_default();
            digits.len() >= 8 && digits.chars().all(|c| c.is_ascii_hexdigit())
        });
    let (name, lun) = word.split_once('/').unwrap_or((word, "LUN"));
    is_name.then(|| Meant { what: "the name of an iSCSI target", like: format!("iscsi://HOST/{name}/{lun}") })
}

/// `[::1]:3260`, `fd00::5`, `fe80::1%eth0`.
fn of_ipv6(word: &str) -> Option<Meant> {
    let first = first_part(word);
    let (inside, port) = match first.strip_prefix('[') {
        Some(inside) => inside.split_once(']').unwrap_or((inside, "")),
        None => (first, ""),
    };
    let address = inside.split('%').next().unwrap_or_default();
    let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
    if !(is_address || first.starts_with('[') && first.contains(':')) {
        return None;
    }
    match word.split_once("]:/").filter(|(host, _)| !host.contains('/')) {
        Some((host, export)) => says("an NFS export as mount(8) takes it", format!("nfs://{host}]/{export}")),
        None => says("the address of a host", host_forms(&format!("[{inside}]"), port)),
    }
}

/// Everything else with a colon before any slash: schemes, hosts with a port or an export.
fn of_colon(word: &str) -> Option<Meant> {
    let first = first_part(word);
    if !first.contains(':') {
        let is_encoded = first.to_ascii_lowercase().contains("%3a");
        return is_encoded
            .then(|| Meant { what: "an encoded address", like: "it with `:` in place of %3A".into() });
    }
    let (name, rest) = word.split_once(':')?;
    let scheme = scheme(word).map(|(scheme, _)| scheme).unwrap_or_default();
    let port = rest.split('/').next().unwrap_or_default();
    let is_port = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    // A name and a password may stand before the host.
    let host = name.rsplit('@').next().unwrap_or_default();
    if scheme == "file" {
        let bare = rest.trim_start_matches('/');
        return says("the URL of a file", format!("{}/{bare}", if rest.starts_with('/') { "" } else { "." }));
    }
    if let Some(known) = SERVED.into_iter().find(|known| *known == scheme) {
        return of_scheme(known, rest);
    }
    if is_port {
        return says("the address and port of a host", host_forms(host, &format!(":{port}")));
    }
    // A host may well be called `nas`: only two slashes, the same letters in another order, or a longer word with
    // nothing like an export behind it make a slip of the pen.
    let is_export = rest.starts_with('/') && !rest.starts_with("//");
    let is_slip = |known: &&str| match known.len() {
        ..=3 => rest.starts_with("//") || (letters(&scheme) == letters(known) && !is_export),
        _ => scheme.len() > 3 || !is_export,
    };
    if let Some(known) = nearest(&scheme, SERVED.into_iter()).filter(is_slip) {
        return of_scheme(known, rest);
    }
    match rest.strip_prefix('/') {
        Some(export) if is_export => {
            says("an NFS export as mount(8) takes it", format!("nfs://{host}/{export}"))
        }
        _ => says("an address", "iscsi://…, nfs://…, sim:… or null:"),
    }
}

/// An address of a scheme that is served, in other letters or nearly so.
fn of_scheme(known: &str, rest: &str) -> Option<Meant> {
    let bare = rest.trim_start_matches('/');
    match known {
        "iscsi" => says("an iSCSI address", format!("iscsi://{bare}")),
        "nfs" => says("an NFS address", format!("nfs://{bare}")),
        "sim" => says("a simulated array", format!("sim:{rest}")),
        _ => says("the null target", format!("null:{rest}")),
    }
}

/// `null`, `nfs//nas/vol1`.
fn of_missing_colon(word: &str) -> Option<Meant> {
    let (name, rest) = word.split_once('/').map_or((word, None), |(name, rest)| (name, Some(rest)));
    let known = SERVED.into_iter().find(|known| name.eq_ignore_ascii_case(known))?;
    match (known, rest) {
        ("null", None) => says("the null target", "null:"),
        ("sim", None) => says("a simulated array", "sim:ARRAY"),
        ("iscsi", None) => says("an iSCSI address", "iscsi://HOST/TARGET/LUN"),
        ("nfs", None) => says("an NFS address", "nfs://HOST/EXPORT/FILE"),
        (_, Some(rest)) if rest.starts_with('/') => {
            says("an address without its colon", format!("{known}:/{rest}"))
        }
        _ => None,
    }
}

/// `10.0.0.5`, `127.1`, `0x7f.1`, `nas.local`, `bob@10.0.0.5`.
fn of_host(word: &str) -> Option<Meant> {
    let first = first_part(word);
    let host = first.rsplit('@').next().unwrap_or_default();
    let is_alone = !word.contains('/');
    let lower = host.trim_end_matches('.').to_ascii_lowercase();
    let is_local = lower == "localhost" || LOCAL_DOMAINS.iter().any(|domain| lower.ends_with(domain));
    // `2026/t.dat` is a file in a directory; a number alone is the short form of an address, or a slip.
    let is_number = is_ipv4(host) && (is_alone || host.contains('.'));
    (is_number || (is_local && is_alone))
        .then(|| Meant { what: "the address of a host", like: host_forms(host, "") })
}

/// Returns true for an IPv4 address in any form that the resolver takes, or nearly takes: one to four numbers, or
/// more, between dots, each decimal, octal or hexadecimal.
fn is_ipv4(host: &str) -> bool {
    let is_number = |part: &str| {
        let lower = part.to_ascii_lowercase();
        match lower.strip_prefix("0x") {
            Some(digits) => !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit()),
            None => !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()),
        }
    };
    host.strip_suffix('.').unwrap_or(host).split('.').all(is_number)
}

/// `sdb`, `nvme0n1p2`: as /proc/partitions names disks.
fn of_device(word: &str) -> Option<Meant> {
    let is_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let lettered = ["sd", "vd", "xvd", "hd"].iter().any(|prefix| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            (1..=2).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_lowercase())
        })
    });
    let numbered = ["loop", "md", "dm-", "nbd", "ram", "zram"]
        .iter()
        .any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && is_digits(rest)));
    let nvme = word.strip_prefix("nvme").and_then(|rest| rest.split_once('n')).is_some_and(|(disk, rest)| {
        let (space, part) = rest.split_once('p').unwrap_or((rest, "0"));
        [disk, space, part].iter().all(|text| !text.is_empty() && is_digits(text))
    });
    (lettered || numbered || nvme)
        .then(|| Meant { what: "the name of a block device", like: format!("/dev/{word}") })
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

fn first_part(word: &str) -> &str {
    word.split('/').next().unwrap_or_default()
}

/// How targets on a host are written; `port` with its colon, or empty.
fn host_forms(host: &str, port: &str) -> String {
    let iscsi = format!("iscsi://{host}{port}/TARGET/LUN");
    match port.strip_prefix(':') {
        Some(number) if NFS_PORTS.contains(&number) => format!("nfs://{host}/EXPORT"),
        Some(_) => iscsi,
        None => format!("{iscsi} or nfs://{host}/EXPORT"),
    }
}

/// Returns a word as a message may repeat it: without what may be a password before an `@` or in a query.
pub(crate) fn shown(word: &str) -> String {
    let (place, query) = word.split_once('?').map_or((word, ""), |(place, _)| (place, "?…"));
    let place = crate::secret::part_without_secret(place);
    let Some((before, host)) = place.rsplit_once('@') else { return format!("{place}{query}") };
    // `iscsi://bob:password`, `iscsi:/bob:password`, `bob:password`.
    let user = before.split_once(":/").map_or(before, |(_, rest)| rest.trim_start_matches('/'));
    let scheme = &before[..before.len() - user.len()];
    match user.split_once(':') {
        Some((name, _)) => format!("{scheme}{name}:***@{host}{query}"),
        None if user.contains('%') => format!("{scheme}***@{host}{query}"),
        None => format!("{scheme}{user}@{host}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Address, AddressError};

    fn error(word: &str) -> String {
        match word.parse::<Address>() {
            Ok(address) => panic!("`{word}` was taken for {address:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn words_like_addresses_are_never_local_files() {
        for (word, like) in [
            // Schemes in capitals, and slips of the pen.
            ("NULL:", "null:"),
            ("Null:1GiB", "null:1GiB"),
            ("nul:", "null:"),
            ("nulll:", "null:"),
            (" null:", "null:"),
            ("null", "null:"),
            ("NULL", "null:"),
            ("SIM:x", "sim:x"),
            ("smi:x", "sim:x"),
            ("sim", "sim:ARRAY"),
            ("isci://10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("icsi:/10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("iscsi:/10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("ISCSI://10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("iscsi//10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("iscsi%3A//10.0.0.5/iqn.x/1", "%3A"),
            ("nfs:nas/vol", "nfs://nas/vol"),
            ("NFS://nas/vol", "nfs://nas/vol"),
            ("nsf://nas/vol", "nfs://nas/vol"),
            ("file:x", "./x"),
            ("file:///mnt/x", "/mnt/x"),
            // Names of iSCSI targets.
            ("iqn.2026-11.example:x", "iscsi://HOST/iqn.2026-11.example:x/LUN"),
            ("iqn.2026-11.example:x/3", "iscsi://HOST/iqn.2026-11.example:x/3"),
            ("IQN.2026-11.example", "iscsi://HOST/IQN.2026-11.example/LUN"),
            ("eui.0123456789abcdef", "iscsi://HOST/eui.0123456789abcdef/LUN"),
            // Hosts.
            ("10.0.0.5", "iscsi://10.0.0.5/TARGET/LUN or nfs://10.0.0.5/EXPORT"),
            ("10.0.0.5/vol1", "nfs://10.0.0.5/EXPORT"),
            ("127.1", "iscsi://127.1/TARGET/LUN"),
            ("127.0.1", "iscsi://127.0.1/TARGET/LUN"),
            ("0x7f.1", "iscsi://0x7f.1/TARGET/LUN"),
            ("0177.0.0.1", "iscsi://0177.0.0.1/"),
            ("2130706433", "iscsi://2130706433/"),
            ("0x7f000001", "iscsi://0x7f000001/"),
            ("10.0.0.256", "iscsi://10.0.0.256/"),
            ("10.0.0.5.", "iscsi://10.0.0.5./"),
            ("10.0.0.5:3260", "iscsi://10.0.0.5:3260/TARGET/LUN"),
            ("10.0.0.5:2049", "nfs://10.0.0.5/EXPORT"),
            ("nas.local:3260", "iscsi://nas.local:3260/TARGET/LUN"),
            ("nas:3260/iqn.x/1", "iscsi://nas:3260/TARGET/LUN"),
            ("nas.local", "nfs://nas.local/EXPORT"),
            ("localhost", "nfs://localhost/EXPORT"),
            ("[::1]", "iscsi://[::1]/TARGET/LUN"),
            ("[fe80::1%eth0]:3260", "iscsi://[fe80::1%eth0]:3260/TARGET/LUN"),
            ("::1", "nfs://[::1]/EXPORT"),
            ("fd00::5", "nfs://[fd00::5]/EXPORT"),
            ("[fd00::5]:/vol1", "nfs://[fd00::5]/vol1"),
            ("10.0.0.5:/vol1", "nfs://10.0.0.5/vol1"),
            ("nas:/vol1", "nfs://nas/vol1"),
            ("n:/vol1/x", "a path of Windows"),
            ("nas.example:/vol1/t.dat", "nfs://nas.example/vol1/t.dat"),
            ("nas:vol1", "an address"),
            ("a:b", "an address"),
            // Windows and its shares.
            (r"C:\x", "a path of Windows"),
            ("C:/x", "a path of Windows"),
            (r"dir\t.dat", "a path of Windows"),
            (r"\\nas\share", "mount -t cifs //nas/share"),
            // Disks without /dev.
            ("sdb", "/dev/sdb"),
            ("sdaa1", "/dev/sdaa1"),
            ("nvme0n1", "/dev/nvme0n1"),
            ("nvme0n1p2", "/dev/nvme0n1p2"),
            ("dm-3", "/dev/dm-3"),
        ] {
            let error = error(word);
            assert!(error.contains(like) && error.contains(&format!("./{word}")), "{word}: {error}");
        }
    }

    #[test]
    fn a_path_that_says_so_is_a_path() {
        for path in [
            "./10.0.0.5", "./iqn.x", "./NULL:", "./C:\\x", "../nas:/x", "/mnt/nas:/x", "/a:b", ".", "..",
            "data/10.0.0.5", "data/a:b", "2026/t.dat", "10.dat", "t.dat", "T", "nas", "nas/vol1", "sda.img",
            "sdcard", "mdx", "eui.txt", "local", "~/x",
        ] {
            assert!(matches!(path.parse(), Ok(Address::Path(_))), "{path}: {:?}", path.parse::<Address>());
        }
    }

    #[test]
    fn what_may_be_a_password_is_not_repeated() {
        for word in [
            "isci://bob:hush@nas/iqn.x/1",
            "ISCSI://bob:hush@nas/iqn.x/1",
            "iscsi:/bob:hush@nas/iqn.x/1",
            "iscsi://bob:hu@hush@nas",
            "iscsi%3A//bob:hush@nas/iqn.x/1",
            "bob:hush@nas:/vol1",
            "bob:hush@10.0.0.5",
            "smb://bob:hush@nas/share",
            "http://bob:hush@nas/share",
            "NFS://nas/x?secret=hush",
        ] {
            let error = error(word);
            assert!(!error.contains("hush"), "{word}: {error}");
        }
    }

    #[test]
    fn schemes_that_are_not_served_are_named() {
        assert!(error("s3://bucket/x").starts_with("`s3:` targets are not supported"));
        assert!(error("HTTPS://bucket/x").starts_with("`https:` targets are not supported"));
        assert!(error("smb://nas/x").contains("/mnt/share after mount -t cifs //nas/x /mnt/share"));
        assert!(error("CIFS://nas/x").contains("mount -t cifs //nas/x /mnt/share"));
        assert_eq!("".parse::<Address>(), Err(AddressError::Empty));
        assert_eq!("sim:".parse::<Address>(), Err(AddressError::SimWithoutArray));
        assert!("null:lots".parse::<Address>().is_err());
    }
}
