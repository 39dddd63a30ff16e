//! Differential testing of ONNX runtimes.
//!
//! The way of a case, from left to right; nothing on the right is used by anything on its left:
//!
//! - A [`case::Case`] is a small graph of ONNX operators, what it is fed, and how that reaches the nodes. One comes from a
//!   generator, a fuzzer, a line of text, or a model.
//! - Each [`operator`] says what the specification demands of a call of it: an [`operator::Expectation`]. No result of a runtime
//!   takes part in that.
//! - The case as an ONNX [`model`], with its feeds, is a [`model::Job`]; a [`runtime`] does something with it in a process of its
//!   own: a [`runtime::Execution`].
//! - A [`verdict`] holds the one against the other, and a [`verdict::Mismatch`] says what is wrong.
//! - A [`campaign`] does so for as many cases as there is time for.
//! - What is wrong is minimized, distinguished from what is known, and saved: a [`finding::Finding`].
//!
//! [`network`] looks for the nodes of somebody's own model on which runtimes differ, by the same means. `docs/architecture.md` has
//! this as a picture, and where to add what.

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
