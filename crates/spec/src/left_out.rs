//! What a build leaves out.

/// Returns what is said where a program was built without something: `what` it has not, and how to get it.
pub fn left_out(what: &str) -> String {
    format!(
        "this program was built without {what}, as make run does to be ready sooner; cargo install --path crates/cli \
         builds all of it"
    )
}
