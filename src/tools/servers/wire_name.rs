//! A tool's name as Providers take it, made of its server's and its own name alone: other servers, and the order in which
//! they come, change nothing.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// What all Providers take: `[a-zA-Z_][a-zA-Z0-9_-]{0,63}`.
const MAX: usize = 64;
/// Hexadecimal digits that tell apart what would otherwise read alike.
const HASH: usize = 10;

/// `server__tool`. A server's name holds no underscore, so that names which are kept as they are can't meet; one that had
/// to be changed or cut ends in a hash of the key instead.
pub fn of(server: &str, tool: &str) -> String {
    let plain = format!("{server}__{tool}");
    let mut name = String::with_capacity(MAX);
    // A first character that is none of theirs is kept behind an underscore, with which no server's name begins.
    if !plain.starts_with(|char: char| char.is_ascii_alphabetic()) {
        name.push('_');
    }
    let fits = plain.chars().all(is_taken) && name.len() + plain.len() <= MAX && is_slug(server);
    if fits {
        name.push_str(&plain);
        return name;
    }
    name.extend(plain.chars().map(|char| if is_taken(char) { char } else { '_' }));
    // ASCII by now, so that any length is a boundary.
    name.truncate(MAX - HASH - 1);
    name.push('_');
    let digest: [u8; 32] = Sha256::digest(format!("{server}/{tool}")).into();
    for byte in &digest[..HASH / 2] {
        // Writing to a String does not fail.
        if write!(name, "{byte:02x}").is_err() {
            break;
        }
    }
    name
}

fn is_taken(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

fn is_slug(server: &str) -> bool {
    !server.is_empty() && server.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_wire_name(name: &str) -> bool {
        name.len() <= MAX
            && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(is_taken)
    }

    #[test]
    fn a_name_that_fits_is_kept() {
        assert_eq!(of("files", "read_file"), "files__read_file");
        assert_eq!(of("files", "Read-File2"), "files__Read-File2");
        assert_eq!(of("21st", "magic"), "_21st__magic");
        assert_eq!(of("-a", "b"), "_-a__b");
    }

    #[test]
    fn a_name_that_does_not_fit_ends_in_a_hash() {
        assert_eq!(of("files", "read.file"), format!("files__read_file_{}", hash("files/read.file")));
        assert_ne!(of("files", "read.file"), of("files", "read/file"));
        assert_ne!(of("files", "read.file"), of("files", "read_file"));
        let (one, other) = (format!("{}1", "x".repeat(80)), format!("{}2", "x".repeat(80)));
        assert_ne!(of("files", &one), of("files", &other));
        assert_eq!(of("files", &one).len(), MAX);
        assert_ne!(of("a", "梅"), of("a", "花"));
    }

    fn hash(key: &str) -> String {
        let digest: [u8; 32] = Sha256::digest(key).into();
        digest[..5].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_longest_name_that_fits_is_one_of_64_characters() {
        let tool = "x".repeat(MAX - "files__".len());
        assert_eq!(of("files", &tool), format!("files__{tool}"));
        assert!(of("files", &format!("{tool}x")).ends_with(&hash(&format!("files/{tool}x"))));
    }

    proptest! {
        #[test]
        fn every_name_becomes_one_that_providers_take(server in "[a-z0-9-]{1,40}", tool in "\\PC{0,200}") {
            let name = of(&server, &tool);
            prop_assert!(is_wire_name(&name), "{name}");
            prop_assert_eq!(name, of(&server, &tool));
        }

        #[test]
        fn two_tools_never_share_a_name(
            servers in prop::array::uniform2("[a-b0-1-]{1,3}"), tools in prop::array::uniform2("[a-b_.-]{0,3}"),
        ) {
            let keys = [0, 1].map(|n| (&servers[n], &tools[n]));
            let names = [0, 1].map(|n| of(&servers[n], &tools[n]));
            prop_assert_eq!(keys[0] == keys[1], names[0] == names[1], "{:?} {:?}", keys, names);
        }
    }
}
