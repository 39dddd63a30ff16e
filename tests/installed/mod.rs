//! Runtimes that take part where they are named, and are installed for that.

use std::path::Path;

use onnx_crosscheck::finding::{Known, Ledger, Probe};
use onnx_crosscheck::runtime::{self, Kind, Limits};

use crate::program::crosscheck;

/// How often the case of a known issue is run until it shows.
const TRIES: u32 = 8;

/// Installs a runtime, and holds its known issues against what it does.
pub fn assert_known_issues_show(kind: &Kind) {
    let ledger = Ledger::load().unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits::default().with_program(Path::new(env!("CARGO_BIN_EXE_crosscheck")));
    let (code, out) = crosscheck(Path::new("."), &["runtimes", "install", kind.name]);
    assert!(code == Some(0) && out.contains(&format!("{} {} is ready", kind.name, kind.version)), "{out}");
    let rows = runtime::select(Some(kind.name)).unwrap();
    let open = || Probe::new(runtime::open_apart(&rows, &limits).unwrap_or_else(|error| panic!("{error}")));
    let mut probe = open();
    let there = ledger.known().filter(|known| known.variant.may_show_on(&rows[0].id));
    // A runtime that uses memory which is not its own may crash, or take all of its time instead. What it does depends on what its
    // process did before.
    let mut is_there = |known: &Known| {
        !known.triggers(&mut probe).is_empty() || (1..TRIES).any(|_| !known.triggers(&mut open()).is_empty())
    };
    let (shown, fixed): (Vec<_>, Vec<_>) = there.partition(&mut is_there);
    assert!(fixed.is_empty(), "fixed upstream, or changed: close them: {fixed:#?}");
    assert_eq!(shown.is_empty(), kind.known.is_empty(), "{}", kind.name);
}
