//! The form of GitHub's workflow files, and the actions that set up a tool.

use serde_json::Value;

use journeyman_order::bounds::LARGEST_DOCUMENT;

/// Values of one, those that stand for others by an alias among them: a few lines can stand for gigabytes.
const MOST_VALUES: usize = 50_000;

/// Actions that set up a tool: the input that holds its version.
pub(crate) const TOOLS: [(&str, &str, &str); 20] = [
    ("actions/setup-python", "python", "python-version"),
    ("actions/setup-node", "node", "node-version"),
    ("actions/setup-go", "go", "go-version"),
    ("actions/setup-java", "java", "java-version"),
    ("actions/setup-dotnet", "dotnet", "dotnet-version"),
    ("ruby/setup-ruby", "ruby", "ruby-version"),
    ("dtolnay/rust-toolchain", "rust", "toolchain"),
    ("actions-rs/toolchain", "rust", "toolchain"),
    ("actions-rust-lang/setup-rust-toolchain", "rust", "toolchain"),
    ("moonrepo/setup-rust", "rust", "channel"),
    ("pnpm/action-setup", "pnpm", "version"),
    ("oven-sh/setup-bun", "bun", "bun-version"),
    ("astral-sh/setup-uv", "uv", "version"),
    ("snok/install-poetry", "poetry", "version"),
    ("abatilo/actions-poetry", "poetry", "poetry-version"),
    ("pdm-project/setup-pdm", "pdm", "version"),
    ("pypa/hatch", "hatch", "version"),
    ("shivammathur/setup-php", "php", "php-version"),
    ("lukka/get-cmake", "cmake", "cmakeVersion"),
    ("stCarolas/setup-maven", "mvn", "maven-version"),
];

/// A scalar as the text that it stands for.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    let number = || value.as_f64().map(|number| number.to_string());
    let truth = || value.as_bool().map(|truth| truth.to_string());
    value.as_str().map(str::to_owned).or_else(number).or_else(truth)
}

/// A workflow; none where it is not YAML of that form, or more than anybody writes.
pub(crate) fn read(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MOST_VALUES, max_total_scalar_bytes: LARGEST_DOCUMENT },
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}
