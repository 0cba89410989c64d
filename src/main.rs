//! The program: a command of the command line, or the server.

use std::process::ExitCode;

use hamlet::{
    cli::{self, Outcome},
    serve,
};

fn main() -> ExitCode {
    match cli::run(cli::parse()) {
        Ok(Outcome::Done(code)) => code,
        Ok(Outcome::Serve(config)) => report(serve::blocking(*config)),
        Err(error) => report(Err(error)),
    }
}

#[expect(clippy::print_stderr, reason = "the one sentence that says why the program ends")]
fn report<E: std::fmt::Display>(outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hamlet: {error}");
            ExitCode::FAILURE
        }
    }
}
