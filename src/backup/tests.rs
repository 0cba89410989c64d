use rusqlite::Connection;

use super::*;
use crate::store::Store;

fn folder() -> (tempfile::TempDir, DataFolder) {
    let dir = tempfile::tempdir().unwrap();
    let data = DataFolder::new(dir.path().join("data"));
    data.create().unwrap();
    (dir, data)
}

fn village() -> (tempfile::TempDir, DataFolder, Store) {
    let (dir, data) = folder();
    let store = Store::open(&data.store()).unwrap();
    fs::write(data.key_file(), "key of iron").unwrap();
    fs::create_dir_all(data.uploads().join("ab")).unwrap();
    fs::write(data.uploads().join("ab/file"), "uploaded").unwrap();
    fs::create_dir_all(data.skills().join("bread/references")).unwrap();
    fs::write(data.skills().join("bread/SKILL.md"), "skill").unwrap();
    fs::write(data.skills().join("bread/references/flour.md"), "rye").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", data.skills().join("bread/link")).unwrap();
    (dir, data, store)
}

/// Long enough to have pages of its own, which are free once it is taken out.
fn sealed() -> Vec<u8> {
    b"sealed treasure".repeat(2000)
}

async fn write_provider(store: &Store) {
    let sql = "INSERT INTO providers (id, name, kind, base_url, api_key, created_at, updated_at)
               VALUES (zeroblob(16), 'P', 'openai-chat', '', ?1, 0, 0)";
    store.write(move |conn| Ok(conn.execute(sql, [sealed()])?)).await.unwrap();
}

fn api_key(data: &DataFolder) -> Option<Vec<u8>> {
    Connection::open(data.store()).unwrap().query_row("SELECT api_key FROM providers", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_backup_of_a_running_village_restores_into_an_empty_folder() {
    let (dir, data, store) = village();
    write_provider(&store).await;
    let file = dir.path().join("village.tar");
    write(&data, &file, Secrets::With).unwrap();
    assert!(matches!(write(&data, &file, Secrets::With), Err(BackupError::TargetExists(_))));

    let (_other, fresh) = folder();
    assert_eq!(restore(&fresh, &file, Existing::Refuse).unwrap(), None);
    assert_eq!(api_key(&fresh).unwrap(), sealed());
    assert_eq!(fs::read_to_string(fresh.key_file()).unwrap(), "key of iron");
    assert_eq!(fs::read_to_string(fresh.uploads().join("ab/file")).unwrap(), "uploaded");
    assert_eq!(fs::read_to_string(fresh.skills().join("bread/references/flour.md")).unwrap(), "rye");
    assert!(!fresh.skills().join("bread/link").exists(), "no backup has a link");
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "village.tar"], "no working folder is left");
    Store::open(&fresh.store()).unwrap();
}

#[tokio::test]
async fn skills_that_lie_where_a_backup_is_restored_are_moved_aside() {
    let (dir, data, _store) = village();
    let file = dir.path().join("village.tar");
    write(&data, &file, Secrets::With).unwrap();
    let (_other, fresh) = folder();
    fs::create_dir_all(fresh.skills().join("mine")).unwrap();
    let aside = restore(&fresh, &file, Existing::Refuse).unwrap().unwrap();
    assert!(aside.join("skills/mine").is_dir() && !fresh.skills().join("mine").exists());
    assert!(fresh.skills().join("bread/SKILL.md").exists() && fresh.store().exists());
}

#[tokio::test]
async fn without_secrets_neither_the_key_file_nor_a_sealed_key_is_in_the_file() {
    let (dir, data, store) = village();
    write_provider(&store).await;
    let file = dir.path().join("village.tar");
    write(&data, &file, Secrets::Without).unwrap();
    let bytes = fs::read(&file).unwrap();
    for secret in [&b"sealed treasure"[..], b"key of iron"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
    let (_other, fresh) = folder();
    restore(&fresh, &file, Existing::Refuse).unwrap();
    assert_eq!(api_key(&fresh), None);
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let (dir, data, _store) = village();
    let file = dir.path().join("village.tar");
    write(&data, &file, Secrets::With).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_restore_touches_no_store_unless_it_is_told_to_and_then_moves_it_aside() {
    let (dir, data, store) = village();
    let file = dir.path().join("village.tar");
    write(&data, &file, Secrets::With).unwrap();
    write_provider(&store).await;
    drop(store);

    assert!(matches!(restore(&data, &file, Existing::Refuse), Err(BackupError::StoreExists(_))));
    let server = data.lock().unwrap();
    let refused = restore(&data, &file, Existing::MoveAside);
    assert!(matches!(refused, Err(BackupError::Folder(DataFolderError::InUse(_)))), "{refused:?}");
    drop(server);

    let aside = restore(&data, &file, Existing::MoveAside).unwrap().unwrap();
    let providers = |path: PathBuf| -> i64 {
        Connection::open(path).unwrap().query_row("SELECT count(*) FROM providers", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((providers(data.store()), providers(aside.join(STORE))), (0, 1));
    assert!(aside.join(KEY).exists() && aside.join(UPLOADS).join("ab/file").exists());
}

#[tokio::test]
async fn what_is_no_backup_changes_nothing() {
    let (dir, data, store) = village();
    drop(store);
    let file = dir.path().join("other");
    let tar_of = |names: &[&str]| {
        let mut archive = Builder::new(File::create(&file).unwrap());
        for name in names {
            let mut header = tar::Header::new_gnu();
            header.set_size(4);
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, &b"text"[..]).unwrap();
        }
        archive.finish().unwrap();
    };
    let refused = || restore(&data, &file, Existing::MoveAside).unwrap_err().to_string();

    fs::write(&file, "no tar at all, but a text that is longer than a header is, ".repeat(20)).unwrap();
    assert!(refused().contains("is no backup of Hamlet"));
    tar_of(&["uploads/x"]);
    assert!(refused().contains("it has no store"));
    tar_of(&["hamlet.db", "../outside"]);
    assert!(refused().contains("an entry that no backup has"));
    tar_of(&["uploads/../../outside"]);
    assert!(refused().contains("an entry that no backup has"));
    tar_of(&["hamlet.db"]);
    refused();
    assert!(!dir.path().join("outside").exists());
    assert_eq!(fs::read_to_string(data.key_file()).unwrap(), "key of iron");
    check(&data.store()).unwrap();
}
