//! Differential testing of ONNX runtimes.
//!
//! A [`case::Case`] is one call of one operator. The in-house implementation ([`operator`]) says what the specification
//! demands of it; each [`runtime`] says what it does with the case as an ONNX [`model`]; a [`verdict`] holds the one
//! against the other; a [`campaign`] does so for as many generated cases as there is time for, and what it meets is brought
//! down to a few small [`finding`]s.

pub mod campaign;
pub mod case;
pub mod cli;
mod files;
pub mod finding;
pub mod fuzzing;
pub mod model;
pub mod network;
pub mod operator;
mod percentages;
pub mod runtime;
pub mod tensor;
mod text;
mod threads;
pub mod verdict;

/// The Rust in the book is compiled, and where it can be it is run.
#[cfg(doctest)]
#[doc = include_str!("../docs/runtime.md")]
struct TheBook;
