use hamlet_actors::vocabulary::Timestamp;

use super::*;
use crate::auth::{
    PlayerRole,
    accounts::new_player,
    name::PlayerName,
    secret::{Secret, SecretHash},
};

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn village() -> (tempfile::TempDir, Connection) {
    let dir = tempfile::tempdir().unwrap();
    let conn = open_for_admin(&dir.path().join("hamlet.db")).unwrap();
    (dir, conn)
}

fn player(conn: &Connection, name: &str, role: PlayerRole) -> Player {
    add(conn, &new_player(PlayerName::new(name).unwrap(), role)).unwrap()
}

fn secret() -> SecretHash {
    Secret::generate().unwrap().hash()
}

fn in_millis(millis: i64) -> Timestamp {
    now().plus_millis(millis)
}

#[test]
fn two_players_never_differ_by_case_alone() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let bo = player(&conn, "Bo", PlayerRole::Player);
    let taken = PlayerName::new("aDA").unwrap();
    assert!(matches!(add(&conn, &new_player(taken.clone(), PlayerRole::Player)), Err(AccountError::NameTaken(_))));
    assert!(matches!(rename(&conn, bo.id, &taken), Err(AccountError::NameTaken(_))));
    rename(&conn, ada.id, &taken).unwrap();
    assert_eq!(find_by_name(&conn, &PlayerName::new("ada").unwrap()).unwrap().unwrap().name, "aDA");
}

#[test]
fn the_last_admin_who_can_enter_stays() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Admin);
    let bo = player(&conn, "Bo", PlayerRole::Admin);
    let disabled = Change { disabled: Some(true), ..Change::default() };
    let demoted = Change { role: Some(PlayerRole::Player), ..Change::default() };
    change(&conn, bo.id, &disabled).unwrap();
    for refused in [change(&conn, ada.id, &disabled), change(&conn, ada.id, &demoted)] {
        assert!(matches!(refused, Err(AccountError::LastAdmin)), "{refused:?}");
    }
    assert!(matches!(delete(&conn, ada.id), Err(AccountError::LastAdmin)));
    change(&conn, bo.id, &Change { disabled: Some(false), ..Change::default() }).unwrap();
    assert_eq!(change(&conn, ada.id, &demoted).unwrap().role, PlayerRole::Player);
    delete(&conn, ada.id).unwrap();
    assert!(matches!(delete(&conn, bo.id), Err(AccountError::LastAdmin)));
}

#[test]
fn a_player_who_owns_conversations_is_not_deleted() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    conn.execute(
        "INSERT INTO conversations (id, owner_id, created_at, updated_at) VALUES (zeroblob(16), ?1, 0, 0)",
        [ada.id.0.as_bytes()],
    )
    .unwrap();
    assert!(matches!(delete(&conn, ada.id), Err(AccountError::OwnsConversations(1))));
    assert!(find(&conn, ada.id).unwrap().is_some());
}

#[test]
fn a_session_is_good_until_it_expires_and_while_its_player_is_enabled() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let hash = secret();
    start_session(&conn, ada.id, hash, now(), in_millis(1000)).unwrap();
    assert_eq!(session(&conn, hash, in_millis(999)).unwrap().unwrap().player, ada);
    assert_eq!(session(&conn, hash, in_millis(1000)).unwrap(), None);
    assert_eq!(session(&conn, secret(), now()).unwrap(), None);
    renew_session(&conn, hash, in_millis(5000)).unwrap();
    assert!(session(&conn, hash, in_millis(1000)).unwrap().is_some());
    change(&conn, ada.id, &Change { disabled: Some(true), ..Change::default() }).unwrap();
    assert_eq!(session(&conn, hash, now()).unwrap(), None);
    change(&conn, ada.id, &Change { disabled: Some(false), ..Change::default() }).unwrap();
    assert_eq!(session(&conn, hash, now()).unwrap(), None, "enabling brings no old session back");
}

#[test]
fn beginning_a_session_clears_what_has_expired_and_keeps_the_newest_fifty() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let old = secret();
    start_session(&conn, ada.id, old, now(), in_millis(1)).unwrap();
    add_login_link(&conn, ada.id, secret(), in_millis(1)).unwrap();
    add_invite(&conn, ada.id, secret(), in_millis(1)).unwrap();
    let mut last = old;
    for n in 0..60 {
        last = secret();
        start_session(&conn, ada.id, last, in_millis(10 + n), in_millis(9000)).unwrap();
    }
    let count = |table: &str| -> i64 {
        conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("sessions"), count("login_links"), count("invites")), (50, 0, 0));
    assert!(session(&conn, last, in_millis(100)).unwrap().is_some());
}

#[test]
fn a_new_password_ends_every_session_but_the_one_that_set_it() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let (here, there) = (secret(), secret());
    for hash in [here, there] {
        start_session(&conn, ada.id, hash, now(), in_millis(1000)).unwrap();
    }
    set_password(&conn, ada.id, "hash", Some(here)).unwrap();
    assert!(session(&conn, here, now()).unwrap().is_some());
    assert_eq!(session(&conn, there, now()).unwrap(), None);
    set_password(&conn, ada.id, "hash", None).unwrap();
    assert_eq!(session(&conn, here, now()).unwrap(), None);
}

#[test]
fn a_login_link_works_once_and_not_too_late() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let (good, late) = (secret(), secret());
    add_login_link(&conn, ada.id, good, in_millis(1000)).unwrap();
    add_login_link(&conn, ada.id, late, in_millis(1000)).unwrap();
    assert_eq!(use_login_link(&conn, good, now()).unwrap(), Some(ada));
    assert_eq!(use_login_link(&conn, good, now()).unwrap(), None);
    assert_eq!(use_login_link(&conn, late, in_millis(1000)).unwrap(), None);
}

#[test]
fn a_token_is_its_players_alone_to_delete_and_there_are_a_hundred_at_most() {
    let (_dir, conn) = village();
    let ada = player(&conn, "Ada", PlayerRole::Player);
    let bo = player(&conn, "Bo", PlayerRole::Player);
    let hash = secret();
    let token = |name: &str| ApiToken { id: uuid::Uuid::now_v7(), name: name.to_owned(), created_at: now() };
    let first = token("first");
    add_token(&conn, ada.id, hash, &first).unwrap();
    assert_eq!(player_of_token(&conn, hash).unwrap(), Some((ada.clone(), first.id)));
    assert!(matches!(delete_token(&conn, bo.id, first.id), Err(StoreError::NotFound)));
    delete_token(&conn, ada.id, first.id).unwrap();
    assert_eq!(player_of_token(&conn, hash).unwrap(), None);
    for _ in 0..TOKENS_AT_MOST {
        add_token(&conn, ada.id, secret(), &token("more")).unwrap();
    }
    assert!(matches!(add_token(&conn, ada.id, secret(), &token("one more")), Err(AccountError::TooManyTokens)));
}

#[test]
fn the_first_account_becomes_admin_in_the_place_of_the_one_that_waited() {
    let (_dir, mut conn) = village();
    let new = |name: &str| new_player(PlayerName::new(name).unwrap(), PlayerRole::Player);
    let admin = NewPlayer { role: PlayerRole::Admin, ..new("admin") };
    let waiting = add_first(&conn, &admin).unwrap().unwrap();
    assert_eq!(add_first(&conn, &admin).unwrap(), Some(waiting), "the same one waits at the next start");
    assert!(!is_claimed(&conn).unwrap());
    let ada = sign_up(&conn, &new("Ada"), None, SignUp::Closed).unwrap();
    assert_eq!(ada.role, PlayerRole::Admin);
    assert_eq!(find(&conn, waiting).unwrap(), None);
    assert_eq!(add_first(&conn, &admin).unwrap(), None);
    for policy in [SignUp::Closed, SignUp::Invite] {
        assert!(matches!(sign_up(&conn, &new("Bo"), None, policy), Err(AccountError::SignUpClosed)));
    }
    assert_eq!(sign_up(&conn, &new("Bo"), None, SignUp::Open).unwrap().role, PlayerRole::Player);

    let invite = secret();
    add_invite(&conn, ada.id, invite, Timestamp::now().plus_millis(60_000)).unwrap();
    let refused = in_transaction(&mut conn, |conn| sign_up(conn, &new("BO"), Some(invite), SignUp::Invite));
    assert!(matches!(refused, Err(AccountError::NameTaken(_))));
    sign_up(&conn, &new("Cy"), Some(invite), SignUp::Invite).unwrap();
    let again = sign_up(&conn, &new("Di"), Some(invite), SignUp::Invite);
    assert!(matches!(again, Err(AccountError::InvalidInvite)), "an invitation lets one Player in");
}

#[test]
fn entering_the_first_account_by_its_link_claims_the_village() {
    let (_dir, conn) = village();
    let admin = new_player(PlayerName::new("admin").unwrap(), PlayerRole::Admin);
    let waiting = add_first(&conn, &admin).unwrap().unwrap();
    start_session(&conn, waiting, secret(), now(), in_millis(1000)).unwrap();
    assert!(is_claimed(&conn).unwrap());
    delete_expired(&conn, in_millis(2000)).unwrap();
    assert!(is_claimed(&conn).unwrap(), "also after the session has expired");
}

#[test]
fn sign_up_is_by_invitation_until_somebody_decides_otherwise() {
    let (_dir, conn) = village();
    assert_eq!(sign_up_policy(&conn).unwrap(), SignUp::Invite);
    conn.execute("INSERT INTO settings (name, value) VALUES ('signUp', '\"open\"')", []).unwrap();
    assert_eq!(sign_up_policy(&conn).unwrap(), SignUp::Open);
    conn.execute("UPDATE settings SET value = '\"maybe\"'", []).unwrap();
    assert!(matches!(sign_up_policy(&conn), Err(StoreError::Damaged(_))));
}

#[test]
fn an_administrative_command_changes_no_older_and_no_newer_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hamlet.db");
    let conn = open_for_admin(&path).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(open_for_admin(&path), Err(StoreError::Newer { .. })));
}
