//! The configuration file of the server: where it listens, and on which targets runs may be started.
//!
//! Options of the command line come first; targets and plans of both are offered.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use assay_spec::reader::{Source, Table, Value};
use assay_spec::{Address, PlanError, has_secret, without_secret};
use assay_target::input::{Input, read_text};
use assay_web::RunTarget;

const CONFIG: Input = Input { name: "a configuration of assay serve", bytes_max: 1 << 20 };
/// Targets, and plans, that a page offers.
const LISTED_MAX: usize = 1000;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) listen: Option<SocketAddr>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) protection: Option<Protection>,
    pub(super) allow_runs: bool,
    pub(super) targets: Vec<RunTarget>,
    pub(super) plans: Vec<PathBuf>,
}

/// How the file has connections protected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Protection {
    SelfSigned,
    Files { cert: PathBuf, key: PathBuf },
}

/// Reads a configuration.
pub(super) fn read(path: &Path) -> anyhow::Result<Config> {
    let text = read_text(path, CONFIG)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(parse(&path.display().to_string(), &text, folder)?)
}

fn parse(origin: &str, text: &str, folder: &Path) -> Result<Config, PlanError> {
    let source = Source::new(origin, text);
    let parsed = source.parse()?;
    let top = Table::top(&source, &parsed);
    let file = |value: Value<'_>| Ok::<_, PlanError>(folder.join(value.string()?));
    let files = |value: Value<'_>| {
        value.array_up_to(LISTED_MAX, "plans")?.into_iter().map(file).collect::<Result<Vec<_>, _>>()
    };
    let config = Config {
        listen: top.get("listen").map(|value| address_of(&value)).transpose()?,
        token_file: top.get("token_file").map(file).transpose()?,
        protection: top.get("tls").map(|value| protection(&value, folder)).transpose()?.flatten(),
        allow_runs: top.get("allow_runs").map(|value| value.boolean()).transpose()?.unwrap_or(false),
        plans: top.get("plans").map(files).transpose()?.unwrap_or_default(),
        targets: targets(&top, folder)?,
    };
    // A misspelt word is the likely reason for what is missing.
    if let Some(stray) = top.strays().into_iter().next() {
        return Err(stray);
    }
    if config.allow_runs && config.targets.is_empty() {
        return Err(top.lacks("target", "allow_runs needs a target; add [[target]] with an address"));
    }
    Ok(config)
}

fn address_of(value: &Value<'_>) -> Result<SocketAddr, PlanError> {
    let text = value.string()?;
    text.parse().map_err(|_| {
        value.complain(format!("`{text}` is not an address and port; write it as \"127.0.0.1:8080\""))
    })
}

fn protection(value: &Value<'_>, folder: &Path) -> Result<Option<Protection>, PlanError> {
    let table = value.table()?;
    let file = |key| table.get(key).map(|v| Ok::<_, PlanError>(folder.join(v.string()?))).transpose();
    let (cert, key) = (file("cert")?, file("key")?);
    let is_made = table.get("self_signed").map(|value| value.boolean()).transpose()?.unwrap_or(false);
    let protection = match (cert, key) {
        (Some(_), Some(_)) if is_made => {
            return Err(table.complain("has cert and self_signed; keep one of them"));
        }
        (Some(cert), Some(key)) => Some(Protection::Files { cert, key }),
        (Some(_), None) => return Err(table.lacks("key", "cert needs the private key, a PEM file")),
        (None, Some(_)) => return Err(table.lacks("cert", "key needs the certificate, a PEM file")),
        (None, None) => is_made.then_some(Protection::SelfSigned),
    };
    table.finish()?;
    Ok(protection)
}

fn targets(top: &Table<'_>, folder: &Path) -> Result<Vec<RunTarget>, PlanError> {
    let Some(listed) = top.get("target") else { return Ok(Vec::new()) };
    let mut targets: Vec<RunTarget> = Vec::new();
    for value in listed.array_up_to(LISTED_MAX, "targets")? {
        let table = value.table()?;
        let (name, address) = (table.get("name"), table.get("address"));
        if let Some(stray) = table.strays().into_iter().next() {
            return Err(stray);
        }
        let Some(address) = address else {
            return Err(table.lacks("address", "is missing; give it as assay run takes a target"));
        };
        let text = address.string()?;
        if has_secret(text) {
            return Err(address.complain(format!(
                "`{}` contains a secret; give it by ?chap_file=FILE or the environment (docs/guide/iscsi.md)",
                without_secret(text)
            )));
        }
        let parsed: Address =
            text.parse().map_err(|error: assay_spec::AddressError| address.complain(error.to_string()))?;
        // A path is where it is, whatever directory the server was started in.
        let absolute = match parsed {
            Address::Path(path) => folder.join(path).display().to_string(),
            _ => text.to_owned(),
        };
        let name = match name {
            Some(name) => name_of(&name)?,
            None => text.to_owned(),
        };
        if targets.iter().any(|known| known.name == name) {
            return Err(table.complain(format!("another target has the name `{name}` too")));
        }
        targets.push(RunTarget { name, address: absolute });
    }
    Ok(targets)
}

fn name_of(value: &Value<'_>) -> Result<String, PlanError> {
    let name = value.string()?.trim();
    if name.is_empty() {
        return Err(value.complain("must not be empty"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        parse("serve.toml", text, Path::new("/etc/assay")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = read(
            "listen = \"0.0.0.0:8443\"\ntoken_file = \"token\"\nallow_runs = true\nplans = [\"nightly.toml\"]\n[tls]\n\
             self_signed = true\n[[target]]\nname = \"NAS, LUN 1\"\naddress = \"iscsi://nas/iqn.2004-01.example:a/1\"\n\
             [[target]]\naddress = \"t.dat\"\n",
        )
        .unwrap();
        assert_eq!(config.listen, Some("0.0.0.0:8443".parse().unwrap()));
        assert_eq!(config.token_file, Some("/etc/assay/token".into()));
        assert_eq!((config.protection, config.allow_runs), (Some(Protection::SelfSigned), true));
        assert_eq!(config.plans, [Path::new("/etc/assay/nightly.toml")]);
        let names: Vec<_> = config.targets.iter().map(|t| (t.name.as_str(), t.address.as_str())).collect();
        let lun = ("NAS, LUN 1", "iscsi://nas/iqn.2004-01.example:a/1");
        assert_eq!(names, [lun, ("t.dat", "/etc/assay/t.dat")]);
        let config = read("[tls]\ncert = \"c.pem\"\nkey = \"/k.pem\"\n").unwrap();
        let files = Protection::Files { cert: "/etc/assay/c.pem".into(), key: "/k.pem".into() };
        assert_eq!(config.protection, Some(files));
        assert!(read("").is_ok_and(|config| !config.allow_runs && config.targets.is_empty()));
    }

    #[test]
    fn an_error_names_line_field_and_what_would_do() {
        for (text, expected) in [
            (
                "listne = \"127.0.0.1:1\"",
                "serve.toml:1: listne: there is no such field; did you mean `listen`?",
            ),
            (
                "\nlisten = \"nas:80\"",
                "serve.toml:2: listen: `nas:80` is not an address and port; write it as",
            ),
            ("listen = 8080", "serve.toml:1: listen: must be a text in quotes, not a number"),
            ("allow_runs = \"yes\"", "serve.toml:1: allow_runs: must be true or false, not a text"),
            ("allow_runs = true", "allow_runs needs a target; add [[target]]"),
            ("[[target]]\nname = \"x\"", "address: is missing; give it as assay run takes a target"),
            ("[[target]]\naddress = \"smb://nas/x\"", "serve.toml:2: target[0].address: "),
            ("[[target]]\naddress = \"iscsi://u:pw12345@nas/iqn.x/1\"", "contains a secret"),
            ("[[target]]\nadress = \"t.dat\"", "adress: there is no such field"),
            ("[[target]]\naddress = \"t\"\nsize = 3", "serve.toml:3: target[0].size: there is no such field"),
            (
                "[[target]]\naddress = \"t\"\n[[target]]\naddress = \"t\"",
                "another target has the name `t` too",
            ),
            ("[tls]\ncert = \"c\"", "cert needs the private key"),
            ("[tls]\ncert = \"c\"\nkey = \"k\"\nself_signed = true", "keep one of them"),
            ("tls = true", "serve.toml:1: tls: must be a table"),
            ("plans = \"x\"", "serve.toml:1: plans: must be an array"),
            ("listen = ", "serve.toml:1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("pw12345"), "{error}");
        }
    }
}
