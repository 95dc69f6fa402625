//! Stories on a network of four links (scripts/lab.sh): what `assay check` sees of it, how paths share the load, and
//! how a run goes on when links and targets fail. They need root, iproute2 and tgt, and are skipped where one is
//! missing.

mod array;
mod check;
mod foreign;
mod network;
mod runs;
