//! The initiator against real targets (tgt), through real sockets. Tests say why when they skip.

mod faults;
mod proxy;
mod session;
mod tgt;
mod work;
