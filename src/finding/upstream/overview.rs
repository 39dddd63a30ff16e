//! The order in which reports are worth filing.

use super::outside::public_name;
use crate::verdict::Severity;

/// The file with the overview of several reports.
pub const OVERVIEW: &str = "overview.md";

/// The consequence for a user, by severity. Invalid models that are accepted come last and together.
const CONSEQUENCES: [(&[Severity], &str); 6] = [
    (&[Severity::Crash], "The process ends, or takes all of its time or memory"),
    (&[Severity::WrongAnswer], "Wrong results without an error"),
    (&[Severity::Panic], "A panic"),
    (&[Severity::RefusesValid], "Valid models that are refused"),
    (&[Severity::Disagrees], "Results that depend on how the model is prepared"),
    (&[Severity::AcceptsInvalid, Severity::Lenient], "Invalid models that are accepted"),
];

/// The place of a finding among the findings of a runtime: what users would lose sleep over comes first.
pub fn priority(severity: Severity) -> usize {
    CONSEQUENCES.iter().position(|(severities, _)| severities.contains(&severity)).unwrap_or(CONSEQUENCES.len())
}

/// The overview of reports to a runtime, as Markdown: the severity, the folder and the title of each.
pub fn overview(runtime: &str, reports: &[(Severity, String, String)]) -> String {
    let head = format!(
        "# Issues of {}, the most important first\n\nEach folder holds one cause, with a text to file. What is fixed, and what is by \
         design, is left out.\n",
        public_name(runtime)
    );
    let section = |(place, (_, consequence)): (usize, &(&[Severity], &str))| {
        let own = reports.iter().filter(|(severity, ..)| priority(*severity) == place);
        let lines: Vec<String> = own.map(|(_, folder, title)| format!("- [{title}]({folder}/issue.md)\n")).collect();
        let head = format!("\n## {consequence}: {}\n\n", lines.len());
        if lines.is_empty() { String::new() } else { head + &lines.concat() }
    };
    [head].into_iter().chain(CONSEQUENCES.iter().enumerate().map(section)).collect()
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn every_severity_has_its_place_and_an_invalid_model_that_is_accepted_comes_last() {
        let places: Vec<usize> = Severity::VARIANTS.iter().map(|severity| priority(*severity)).collect();
        assert!(places.iter().all(|place| *place < CONSEQUENCES.len()), "{places:?}");
        let reports = [Severity::Lenient, Severity::WrongAnswer, Severity::AcceptsInvalid]
            .map(|severity| (severity, format!("tract-{severity}"), format!("It is {severity}")));
        let text = overview("tract", &reports);
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}: {text}"));
        let last = at("## Invalid models that are accepted: 2");
        assert!(at("- [It is wrong-answer](tract-wrong-answer/issue.md)") < last, "{text}");
        assert!(last < at("tract-lenient") && last < at("tract-accepts-invalid"), "{text}");
        assert!(!text.contains("panic"), "{text}");
    }
}
