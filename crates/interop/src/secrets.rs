//! Secrets in texts of other tools: in addresses, and as values of options that are named like secrets.
//!
//! [`without_secrets`] covers them in whatever is kept or shown of such a text. [`of_commands`] and [`of_line`] do the
//! same to a text before it is read, so that no part of a secret is cut out of its context and then not recognised.

use std::borrow::Cow;
use std::collections::HashSet;

use assay_spec::{has_secret, without_secret};

use crate::surroundings::Surroundings;

/// What stands in place of a secret.
const COVER: &str = "***";
/// The longest word that may be an address, bytes.
const ADDRESS_BYTES_MAX: usize = 4 << 10;
/// Parts of the names of options whose values are secrets.
const PARTS: [&str; 6] = ["secret", "passw", "passphrase", "token", "credential", "signature"];
/// Beginnings of words in such names; `_` and `-` divide words.
const BEGINNINGS: [&str; 3] = ["key", "auth", "chap"];
/// Words in such names.
const WORDS: [&str; 7] = ["pass", "pwd", "pw", "psk", "mutual", "apikey", "accesskey"];

/// Returns a text of another tool, or one that repeats it, with its secrets covered.
pub fn without_secrets(text: &str) -> String {
    let is_command = crate::tool::is_command(text);
    covered(text, if is_command { Values::BehindBlanks } else { Values::BehindEquals }).into_owned()
}

/// Returns a text of another tool with its secrets covered, before it is read.
pub(crate) fn of_text(text: &str) -> Cow<'_, str> {
    covered(text, Values::BehindEquals)
}

/// Returns command lines with their secrets covered; `--http_pass SECRET` is one, too.
pub(crate) fn of_commands(text: &str) -> Cow<'_, str> {
    covered(text, Values::BehindBlanks)
}

/// Returns a line `key = value` of a file, with the value covered to its end where the key is that of a secret.
pub(crate) fn of_line(line: &str) -> Cow<'_, str> {
    match line.split_once('=') {
        Some((key, value)) if is_secret_name(key.trim()) && !value.trim().is_empty() => {
            Cow::Owned(format!("{key}={COVER}"))
        }
        _ => covered(line, Values::BehindEquals),
    }
}

/// Returns a file of such lines with their secrets covered; the lines keep their numbers.
pub(crate) fn of_lines(text: &str) -> Cow<'_, str> {
    if text.lines().all(|line| matches!(of_line(line), Cow::Borrowed(_))) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.lines().flat_map(|line| [of_line(line), Cow::Borrowed("\n")]).collect())
}

/// Calls `read` with surroundings whose files and variables have their secrets covered.
pub(crate) fn covering<T>(surroundings: &Surroundings<'_>, read: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let variable = |name: &str| {
        let value = (surroundings.variable)(name)?;
        Some(if is_secret_name(name) { COVER.to_owned() } else { without_secrets(&value) })
    };
    let include = |path: &str| Ok(of_lines(&(surroundings.include)(path)?).into_owned());
    read(&Surroundings { include: &include, variable: &variable })
}

/// Where the value of an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    BehindEquals,
    BehindBlanks,
}

/// Whether an option of this name, or a variable, has a secret as its value.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches(['-', '$', '/', '(', '{', '@']);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    // Most words are none: every word of a file is asked for here.
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if name.len() > 100 || !name.bytes().all(is_name) || name.bytes().all(is_number) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| WORDS.contains(&word) || BEGINNINGS.iter().any(|begin| word.starts_with(begin)))
}

/// What divides the words of a command line, a document or a sentence. Other marks may be part of a secret.
fn divides(c: char) -> bool {
    matches!(c, '"' | '\'' | '`') || c.is_whitespace()
}

fn covered(text: &str, values: Values) -> Cow<'_, str> {
    let mut done = String::new();
    let mut rest = text;
    // The text up to here is as it was.
    let mut kept = 0;
    // Words that neither name a secret nor have one. A document has thousands of words, and few different ones.
    let mut plain: HashSet<&str> = HashSet::new();
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let (word, behind) = rest.split_at(rest.find(divides).unwrap_or(rest.len()));
        if is_number(word) || plain.contains(word) {
            rest = behind_mark(behind);
            continue;
        }
        if !names_secret(word) && address(word).is_none() && !word.contains("://") {
            plain.insert(word);
            rest = behind_mark(behind);
            continue;
        }
        let mark = text[..at].chars().next_back().filter(|c| ['"', '\''].contains(c));
        if let Some(length) = value_length(word, behind, values, mark) {
            let end = at + word.len() + length;
            let (from, value) = match word.split_once('=') {
                Some((key, value)) if !value.is_empty() || !behind.starts_with(['"', '\'']) => {
                    (at + key.len() + 1, COVER)
                }
                // `key="a b"`, and values behind blanks: the blanks stay.
                _ => {
                    let blanks = length - behind[..length].trim_start_matches([' ', '\t', '=']).len();
                    (at + word.len() + blanks, COVER)
                }
            };
            done.push_str(&text[kept..from]);
            done.push_str(value);
            (kept, rest) = (end, &text[end..]);
            continue;
        }
        if let Some(new) = address(word) {
            done.push_str(&text[kept..at]);
            done.push_str(&new);
            kept = at + word.len();
        } else if let Some((new, length)) = divided_address(word, behind) {
            done.push_str(&text[kept..at]);
            done.push_str(&new);
            (kept, rest) = (at + length, &rest[length..]);
            continue;
        }
        rest = behind_mark(behind);
    }
    if kept == 0 && done.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(done + &text[kept..])
}

/// Whether a word has no letter that a name or an address needs.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':'))
}

/// Returns a text without what divides its first word from the next.
fn behind_mark(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

/// Whether a word names a secret, whose value is in it or behind it.
fn names_secret(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    // The name may stand behind others: `sd=sd1,password=x`.
    is_secret_name(name.rsplit([',', ';', '&', '?']).next().unwrap_or(name))
}

/// Returns how many bytes behind a word belong to the value of the secret that it names; `None` if it names none.
/// A value behind `=` in the word has none behind it, unless it goes on in quotation marks, or the whole is in
/// the quotation marks that `mark` opens.
fn value_length(word: &str, behind: &str, values: Values, mark: Option<char>) -> Option<usize> {
    if !names_secret(word) {
        return None;
    }
    match word.split_once('=').map(|(_, value)| value) {
        Some(COVER) => None,
        Some(value) if !value.is_empty() && mark.is_some() => {
            let end = behind.find([mark?, '\n']).filter(|end| !behind[*end..].starts_with('\n'));
            Some(end.unwrap_or(0))
        }
        Some(_) if behind.starts_with(['"', '\'']) => quoted_length(behind),
        Some("") => None,
        Some(_) => Some(0),
        None => {
            let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
            let after = &behind[blanks..];
            if let Some(value) = after.strip_prefix('=').filter(|_| blanks > 0) {
                let more = value.len() - value.trim_start_matches([' ', '\t']).len();
                let length = value_end(&value[more..]);
                return (length > 0).then_some(blanks + 1 + more + length);
            }
            let is_option = word.starts_with('-') && !after.starts_with(['-', '\r', '\n']);
            let length = value_end(after);
            (values == Values::BehindBlanks && is_option && blanks > 0 && length > 0)
                .then_some(blanks + length)
        }
    }
}

/// The length of a word, or of a text in quotation marks, at the begin of a text.
fn value_end(text: &str) -> usize {
    quoted_length(text).unwrap_or_else(|| {
        if text.starts_with(COVER) { 0 } else { text.find(char::is_whitespace).unwrap_or(text.len()) }
    })
}

/// The length of a text in quotation marks, with them; to the end of the line where they are not closed.
fn quoted_length(text: &str) -> Option<usize> {
    let mark = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let inner = &text[1..];
    let end = inner.find([mark, '\n']).unwrap_or(inner.len());
    Some(end + 1 + usize::from(inner[end..].starts_with(mark)))
}

/// Returns a word with the secrets of the addresses in it covered; `None` if it has none.
fn address(word: &str) -> Option<String> {
    if !word.contains(['@', '=', '?', '%']) || !word.contains([':', '/', '\\', '%']) {
        return None;
    }
    if word.len() > ADDRESS_BYTES_MAX {
        return word.contains('@').then(|| COVER.to_owned());
    }
    // In a list of fio a colon of an address is written `\:`.
    let plain = word.replace("\\:", ":");
    let begins = begin(&plain);
    let (before, own) = plain.split_at(begins);
    if !has_secret(own) {
        return None;
    }
    let new = without_secret(own);
    let new = if plain == word { new } else { new.replace(':', "\\:") };
    Some(format!("{before}{new}"))
}

/// Where the first address begins in a word: at its scheme, or behind the `=` of an option.
fn begin(word: &str) -> usize {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    if let Some(colon) = word.find("://") {
        let scheme = word[..colon].trim_end_matches(is_scheme).len();
        return scheme;
    }
    match word.split_once('=') {
        // `host?secret=x` has its first `=` within.
        Some((key, _)) if !key.contains(['?', ':', '/', '@']) => key.len() + 1,
        _ => 0,
    }
}

/// An address whose secret has a blank or a quotation mark in it: `word` is its begin, up to that. Returns it covered,
/// and its length.
fn divided_address(word: &str, behind: &str) -> Option<(String, usize)> {
    if !word.contains("://") || word.len() > ADDRESS_BYTES_MAX {
        return None;
    }
    let begins = begin(word);
    let behind = &behind[..behind.floor_char_boundary(ADDRESS_BYTES_MAX)];
    let line = &behind[..behind.find('\n').unwrap_or(behind.len())];
    let ends = [line.find(char::is_whitespace), line.find('"').filter(|end| *end > 0), Some(line.len())];
    let is_quoted = line.contains('"');
    ends.into_iter().take(if is_quoted { 2 } else { 3 }).flatten().find_map(|end| {
        let whole = format!("{word}{}", &line[..end]);
        let (before, own) = whole.split_at(begins);
        // Another address begins with a scheme of its own, and an option with its name.
        let is_one = own.matches("://").count() == 1 && !own.contains(" -") && line[..end].contains('@');
        (is_one && has_secret(own)).then(|| (format!("{before}{}", without_secret(own)), whole.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportError, ImportOptions, ImportedPlan, Strictness, command, fio, vdbench};

    #[test]
    fn secrets_of_addresses_and_options_are_covered() {
        for (text, expected) in [
            ("diskspd -b4K iscsi://user:HUSH@h/iqn.a:b/1", "diskspd -b4K iscsi://user:***@h/iqn.a:b/1"),
            ("fio --filename=iscsi://user%HUSH@h/iqn.a:b/1", "fio --filename=iscsi://user%***@h/iqn.a:b/1"),
            ("filename=iscsi\\://user\\:HUSH@h/iqn.a\\:b/1", "filename=iscsi\\://user\\:***@h/iqn.a\\:b/1"),
            ("filename=/dev/sda:iscsi://u:HUSH@h/i", "filename=/dev/sda:iscsi://u:***@h/i"),
            ("sd=sd1,lun=iscsi://u:HUSH@h/iqn.x/1", "sd=sd1,lun=iscsi://u:***@h/iqn.x/1"),
            ("<Path>iscsi://u:HUSH@h/x</Path>", "<Path>iscsi://u:***@h/x</Path>"),
            ("iscsi://u:HU'SH(@h/iqn.x/1 b", "iscsi://u:***@h/iqn.x/1 b"),
            ("set \"KEY=HUSH HUSH\" & x", "set \"KEY=***\" & x"),
            ("-c1G \"iscsi://u:HU SH@h/iqn.x/1\" b", "-c1G \"iscsi://u:***@h/iqn.x/1\" b"),
            ("--http_s3_key=HUSH --http_pass=HUSH --bs=4k", "--http_s3_key=*** --http_pass=*** --bs=4k"),
            ("--http_pass HUSH --bs 4k", "--http_pass *** --bs 4k"),
            ("-http_pass \"HUSH HUSH\" -bs=4k", "-http_pass *** -bs=4k"),
            ("--http_pass=\"HUSH HUSH\" -bs=4k", "--http_pass=*** -bs=4k"),
            ("\"--http_pass=HUSH\" -bs=4k", "\"--http_pass=***\" -bs=4k"),
            (
                "--http_s3_sse_customer_key=HUSH --http_s3_security_token=HUSH",
                "--http_s3_sse_customer_key=*** --http_s3_security_token=***",
            ),
            ("$pass = 'HUSH HUSH'; x", "$pass = ***; x"),
            ("KEY=HUSH fio --bs=4k", "KEY=*** fio --bs=4k"),
            ("set SECRET=HUSH", "set SECRET=***"),
            (
                "fio --filename=iscsi://h/iqn.x/1?chap_secret=HUSH",
                "fio --filename=iscsi://h/iqn.x/1?chap_secret=***",
            ),
        ] {
            assert_eq!(of_commands(text), expected, "{text}");
            assert_eq!(of_commands(expected), expected, "twice: {text}");
        }
        assert_eq!(of_line("http_pass = HUSH and HUSH"), "http_pass =***");
        let long = format!("x {}iscsi://u:HUSH@h", "a@".repeat(40_000));
        assert_eq!(of_commands(&long), "x ***");
    }

    #[test]
    fn other_words_are_kept_as_they_are() {
        for text in [
            "fio --name=x --rw=randread --bs=4k --filename=/dev/sda:/dev/sdb --size=1g",
            "diskspd -b8K -o32 -t4 -r -w30 -d60 -Sh C:\\x@y.dat #1,D:\\t.dat > out.txt 2>&1",
            "for %%b in (4K 64K) do diskspd -b%%b t.dat & echo user@host",
            "--http_s3_key needs a value; --http_pass",
            "lun=iscsi://lab@nas/iqn.x:a@b/1,openflags=o_direct",
            "mail bob@example.com: the key is under the mat",
            "passes=3 --verify=crc32c",
            "é=ü \"ö",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }

    /// Everything that an importer keeps of a text, or says about it, printed.
    fn kept(read: impl Fn(&Surroundings<'_>, &ImportOptions) -> Result<ImportedPlan, ImportError>) -> String {
        let include = |path: &str| match path {
            "job.fio" => {
                Ok("[a]\nrw=read\nsize=1m\nhttp_pass = HUSH HUSH\nfilename=iscsi://u:HUSH@h/x\n".to_owned())
            }
            _ => Err(format!("there is no file {path}")),
        };
        let variable = |name: &str| match name {
            "ADDRESS" => Some("iscsi://u:HUSH@h/iqn.x/1".to_owned()),
            "PART" | "MY_TOKEN" => Some("HUSH".to_owned()),
            _ => None,
        };
        let surroundings = Surroundings { include: &include, variable: &variable };
        let mut all = String::new();
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            for targets_given in [None, Some(1), Some(7)] {
                all += &format!("{:?}", read(&surroundings, &ImportOptions { targets_given, strictness }));
            }
        }
        all
    }

    /// The hostile tester found them in the plan, in the notes and in what was stored.
    #[test]
    fn no_importer_keeps_a_secret_of_a_command_a_script_or_a_file() {
        let lines = [
            "diskspd -b4K -d1 -W0 iscsi://user:HUSH@h/iqn.a:b/1",
            "diskspd -b4K -d1 -W0 iscsi://user:HUSH@h/iqn.a:b/1 t.dat -Q",
            "sqlio -kR -b8 iscsi://user%HUSH@h/iqn.a:b/1",
            "fio --name=x --rw=read --bs=4k --size=1m --ioengine=http --http_mode=s3 --http_s3_key=HUSH \
             --http_pass=HUSH --filename=/b/o",
            "fio --name=x --rw=read --bs=4k --size=1m --http_pass HUSH -http_user=x --iodepth=4:iscsi://u:HUSH@h/",
            "fio --name=x --rw=read --size=1m --filename=$ADDRESS:/dev/sdb --http_pass=$MY_TOKEN",
            "fio --name=x --rw=read --size=1m --filename='iscsi://u:${PART}@h/iqn.x/1'",
            "fio --name=iscsi://u:HUSH@h/x --rw=read --size=1m job.fio",
            "iscsi://u:HUSH@h/x",
        ];
        for line in lines {
            let said = kept(|surroundings, options| command::import(line, surroundings, options));
            assert!(!said.contains("HUSH"), "{line}: {said}");
            let script =
                format!("{line}\nset KEY=HUSH\n{line} & {line}\nwhile iscsi://u:HUSH@h/x\nKEY=HUSH\n");
            let said =
                kept(|surroundings, options| command::import_script("s", &script, surroundings, options));
            assert!(!said.contains("HUSH"), "{line}: {said}");
        }
        let job = "[global]\nbs=4k\nrw=read\nsize=1m\n[a]\nhttp_pass = HUSH HUSH\n\
                   filename=iscsi://u:HUSH@h/iqn.a:b/1\n";
        for job in [
            job.to_owned(),
            format!("{job}iscsi://u:HUSH@h/x y\n"),
            format!("{job}include iscsi://u:HUSH@h\n"),
        ] {
            let said = kept(|surroundings, options| fio::import("j.fio", &job, surroundings, options));
            assert!(!said.contains("HUSH"), "{said}");
        }
        let vdbench = "sd=sd1,lun=iscsi://u:HUSH@h/x,password=HUSH\nwd=w,sd=sd1,xfersize=iscsi://u:HUSH@h/x\n\
                       rd=r,wd=w,elapsed=5,interval=1,iorate=max\n";
        let said = kept(|surroundings, options| vdbench::import("v", vdbench, surroundings, options));
        assert!(!said.contains("HUSH"), "{said}");
        let profile = "<Profile><TimeSpans><TimeSpan><Targets><Target><Path>iscsi://u:HUSH@h/x</Path><BlockSize>\
                       iscsi://u:HUSH@h</BlockSize></Target></Targets></TimeSpan></TimeSpans></Profile>";
        for profile in [profile.to_owned(), profile.replace("<BlockSize>iscsi://u:HUSH@h</BlockSize>", "")] {
            let said = kept(|_, options| command::import_profile("p", &profile, options));
            assert!(!said.contains("HUSH") && said.len() > 100, "{said}");
        }
    }

    #[test]
    fn no_imported_result_keeps_a_secret() {
        let json = r#"{"fio version": "fio-3.33", "global options": {"http_s3_key": "HUSH"}, "jobs": [{"jobname":
            "iscsi://u:HUSH@h/x", "job options": {"filename": "iscsi\\://u\\:HUSH@h/x"},
            "read": {"io_bytes": 4096, "total_ios": 1, "runtime": 1000}}]}"#;
        let result = crate::results::import("f.json", json).unwrap().unwrap();
        let run = result.clone().into_events("r".to_owned(), "0", 0);
        assert!(!format!("{result:?}{run:?}").contains("HUSH"), "{result:?}");
    }
}
