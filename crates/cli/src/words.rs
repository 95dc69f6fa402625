//! What the words of a command line mean: each is converted once, here, from what was typed (`args`) to what the rooms
//! take.

pub(crate) mod array;
pub(crate) mod attached;
pub(crate) mod candidates;
pub(crate) mod either_order;
pub(crate) mod fail_if;
pub(crate) mod fleet;
pub(crate) mod foreign;
pub(crate) mod journals;
pub(crate) mod maps;
pub(crate) mod offered;
pub(crate) mod order;
pub(crate) mod other_tools;
pub(crate) mod plan;
pub(crate) mod plan_file;
pub(crate) mod result_files;
pub(crate) mod run_file;
pub(crate) mod secret;
pub(crate) mod store;
pub(crate) mod stored;
pub(crate) mod targets;
pub(crate) mod typed;
