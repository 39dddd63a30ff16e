//! Differential testing of ONNX runtimes.
//!
//! A case passes through these modules in this order. Only `case` uses a module that is listed after it, `operator`:
//!
//! - A [`case::Case`] is a small graph of ONNX operators, the tensors that it is fed, and the way in which each of them
//!   reaches its node. Cases come from a generator, a fuzzer, a line of text, or a model.
//! - Each [`operator`] says what the specification demands of a call: an [`operator::Expectation`]. It uses no result of a
//!   runtime.
//! - A case as an ONNX [`model`], with its feeds, is a [`model::Job`]. A [`runtime`] executes the job in a process of its
//!   own. The result is a [`runtime::Execution`].
//! - The [`verdict`] compares the execution with the expectation. A [`verdict::Mismatch`] says what is wrong.
//! - A [`campaign`] does this for as many cases as time allows.
//! - A mismatch is minimized and compared with the known issues. If it is new, it is saved: a [`finding::Finding`].
//!
//! [`network`] uses the same means to find the nodes of a user's own model on which runtimes differ. `docs/architecture.md`
//! has all this as a picture, and says where to add what.

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

/// Compiles the Rust examples of the book, and runs those that can be run.
#[cfg(doctest)]
#[doc = include_str!("../docs/runtime.md")]
struct TheBook;
