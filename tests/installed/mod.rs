//! Runtimes that take part where they are named, and are installed for that.

use std::path::Path;

use onnx_crosscheck::finding::{Known, Ledger, Probe, Sighting};
use onnx_crosscheck::runtime::{self, Kind, Limits};
use onnx_crosscheck::verdict::Mismatch;

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
    // A runtime that reads memory which is not its own may crash, or take all of its time instead, or do neither for as long as its
    // process lasts.
    let mut is_there = |known: &Known| {
        (0..TRIES).any(|_| {
            let shows = !known.triggers(&mut probe).is_empty() || ends_or_hangs(known, &mut probe);
            if !shows {
                probe = open();
            }
            shows
        })
    };
    let (shown, fixed): (Vec<_>, Vec<_>) = there.partition(&mut is_there);
    assert!(fixed.is_empty(), "fixed upstream, or changed: close them: {fixed:#?}");
    assert_eq!(shown.is_empty(), kind.known.is_empty(), "{}", kind.name);
}

/// Whether the case of a known crash or hang shows the one or the other.
fn ends_or_hangs(known: &Known, probe: &mut Probe) -> bool {
    let mismatch = known.variant.mismatch();
    let is_so = |sighting: Sighting| {
        let mut shown = sighting.configurations.iter().flat_map(|(_, shown, _)| shown);
        shown.any(Mismatch::is_costly)
    };
    mismatch.is_costly() && probe.look(&known.variant.case(), &mismatch.runtime).is_some_and(is_so)
}
