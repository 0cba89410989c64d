//! Builds the page with npm and hands its folder to the embedding in `http/assets.rs`. Without the feature `web` nothing
//! of this runs and no Node is needed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const WITHOUT_PAGE: &str = "To build the server alone, without the page: cargo build --release --no-default-features";

fn main() -> ExitCode {
    if env::var_os("CARGO_FEATURE_WEB").is_none() {
        return ExitCode::SUCCESS;
    }
    for path in ["web/src", "web/build.mjs", "web/package.json", "web/package-lock.json", "web/tsconfig.json"] {
        println!("cargo::rerun-if-changed={path}");
    }
    match build_page() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=The page could not be built: {error} {WITHOUT_PAGE}");
            ExitCode::FAILURE
        }
    }
}

fn build_page() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo named no OUT_DIR.")?).join("web");
    fs::create_dir_all(&out).map_err(|error| format!("{} can't be made ({error}).", out.display()))?;
    let web = Path::new("web");
    require("node", "Node.js 20 or newer is needed for it (https://nodejs.org, or your system's package `nodejs`).")?;
    require("npm", "npm is needed for it; it comes with Node.js (Debian: package `npm`).")?;
    if !is_installed(web) {
        run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(web))?;
    }
    run(Command::new("npm").args(["run", "--silent", "build"]).current_dir(web).env("HAMLET_WEB_OUT", &out))?;
    println!("cargo::rustc-env=HAMLET_WEB_OUT={}", out.display());
    Ok(())
}

/// Whether what the lock file names is there already.
fn is_installed(web: &Path) -> bool {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    match (changed(web.join("node_modules/.package-lock.json")), changed(web.join("package-lock.json"))) {
        (Some(installed), Some(locked)) => installed >= locked,
        _ => false,
    }
}

fn require(program: &str, missing: &str) -> Result<(), String> {
    match Command::new(program).arg("--version").output() {
        Ok(answer) if answer.status.success() => Ok(()),
        _ => Err(format!("{program} does not run. {missing}")),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?} does not start ({error})."))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " | ");
    Err(format!("{command:?} failed: {said}."))
}
