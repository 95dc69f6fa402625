//! Licences of everything that is built: each must allow what Assay's own licences promise. This needs
//! nothing but cargo; `make advisories` checks the rest, which needs the network.

use std::process::Command;

use serde_json::Value;

use crate::{none, root};

/// Licences without conditions on a program that contains the code, beside naming them.
const ALLOWED: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "0BSD",
    "Zlib",
    "BSL-1.0",
    "Unlicense",
    "Unicode-3.0",
];

#[test]
fn what_is_built_has_a_licence_that_allows_it() {
    let platform = "--filter-platform=x86_64-unknown-linux-gnu";
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", platform])
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = document["packages"].as_array().expect("a list of packages");
    let word = |package: &Value, key: &str| package[key].as_str().unwrap_or("none").to_owned();
    let refused = packages.iter().filter(|package| !is_allowed(&word(package, "license")));
    let refused: Vec<String> =
        refused.map(|package| format!("{}: {}", word(package, "name"), word(package, "license"))).collect();
    none(
        &refused,
        "use another crate, or add the licence here once it is known to allow what Assay promises",
    );
}

/// Whether an SPDX expression allows the use: one of the parts of an OR, all parts of an AND.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ").replace("  ", " ");
    // Only AND stands outside of brackets in the expressions that there are.
    let mut parts = plain.split(" AND ").map(|part| part.trim_matches(['(', ')']));
    parts.all(|part| part.split(" OR ").any(|one| ALLOWED.contains(&one.trim())))
}

#[test]
fn expressions_of_licences_are_understood() {
    for allowed in
        ["MIT", "MIT/Apache-2.0", "Apache-2.0 / MIT", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
    {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-2.0", "none", "AGPL-3.0 OR SSPL-1.0"] {
        assert!(!is_allowed(refused), "{refused}");
    }
}
