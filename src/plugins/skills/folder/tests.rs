use std::os::unix::fs::symlink;

use super::*;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn form(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n")
}

fn names(scan: &Scan) -> Vec<&str> {
    scan.skills.iter().map(|(folder, _)| folder.as_str()).collect()
}

fn problems(scan: &Scan) -> Vec<(&str, &str)> {
    scan.problems.iter().map(|problem| (problem.folder.as_str(), problem.message.as_str())).collect()
}

#[test]
fn a_folder_that_is_not_there_holds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(scan(&dir.path().join("skills")), Ok(Scan::default()));
    put(dir.path(), "file", "x");
    assert!(scan(&dir.path().join("file")).is_err());
}

#[test]
fn each_folder_is_a_skill_and_a_broken_one_stops_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    put(root, "bread/SKILL.md", &form("bread"));
    put(root, "bread/references/flour.md", "Rye.");
    put(root, "bread/scripts/run.sh", "exit 1");
    put(root, "cake/SKILL.md", &form("bread"));
    put(root, "empty/README.md", "x");
    put(root, "soup/SKILL.md", &form("soup"));
    put(root, "README.md", "x");
    put(root, ".git/config", "x");
    let scan = scan(root).unwrap();
    assert_eq!(names(&scan), ["bread", "soup"]);
    assert_eq!(scan.skills[0].1.files.keys().collect::<Vec<_>>(), ["references/flour.md"]);
    let told = [
        ("cake", "SKILL.md names the skill bread, and its folder is called cake"),
        ("empty", "it has no SKILL.md that is a file"),
    ];
    assert_eq!(problems(&scan), told);
}

#[test]
fn links_are_not_followed() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = dir.path();
    put(outside.path(), "bread/SKILL.md", &form("bread"));
    put(outside.path(), "secret.md", "secret");
    symlink(outside.path().join("bread"), root.join("bread")).unwrap();
    fs::create_dir(root.join("cake")).unwrap();
    symlink(outside.path().join("secret.md"), root.join("cake/SKILL.md")).unwrap();
    put(root, "soup/SKILL.md", &form("soup"));
    fs::create_dir(root.join("soup/references")).unwrap();
    symlink(outside.path().join("secret.md"), root.join("soup/references/a.md")).unwrap();
    symlink(outside.path(), root.join("soup/references/all")).unwrap();
    symlink(root.join("soup"), root.join("soup/references/loop")).unwrap();
    let scan = scan(root).unwrap();
    assert_eq!(names(&scan), ["soup"]);
    assert!(scan.skills[0].1.files.is_empty());
    let told =
        [("bread", "it is a symbolic link, which is not followed"), ("cake", "it has no SKILL.md that is a file")];
    assert_eq!(problems(&scan), told);
}

#[test]
fn depth_and_number_of_files_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "deep/SKILL.md", &form("deep"));
    put(dir.path(), "deep/a/b/c/d/e/f/g/h/i/x", "x");
    put(dir.path(), "many/SKILL.md", &form("many"));
    for n in 0..1_000 {
        put(dir.path(), &format!("many/assets/{n}"), "");
    }
    let scan = scan(dir.path()).unwrap();
    let told = [("deep", "it has folders more than 8 deep"), ("many", "it has more than 1000 files and folders")];
    assert_eq!(problems(&scan), told);
}

#[test]
fn the_texts_of_all_folders_are_bounded_together() {
    let dir = tempfile::tempdir().unwrap();
    let text = "x".repeat(250 * 1024);
    for n in 10..30 {
        put(dir.path(), &format!("s{n}/SKILL.md"), &form(&format!("s{n}")));
        for file in 0..8 {
            put(dir.path(), &format!("s{n}/references/{file}.md"), &text);
        }
    }
    let scan = scan(dir.path()).unwrap();
    assert_eq!((scan.skills.len(), scan.problems.len()), (16, 4));
    assert!(scan.problems[0].message.contains("no more is read"), "{:?}", scan.problems);
}
