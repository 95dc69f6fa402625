//! `cargo xtask site`: the documentation as a site, from docs/ and from what the program says of itself, with every
//! link checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Where the site is made.
const PLACE: &str = "target/docs";
/// Tables of docs/method.md with one of these heads list what each finding means.
const FINDINGS: [&str; 2] = ["| rule | fires when |", "| warning | given when |"];

/// What a mark behind a condition means.
const DISTURBED: &str =
    "\n\nThe numbers of such a step are disturbed: they are hatched in charts, and never the best.\n";

/// Builds the site with the `mdbook` of the search path and the program at `assay`.
///
/// # Errors
/// If a page cannot be made, mdBook fails, or a link leads nowhere.
pub fn site(assay: &str) -> anyhow::Result<()> {
    let place = Path::new(PLACE);
    let pages = place.join("src");
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    copy(Path::new("docs"), &pages)?;
    for name in ["book.toml", "site.css"] {
        std::fs::rename(pages.join(name), place.join(name))?;
    }
    // They lie above docs/, which is the root of the site.
    for (from, to) in [("CHANGELOG.md", "releases.md"), ("ARCHITECTURE.md", "architecture.md")] {
        std::fs::write(pages.join(to), std::fs::read_to_string(from)?.replace("](docs/", "]("))?;
    }
    let verbs = verbs(assay, &pages.join("reference/verbs"))?;
    let findings = findings(&std::fs::read_to_string("docs/method.md")?, &pages.join("reference/findings"))?;
    let summary = std::fs::read_to_string("docs/SUMMARY.md")?;
    std::fs::write(pages.join("SUMMARY.md"), with_generated(&summary, &verbs, &findings)?)?;
    let status = Command::new("mdbook").args(["build", PLACE]).status();
    ensure!(status.context("cannot run mdbook: make docs installs it")?.success(), "mdbook failed");
    let (checked, broken) = check(&place.join("site"))?;
    ensure!(broken.is_empty(), "{} broken links:\n  {}", broken.len(), broken.join("\n  "));
    println!(
        "{PLACE}/site/index.html: {} verbs, {} findings, {checked} links checked, no foreign host",
        verbs.len(),
        findings.len()
    );
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Puts the generated pages into the list of chapters: verbs and findings below "Reference", the rest at its end.
fn with_generated(summary: &str, verbs: &[String], findings: &[String]) -> anyhow::Result<String> {
    let (before, after) =
        summary.split_once("# Reference\n\n").context("docs/SUMMARY.md has no `# Reference`")?;
    let pages = |names: &[String], folder: &str| -> String {
        names.iter().map(|name| format!("  - [{name}](reference/{folder}/{name}.md)\n")).collect()
    };
    Ok(format!(
        "{before}# Reference\n\n- [Verbs](reference/verbs/index.md)\n{}\
         - [Findings](reference/findings/index.md)\n{}{after}\
         - [Architecture](architecture.md)\n\n# Releases\n\n- [Changes](releases.md)\n",
        pages(verbs, "verbs"),
        pages(findings, "findings"),
    ))
}

/// Writes a page with the help of each verb, and returns their names.
fn verbs(assay: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
    let help = |words: &[&str]| -> anyhow::Result<String> {
        let output = Command::new(assay).args(words).arg("--help").env("NO_COLOR", "1").output();
        let output = output.with_context(|| format!("cannot run {assay}"))?;
        ensure!(output.status.success(), "{assay} {} --help failed", words.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    };
    std::fs::create_dir_all(folder)?;
    let all = help(&[])?;
    let man = folder.join("man");
    std::fs::create_dir_all(&man)?;
    let status = Command::new(assay).arg("man").arg("-o").arg(&man).output()?.status;
    ensure!(status.success(), "{assay} man failed");
    // Every verb has a manual page, those of verbs of verbs too: assay-lab-up.1.
    let mut names: BTreeSet<String> = BTreeSet::new();
    for entry in std::fs::read_dir(&man)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(verb) = name.strip_prefix("assay-").and_then(|name| name.strip_suffix(".1")) {
            names.insert(verb.to_owned());
        }
    }
    std::fs::remove_dir_all(man)?;
    ensure!(!names.is_empty(), "{assay} man wrote no page");
    std::fs::write(folder.join("index.md"), format!("# Verbs\n\n```text\n{all}```\n"))?;
    let mut written = Vec::new();
    for name in names {
        // `probe-cache` is one verb, `lab-up` two.
        let words =
            if all.contains(&format!("  {name} ")) { vec![name.as_str()] } else { name.split('-').collect() };
        let Ok(text) = help(&words) else { continue };
        std::fs::write(
            folder.join(format!("{name}.md")),
            format!("# assay {}\n\n```text\n{text}```\n", words.join(" ")),
        )?;
        written.push(name);
    }
    Ok(written)
}

/// Writes a page for each finding that the tables of docs/method.md list, and returns their names.
fn findings(method: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let rows = rows(method);
    ensure!(rows.len() > FINDINGS.len(), "docs/method.md has no tables of findings");
    let mut index = "# Findings\n\n| finding | appears when |\n|---|---|\n".to_owned();
    for (name, when) in &rows {
        let (when, disturbs) = match when.strip_suffix("(*)") {
            Some(when) => (when.trim(), DISTURBED),
            None => (when.as_str(), "\n"),
        };
        // Links to headings of the method are those of another page here.
        let when = when.replace("](#", "](../../method.md#");
        index.push_str(&format!("| [{name}]({name}.md) | {when} |\n"));
        let page = format!(
            "# {name}\n\nAppears when: {when}.{disturbs}\n\
             The finding itself has the numbers behind it, and what to do. \
             [All findings](index.md) · [how findings are made](../../method.md#findings)\n"
        );
        std::fs::write(folder.join(format!("{name}.md")), page)?;
    }
    std::fs::write(folder.join("index.md"), index)?;
    Ok(rows.into_keys().collect())
}

/// Returns names and conditions of the tables of findings.
fn rows(method: &str) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let mut is_inside = false;
    for line in method.lines() {
        is_inside = FINDINGS.contains(&line) || (is_inside && line.starts_with('|'));
        let mut cells = line.trim_matches('|').splitn(2, " | ");
        if let (true, Some(name), Some(when)) = (is_inside, cells.next(), cells.next())
            && !FINDINGS.contains(&line)
        {
            rows.insert(name.trim().to_owned(), when.trim().to_owned());
        }
    }
    rows
}

/// Follows every link of the site; returns how many there were and the broken ones.
fn check(site: &Path) -> anyhow::Result<(usize, Vec<String>)> {
    let mut pages = Vec::new();
    html_files(site, &mut pages)?;
    let texts: BTreeMap<PathBuf, String> = pages
        .into_iter()
        .map(|path| std::fs::read_to_string(&path).map(|text| (path, text)))
        .collect::<Result<_, _>>()?;
    let (mut checked, mut broken) = (0, Vec::new());
    for (path, text) in &texts {
        for (is_loaded, link) in links(text) {
            checked += 1;
            let is_foreign = link.starts_with("http");
            let is_there = match link.split_once('#') {
                _ if is_foreign => !is_loaded,
                Some(("", anchor)) => has(text, anchor),
                Some((file, anchor)) => {
                    texts.get(&resolved(path, file)).is_some_and(|page| has(page, anchor))
                }
                None => resolved(path, link).exists(),
            };
            if !is_there {
                broken.push(format!("{}: {link}", path.strip_prefix(site)?.display()));
            }
        }
    }
    ensure!(checked > 0, "{} has no links", site.display());
    Ok((checked, broken))
}

fn html_files(folder: &Path, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            html_files(&path, into)?;
        // These have all pages in one, with the links of each.
        } else if path.extension().is_some_and(|end| end == "html")
            && !["print.html", "404.html", "toc.html"].iter().any(|name| path.ends_with(name))
        {
            into.push(path);
        }
    }
    Ok(())
}

/// Returns the links of a page: whether it is loaded with the page, and where it leads.
fn links(text: &str) -> impl Iterator<Item = (bool, &str)> {
    [("src=\"", true), ("href=\"", false)].into_iter().flat_map(move |(mark, is_loaded)| {
        text.match_indices(mark).filter_map(move |(at, _)| {
            let tag = text[..at].rfind('<').map_or("", |from| &text[from..at]);
            let link = text[at + mark.len()..].split('"').next()?;
            let is_inline =
                link.starts_with("data:") || link.starts_with("mailto:") || link == "#" || link.is_empty();
            (!is_inline && tag.len() < 500).then_some((is_loaded || tag.starts_with("<link"), link))
        })
    })
}

fn resolved(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().map(Path::to_owned).unwrap_or_default();
    for part in link.split('?').next().unwrap_or_default().split('/') {
        match part {
            ".." => _ = path.pop(),
            "." | "" => {}
            part => path.push(part),
        }
    }
    path
}

fn has(page: &str, anchor: &str) -> bool {
    page.contains(&format!("id=\"{anchor}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_findings_are_read_and_others_are_not() {
        let method = "| a | b |\n|---|---|\n| no | x |\n\n| rule | fires when |\n|---|---|\n\
                      | steal | 2 % | of CPU (*) |\n\n| c | d |\n";
        let rows = rows(method);
        assert_eq!(rows.get("steal").map(String::as_str), Some("2 % | of CPU (*)"));
        assert!(!rows.contains_key("no"), "{rows:?}");
    }

    #[test]
    fn broken_links_and_foreign_hosts_are_found() {
        let folder = std::env::temp_dir().join(format!("assay-site-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("b")).unwrap();
        let page = "<a href=\"b/c.html#here\"></a><a href=\"b/c.html#gone\"></a><a href=\"d.html\"></a>\
                    <a href=\"http://example.org\"></a><script src=\"http://example.org/x.js\"></script>";
        std::fs::write(folder.join("a.html"), page).unwrap();
        std::fs::write(folder.join("b/c.html"), "<h1 id=\"here\"></h1><a href=\"../a.html\"></a>").unwrap();
        let (checked, broken) = check(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(checked, 6);
        assert_eq!(broken, ["a.html: http://example.org/x.js", "a.html: b/c.html#gone", "a.html: d.html"]);
    }
}
