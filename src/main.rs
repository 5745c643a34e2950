//! Parses the command line, calls the library, turns an error into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    journeyman::cli::main()
}
