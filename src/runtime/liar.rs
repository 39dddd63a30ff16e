//! A runtime for tests: right, but for the faults that are planted in it.

use super::{Execution, OpenError, Runtime, RuntimeId, open, select};
use crate::model::Job;

/// A planted fault: may change what came of a job.
pub(crate) type Fault = fn(&Job, &mut Execution);

struct Liar {
    id: RuntimeId,
    honest: Box<dyn Runtime>,
    faults: Vec<Fault>,
}

/// The in-house runtime with faults planted in it, as a runtime of the kind `liar`.
pub(crate) fn liar(faults: &[Fault]) -> Result<Box<dyn Runtime>, OpenError> {
    let id = RuntimeId { kind: "liar".to_owned(), version: "0".to_owned(), configuration: String::new() };
    Ok(Box::new(Liar { id, honest: honest()?, faults: faults.to_vec() }))
}

/// The in-house runtime.
pub(crate) fn honest() -> Result<Box<dyn Runtime>, OpenError> {
    Ok(open(&select(Some("in-house"))?)?.remove(0))
}

impl Runtime for Liar {
    fn id(&self) -> &RuntimeId {
        &self.id
    }

    fn execute(&mut self, jobs: &[Job]) -> Vec<Execution> {
        let mut executions = self.honest.execute(jobs);
        for (job, execution) in jobs.iter().zip(&mut executions) {
            self.faults.iter().for_each(|fault| fault(job, execution));
        }
        executions
    }
}
