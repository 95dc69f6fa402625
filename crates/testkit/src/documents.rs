//! JSON documents of the program against the schemas that are published for them.

use std::path::Path;

use serde_json::Value;

/// Checks a document that names its schema; others, and lists, are not checked.
///
/// # Panics
/// If there is no such schema, or the document does not fit it.
#[track_caller]
pub(crate) fn fits_its_schema(document: &Value) {
    let Some(name) = document["schema"].as_str() else { return };
    let file = format!("{}.schema.json", name.replace('/', "-"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(&file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("docs/{file}: {error}"));
    let schema: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("docs/{file}: {error}"));
    let validator = jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("docs/{file}: {error}"));
    let wrong: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "docs/{file}: {wrong:#?}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fits_its_schema;

    #[test]
    fn a_document_that_fits_passes_and_what_names_no_schema_is_left_alone() {
        fits_its_schema(&json!({ "schema": "assay.check/1", "target": "x", "kind": "file" }));
        fits_its_schema(&json!([1, 2]));
    }

    #[test]
    #[should_panic(expected = "kind")]
    fn a_document_without_a_field_fails() {
        fits_its_schema(&json!({ "schema": "assay.check/1", "target": "x" }));
    }

    #[test]
    #[should_panic(expected = "assay.none-1")]
    fn a_document_of_an_unpublished_schema_fails() {
        fits_its_schema(&json!({ "schema": "assay.none/1" }));
    }
}
