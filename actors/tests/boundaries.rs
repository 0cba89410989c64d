//! Imports go one way: the engine knows no HTTP, no SQL and no Provider's wire format.

use std::process::Command;

#[test]
fn the_engine_depends_on_no_server_no_database_and_no_http_client() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args([
            "tree",
            "--package",
            "hamlet-actors",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("ractor"), "{}", String::from_utf8_lossy(&output.stderr));
    for absent in ["axum", "hyper", "http", "rusqlite", "libsqlite3-sys", "reqwest", "prometheus-client", "metrics"] {
        assert!(!tree.lines().any(|line| line.split(' ').next() == Some(absent)), "{absent} is in the engine");
    }
}
