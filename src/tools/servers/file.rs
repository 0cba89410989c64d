//! `mcp.json` in the data folder, read at start.

use std::path::Path;

use tokio::io::AsyncReadExt;

use super::document::{self, Entry};

pub const NAME: &str = "mcp.json";
const BYTES_MAX: u64 = 1 << 20;

/// No servers where there is no file.
///
/// # Errors
/// Why the file can't be used, in words that name it.
pub async fn read(folder: &Path) -> Result<Vec<Entry>, String> {
    let told = |error: &dyn std::fmt::Display| format!("{NAME} can't be used: {error}");
    let file = match tokio::fs::File::open(folder.join(NAME)).await {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(told(&error)),
    };
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut text).await.map_err(|error| told(&error))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(told(&format!("it has more than {BYTES_MAX} bytes")));
    }
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let document = serde_json::from_slice(text).map_err(|error| told(&error))?;
    document::read(&document).map_err(|error| told(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(text: &[u8]) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), text).unwrap();
        read(folder.path()).await.map(|entries| entries.len())
    }

    #[tokio::test]
    async fn a_file_that_is_absent_has_no_servers() {
        assert_eq!(read(tempfile::tempdir().unwrap().path()).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_file_is_read_with_and_without_a_byte_order_mark() {
        let text = r#"{"mcpServers": {"a": {"command": "b"}}}"#;
        assert_eq!(check(text.as_bytes()).await, Ok(1));
        assert_eq!(check(format!("\u{FEFF}{text}").as_bytes()).await, Ok(1));
    }

    #[tokio::test]
    async fn a_broken_file_is_told_by_its_name() {
        let long = vec![b' '; 2 << 20];
        for text in [&b"{"[..], b"", b"[]", b"\xff\xfe", &long] {
            let error = check(text).await.unwrap_err();
            assert!(error.starts_with("mcp.json can't be used: "), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(NAME)).unwrap();
        assert!(read(folder.path()).await.is_err());
    }
}
