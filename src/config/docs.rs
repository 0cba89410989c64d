//! docs/settings.md, written from the table.

use super::settings::{InFile, PROVIDER_SETTINGS, SETTINGS, Setting};

const HEAD: &str = "# Settings

A setting is taken from the first of these that has it: the flag, the variable, the file behind the same variable with
`_FILE` (for mounted secrets; set one of the two), the TOML file that `--config` names, the default. An empty variable
counts as not set. Lists are written with commas, in TOML also as an array. `hamlet config` prints every setting with
its value and where it came from. A setting of the Village (from `default_provider` on) that is set here is pinned: the
page shows it and cannot change it.

";

const PROVIDERS: &str = "
## Providers of the environment

They are there as long as the variable is, and are never stored. Each is also read with `_FILE`.

";

/// The whole page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| TOML key | Flag | Variable | Default | |\n|---|---|---|---|---|\n");
    SETTINGS.iter().for_each(|setting| page.push_str(&row(setting)));
    page.push_str(PROVIDERS);
    page.push_str("| Variable | Default | |\n|---|---|---|\n");
    PROVIDER_SETTINGS.iter().for_each(|setting| {
        page.push_str(&format!("| `{}` | {} | {} |\n", setting.env, default(setting), setting.doc))
    });
    page
}

fn row(setting: &Setting) -> String {
    let key = match setting.in_file {
        InFile::Yes => format!("`{}`", setting.name),
        InFile::No => String::new(),
    };
    let flag = setting.flag.map(|flag| format!("`{flag}`")).unwrap_or_default();
    format!("| {key} | {flag} | `{}` | {} | {} |\n", setting.env, default(setting), setting.doc)
}

fn default(setting: &Setting) -> String {
    setting.default.map_or_else(|| setting.unset.to_owned(), |default| format!("`{default}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_settings_is_current() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.md");
        if std::env::var_os("HAMLET_WRITE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, markdown()).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == markdown(), "docs/settings.md is out of date; run this test with HAMLET_WRITE_DOCS=1");
    }
}
