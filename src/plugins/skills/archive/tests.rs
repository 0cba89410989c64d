use std::io::Write as _;

use proptest::prelude::*;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::*;

fn form(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n")
}

/// An archive of these entries; a path that ends with `/` is a folder.
fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    zipped_as(CompressionMethod::Deflated, entries)
}

fn zipped_as(method: CompressionMethod, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (path, bytes) in entries {
        if path.ends_with('/') {
            writer.add_directory(*path, options).unwrap();
        } else {
            writer.start_file(*path, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// The same bytes with one text for another of the same length, wherever it stands: entries that no writer makes.
fn forged(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

fn refused(bytes: &[u8]) -> String {
    unpack(bytes).map(|unpacked| format!("{unpacked:?}")).unwrap_err().to_string()
}

#[test]
fn one_skill_at_the_top_or_in_a_folder_is_read_with_its_references() {
    let at_top = zipped(&[
        ("SKILL.md", form("bread").as_bytes()),
        ("references/", b""),
        ("references/flour.md", "\u{feff}Rye.".as_bytes()),
        ("references/deep/er/salt.txt", b"A little."),
        ("references/.hidden", b"x"),
        ("references/photo.png", &[0xff, 0xd8, 0, 1]),
        ("scripts/run.sh", b"rm -rf /"),
        ("assets/logo.svg", b"<svg onload=alert(1)>"),
        ("LICENSE.txt", b"MIT"),
        (".DS_Store", b"x"),
        ("__MACOSX/._SKILL.md", b"x"),
    ]);
    let unpacked = unpack(&at_top).unwrap();
    let [skill] = &unpacked.skills[..] else { panic!("{unpacked:?}") };
    assert_eq!((skill.text.about.name.as_str(), skill.text.instructions.as_str()), ("bread", "Do bread."));
    let files: Vec<_> = skill.files.iter().map(|(path, body)| (path.as_str(), body.as_str())).collect();
    assert_eq!(files, [("references/deep/er/salt.txt", "A little."), ("references/flour.md", "Rye.")]);
    let left = ["LICENSE.txt", "assets/logo.svg", "references/.hidden", "references/photo.png", "scripts/run.sh"];
    assert_eq!(unpacked.not_imported, left);

    let nested = zipped(&[("repo/bread/SKILL.md", form("bread").as_bytes()), ("repo/bread/references/a.md", b"A")]);
    let unpacked = unpack(&nested).unwrap();
    assert_eq!(unpacked.skills[0].files.keys().collect::<Vec<_>>(), ["references/a.md"]);
    let stored = zipped_as(CompressionMethod::Stored, &[("SKILL.md", form("bread").as_bytes())]);
    assert_eq!(unpack(&stored).unwrap().skills.len(), 1);
}

#[test]
fn several_skills_in_one_archive_are_several_and_one_inside_another_is_part_of_it() {
    let bytes = zipped(&[
        ("README.md", b"Two of them."),
        ("b/SKILL.md", form("b").as_bytes()),
        ("a/SKILL.md", form("a").as_bytes()),
        ("a/examples/c/SKILL.md", form("c").as_bytes()),
        ("a/references/x.md", b"X"),
        ("ab/references/y.md", b"nobody's"),
    ]);
    let unpacked = unpack(&bytes).unwrap();
    let names: Vec<_> = unpacked.skills.iter().map(|skill| skill.text.about.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(unpacked.skills[0].files.len() + unpacked.skills[1].files.len(), 1);
    assert_eq!(unpacked.not_imported, ["README.md", "ab/references/y.md", "a/examples/c/SKILL.md"]);
}

#[test]
fn an_entry_that_leads_out_of_the_archive_refuses_it() {
    let good = form("bread");
    let with = |path: &str| zipped(&[("SKILL.md", good.as_bytes()), (path, b"x")]);
    for (made, forgery) in [
        ("references/aa", "references/.."),
        ("aaa/bbbb/cc", "../../etc/x"),
        ("aetc/passwd", "/etc/passwd"),
        ("references/a.md", "references\\a.md"),
        ("references/a.md", "references/\u{1}.md"),
        ("references/a.md", "references//.md"),
        ("aaa/windows.ini", "C:/windows/.ini"),
    ] {
        let bytes = forged(with(made), made, forgery);
        let refused = refused(&bytes);
        assert!(refused.contains("leads out of the archive"), "{forgery}: {refused}");
    }
    let long = format!("references/{}", "a".repeat(300));
    assert!(refused(&with(&long)).contains("leads out"));
}

#[test]
fn links_doubles_and_encrypted_entries_refuse_the_archive() {
    let options = SimpleFileOptions::default();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("SKILL.md", options).unwrap();
    writer.write_all(form("bread").as_bytes()).unwrap();
    writer.add_symlink("references/passwd", "/etc/passwd", options).unwrap();
    assert!(refused(&writer.finish().unwrap().into_inner()).contains("is a link or a device"));

    let twice = zipped(&[("SKILL.md", form("bread").as_bytes()), ("references/a", b"1"), ("references/b", b"2")]);
    assert!(refused(&forged(twice, "references/b", "references/a")).contains("two entries of one name"));

    // Bit 0 of the flags, in the local header (at 6) and in the central one (at 8).
    let mut locked = zipped(&[("SKILL.md", form("bread").as_bytes())]);
    let central = locked.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    locked[6] |= 1;
    locked[central + 8] |= 1;
    assert!(refused(&locked).contains("is encrypted"));
}

#[test]
fn a_bomb_is_stopped_while_it_is_inflated() {
    let zeros = vec![b'a'; 20 * 1024 * 1024];
    let form_bomb = zipped(&[("SKILL.md", &zeros)]);
    assert!(form_bomb.len() < 100_000);
    assert!(refused(&form_bomb).contains("has more than 524288 bytes"));
    let file_bomb = zipped(&[("SKILL.md", form("bread").as_bytes()), ("references/a.md", &zeros)]);
    assert!(refused(&file_bomb).contains("has more than 262144 bytes"));
    let unread = zipped(&[("SKILL.md", form("bread").as_bytes()), ("assets/a.bin", &zeros)]);
    assert_eq!(unpack(&unread).unwrap().not_imported, ["assets/a.bin"], "what is not taken is not inflated");

    let part = vec![b'a'; 200 * 1024];
    let names: Vec<String> = (0..20).map(|n| format!("references/{n}.md")).collect();
    let skill = form("bread");
    let mut entries: Vec<(&str, &[u8])> = vec![("SKILL.md", skill.as_bytes())];
    entries.extend(names.iter().map(|name| (name.as_str(), part.as_slice())));
    assert!(refused(&zipped(&entries)).contains("is more than an archive of this size should hold"));
    let honest: Vec<u8> =
        (0..200 * 1024_u64).map(|n| b'a' + (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as u8).collect();
    for entry in &mut entries[1..] {
        entry.1 = &honest;
    }
    assert!(refused(&zipped(&entries)).contains("2097152 bytes together"));
    let many: Vec<String> = (0..101).map(|n| format!("references/{n}.md")).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![("SKILL.md", skill.as_bytes())];
    entries.extend(many.iter().map(|name| (name.as_str(), b"x".as_slice())));
    assert!(refused(&zipped(&entries)).contains("more than 100 files"));
    assert_eq!(unpack(&zipped(&entries[..101])).unwrap().skills[0].files.len(), 100);
}

#[test]
fn a_size_that_lies_is_not_believed() {
    let body = vec![b'a'; 300 * 1024];
    let mut bytes = zipped(&[("SKILL.md", form("bread").as_bytes()), ("references/a.md", &body)]);
    let size = u32::try_from(body.len()).unwrap().to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&size)).collect();
    for at in places {
        bytes[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    }
    let refused = refused(&bytes);
    assert!(
        refused.contains("bread") || refused.contains("has more than") || refused.contains("can't be read"),
        "{refused}"
    );
}

#[test]
fn what_is_no_archive_or_holds_no_skill_is_refused_with_words() {
    for bytes in [b"".as_slice(), b"PK", b"not a zip at all", b"PK\x05\x06"] {
        assert!(refused(bytes).contains("no zip archive"), "{bytes:?}");
    }
    assert_eq!(refused(&zipped(&[("README.md", b"x")])), "the archive holds no SKILL.md");
    assert_eq!(refused(&zipped(&[("xSKILL.md", b"x")])), "the archive holds no SKILL.md");
    let wrong = zipped(&[("cake/SKILL.md", form("bread").as_bytes())]);
    assert!(refused(&wrong).contains("its folder is called cake"));
    let names: Vec<String> = (0..51).map(|n| format!("s{n}/SKILL.md")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    assert!(refused(&zipped(&entries)).contains("more than 50 skills"));
    let names: Vec<String> = (0..2_001).map(|n| format!("{n}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    assert!(refused(&zipped(&entries)).contains("more than 2000 entries"));
    let mut damaged = zipped(&[("SKILL.md", form("bread").as_bytes())]);
    let data = 30 + "SKILL.md".len();
    damaged[data + 2] ^= 0xff;
    assert!(unpack(&damaged).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_the_importer_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(unpack(&bytes));
    }

    #[test]
    fn no_change_to_an_archive_makes_the_importer_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = zipped(&[("a/SKILL.md", form("a").as_bytes()), ("a/references/x.md", b"X"), ("a/scripts/", b"")]);
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        drop(unpack(&bytes));
    }
}
