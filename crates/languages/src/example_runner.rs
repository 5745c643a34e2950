//! How the examples of an issue are evaluated in a language.
//!
//! May know: files, commands. Must never know: which languages there are, what an issue says.

/// The words, the files with code, and whether a file is there.
type ExampleCaller = fn(&str, &[&str], &dyn Fn(&str) -> bool) -> ExampleCall;

/// What evaluates calls of a language's code.
#[derive(Debug)]
pub struct ExampleRunner {
    pub language: &'static str,
    /// Endings of the files whose code it can call, without the dot.
    pub endings: &'static [&'static str],
    /// A regular expression of what defines a name, which stands for `NAME`.
    pub defines: &'static str,
    /// The name of our program that evaluates an example, and its text.
    pub script: &'static str,
    pub text: &'static str,
    /// How that program is called with these words to load the code of these files. It may ask which files there are. The
    /// file descriptor 3 is what each answer starts with.
    pub call: ExampleCaller,
}

#[derive(Debug)]
pub struct ExampleCall {
    /// The files, as the program loads them.
    pub modules: Vec<String>,
    /// With [`AS_IT_RUNS`](journeyman_order::examination::AS_IT_RUNS) before the program.
    pub command: String,
}

impl ExampleRunner {
    pub fn takes(&self, path: &str) -> bool {
        path.rsplit_once('.').is_some_and(|(_, ending)| self.endings.contains(&ending))
    }
}
