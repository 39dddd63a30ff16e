//! The files of a report that are made from templates.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

const TEMPLATES: [(&str, &str); 10] = [
    ("issue.md", include_str!("templates/issue.md")),
    ("rewrite.py", include_str!("templates/rewrite.py")),
    ("apart.py", include_str!("templates/apart.py")),
    ("Cargo.toml", include_str!("templates/Cargo.toml")),
    ("op_test.cc", include_str!("templates/op_test.cc")),
    ("graph_test.cc", include_str!("templates/graph_test.cc")),
    ("tract_test.rs", include_str!("templates/tract_test.rs")),
    ("rten_test.rs", include_str!("templates/rten_test.rs")),
    ("candle_test.rs", include_str!("templates/candle_test.rs")),
    ("test_issue.py", include_str!("templates/test_issue.py")),
];

/// A template, filled in.
///
/// # Panics
/// If the template is not well-formed, which a test of every template rules out.
pub(super) fn render(name: &str, context: Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual delimiters are well-formed"));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    // A string as a literal of Python.
    environment.add_filter("python", |text: String| serde_json::Value::from(text).to_string());
    environment.add_filter("cell", |text: String| text.replace('|', "\\|"));
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).unwrap_or_else(|error| panic!("{error:#}"));
    }
    let template = environment.get_template(name).unwrap_or_else(|error| panic!("{error:#}"));
    let text = template.render(context).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    // Parts that are left out leave their empty lines behind.
    let mut plain = String::with_capacity(text.len());
    let most = if name == "rewrite.py" || name == "test_issue.py" { 2 } else { 1 };
    let mut empty = 0;
    for line in text.lines() {
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty <= most {
            plain.push_str(line.trim_end());
            plain.push('\n');
        }
    }
    format!("{}\n", plain.trim())
}
