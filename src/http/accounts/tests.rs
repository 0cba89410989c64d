use std::net::SocketAddr;

use axum::{body::Body, extract::ConnectInfo, middleware};
use hamlet_actors::vocabulary::Timestamp;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::{
    auth::{AccountsOptions, PlayerRole, SignUp, secret::Secret},
    http::error::render,
    store::{Store, accounts as rows},
};

struct Village {
    _dir: tempfile::TempDir,
    accounts: Accounts,
    router: Router,
}

struct Answer {
    status: u16,
    cookie: Option<String>,
    headers: http::HeaderMap,
    body: Value,
}

impl Answer {
    fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }
}

fn village() -> Village {
    village_with(AccountsOptions::default())
}

fn village_with(options: AccountsOptions) -> Village {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("hamlet.db")).unwrap();
    let accounts = Accounts::new(store, options);
    let router = routes::<Accounts>().with_state(accounts.clone()).layer(middleware::from_fn(render));
    Village { _dir: dir, accounts, router }
}

impl Village {
    async fn ask(&self, method: &str, path: &str, credential: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for line in credential.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        let body = if body.is_null() {
            Body::empty()
        } else {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        };
        let request = request.body(body).unwrap();
        read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Signs up and answers the header that the browser sends from then on.
    async fn sign_up(&self, name: &str) -> String {
        let body = json!({"name": name, "password": "correct horse"});
        let answer = self.ask("POST", "/api/auth/sign-up", "", body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        format!("cookie: {}", answer.cookie.unwrap())
    }

    /// Makes a Player as an admin would, with an API token.
    async fn player(&self, name: &str, role: PlayerRole) -> (String, String) {
        let player = self.accounts.add_player(name, None, role).await.unwrap();
        let (_, secret) = self.accounts.add_token(player.id, "test").await.unwrap();
        (player.id.to_string(), format!("authorization: Bearer {}", secret.token_text()))
    }

    async fn me(&self, credential: &str) -> u16 {
        self.ask("GET", "/api/me", credential, Value::Null).await.status
    }
}

async fn read(response: Response<Body>) -> Answer {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let cookie = headers.get("set-cookie").and_then(|cookie| cookie.to_str().ok());
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).map(str::to_owned);
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Answer { status, cookie, headers, body }
}

#[tokio::test]
async fn the_first_account_becomes_the_admin_and_closes_the_door() {
    let village = village();
    let open = village.ask("GET", "/api/auth/sign-up", "", Value::Null).await;
    assert_eq!(open.body, json!({"open": true, "policy": "invite", "first": true}));
    assert_eq!(open.headers["cache-control"], "no-store");
    assert_eq!(open.headers["referrer-policy"], "no-referrer");

    let ada = village.sign_up("Ada").await;
    let me = village.ask("GET", "/api/me", &ada, Value::Null).await.body;
    assert_eq!((&me["name"], &me["role"], &me["hasPassword"]), (&json!("Ada"), &json!("admin"), &json!(true)));

    let closed = village.ask("GET", "/api/auth/sign-up", "", Value::Null).await;
    assert_eq!(closed.body, json!({"open": false, "policy": "invite", "first": false}));
    let body = json!({"name": "Bo", "password": "correct horse"});
    let refused = village.ask("POST", "/api/auth/sign-up", "", body).await;
    assert_eq!(refused.code(), (403, "SIGN_UP_CLOSED"));
}

#[tokio::test]
async fn an_invitation_lets_one_player_in() {
    let village = village_with(AccountsOptions { sign_up: Some(SignUp::Invite), ..AccountsOptions::default() });
    let ada = village.sign_up("Ada").await;
    let invite = village.ask("POST", "/api/auth/invites", &ada, Value::Null).await;
    assert_eq!(invite.status, 201);
    let invite = invite.body["invite"].clone();
    let join = |name: &str, invite: &Value| json!({"name": name, "password": "correct horse", "invite": invite});
    let ask = async |body| village.ask("POST", "/api/auth/sign-up", "", body).await;

    assert_eq!(ask(join("Bo", &json!("nonsense"))).await.code(), (401, "INVALID_CREDENTIALS"));
    assert_eq!(ask(join("ADA", &invite)).await.code(), (409, "CONFLICT"));
    // The refusal above took nothing of the invitation.
    let bo = ask(join("Bo", &invite)).await;
    assert_eq!((bo.status, &bo.body["role"]), (201, &json!("player")));
    assert_eq!(ask(join("Cy", &invite)).await.code(), (401, "INVALID_CREDENTIALS"));

    let bo = format!("cookie: {}", bo.cookie.unwrap());
    assert_eq!(village.ask("POST", "/api/auth/invites", &bo, Value::Null).await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn signing_in_does_not_tell_which_of_name_and_password_is_wrong() {
    let village = village();
    village.sign_up("Ada").await;
    let ask = async |name: &str, password: &str| {
        village.ask("POST", "/api/auth/sign-in", "", json!({"name": name, "password": password})).await
    };
    let (wrong, unknown) = (ask("Ada", "wrong horse").await, ask("Eve", "wrong horse").await);
    assert_eq!(wrong.code(), (401, "INVALID_CREDENTIALS"));
    assert_eq!(wrong.code(), unknown.code());
    assert_eq!(wrong.body["error"]["message"], unknown.body["error"]["message"]);
    let right = ask(" aDa ", "correct horse").await;
    assert_eq!((right.status, &right.body["name"]), (200, &json!("Ada")));
    assert_eq!(village.me(&format!("cookie: {}", right.cookie.unwrap())).await, 200);
}

#[tokio::test]
async fn signing_out_ends_this_session_and_no_other() {
    let village = village();
    let here = village.sign_up("Ada").await;
    let body = json!({"name": "Ada", "password": "correct horse"});
    let there = village.ask("POST", "/api/auth/sign-in", "", body).await.cookie.unwrap();
    let out = village.ask("POST", "/api/auth/sign-out", &here, Value::Null).await;
    assert_eq!((out.status, out.cookie.as_deref()), (204, Some("hamlet_session=")));
    assert_eq!(village.me(&here).await, 401);
    assert_eq!(village.me(&format!("cookie: {there}")).await, 200);
    assert_eq!(village.ask("POST", "/api/auth/sign-out", &here, Value::Null).await.status, 204, "twice is once");
}

#[tokio::test]
async fn a_bearer_token_decides_whatever_the_cookie_is() {
    let village = village();
    let cookie = village.sign_up("Ada").await;
    let token = village.ask("POST", "/api/auth/tokens", &cookie, json!({"name": "laptop"})).await;
    assert_eq!(token.status, 201);
    let (id, text) = (token.body["id"].as_str().unwrap(), token.body["token"].as_str().unwrap());
    assert!(text.starts_with("hamlet_"));
    let bearer = format!("authorization: Bearer {text}");

    assert_eq!(village.me(&format!("cookie: hamlet_session=bad\n{bearer}")).await, 200);
    assert_eq!(village.me(&format!("{cookie}\nauthorization: Bearer hamlet_bad")).await, 401);
    assert_eq!(village.me(&format!("{cookie}\nauthorization: Basic eDp5")).await, 200);
    assert_eq!(village.me("").await, 401);

    let list = village.ask("GET", "/api/auth/tokens", &cookie, Value::Null).await.body;
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["token"]), (&json!("laptop"), &Value::Null));
    assert_eq!(village.ask("DELETE", &format!("/api/auth/tokens/{id}"), &bearer, Value::Null).await.status, 204);
    assert_eq!(village.me(&bearer).await, 401);
}

#[tokio::test]
async fn a_one_time_link_works_once_and_looking_at_it_uses_nothing() {
    let village = village();
    let link = village.accounts.first_link().await.unwrap().unwrap();
    let path = format!("/sign-in?token={}", link.text());
    assert_eq!(village.ask("HEAD", &path, "", Value::Null).await.status, 204);
    assert_eq!(village.ask("GET", &path, "sec-purpose: prefetch;prerender", Value::Null).await.status, 204);

    let entered = village.ask("GET", &path, "", Value::Null).await;
    assert_eq!((entered.status, &entered.headers["location"]), (303, &HeaderValue::from_static("/")));
    assert_eq!(entered.headers["referrer-policy"], "no-referrer");
    let me = village.ask("GET", "/api/me", &format!("cookie: {}", entered.cookie.unwrap()), Value::Null).await;
    assert_eq!((&me.body["role"], &me.body["hasPassword"]), (&json!("admin"), &json!(false)));

    let (late, id) = (Secret::generate().unwrap(), me.body["id"].as_str().unwrap().parse().unwrap());
    let hash = late.hash();
    let soon = Timestamp::now();
    village.accounts.change(move |conn| Ok(rows::add_login_link(conn, id, hash, soon)?)).await.unwrap();
    let late = format!("/sign-in?token={}", late.text());

    for used in [path.as_str(), late.as_str(), "/sign-in?token=nonsense"] {
        let again = village.ask("GET", used, "", Value::Null).await;
        assert_eq!((again.status, &again.headers["location"]), (303, &HeaderValue::from_static("/?sign-in=expired")));
        assert_eq!(again.cookie, None);
    }
    assert!(village.accounts.first_link().await.unwrap().is_none(), "somebody lives here now");
}

#[tokio::test]
async fn a_new_password_needs_the_current_one_and_ends_other_sessions() {
    let village = village();
    let here = village.sign_up("Ada").await;
    let body = json!({"name": "Ada", "password": "correct horse"});
    let there = format!("cookie: {}", village.ask("POST", "/api/auth/sign-in", "", body).await.cookie.unwrap());
    let patch = async |body| village.ask("PATCH", "/api/me", &here, body).await;
    assert_eq!(patch(json!({"password": "battery staple"})).await.code(), (401, "INVALID_CREDENTIALS"));
    let wrong = patch(json!({"password": "battery staple", "currentPassword": "wrong horse"})).await;
    assert_eq!(wrong.code(), (401, "INVALID_CREDENTIALS"));
    assert_eq!(village.me(&there).await, 200);
    let done = patch(json!({"password": "battery staple", "currentPassword": "correct horse", "name": "Ada L."})).await;
    assert_eq!((done.status, &done.body["name"]), (200, &json!("Ada L.")));
    assert_eq!((village.me(&here).await, village.me(&there).await), (200, 401));
}

#[tokio::test]
async fn a_player_without_a_password_sets_one_freely() {
    let village = village();
    let (_, bo) = village.player("Bo", PlayerRole::Player).await;
    let done = village.ask("PATCH", "/api/me", &bo, json!({"password": "battery staple"})).await;
    assert_eq!((done.status, &done.body["hasPassword"]), (200, &json!(true)));
}

#[tokio::test]
async fn only_admins_administer_and_the_last_one_stays() {
    let village = village();
    let (ada_id, ada) = village.player("Ada", PlayerRole::Admin).await;
    let (bo_id, bo) = village.player("Bo", PlayerRole::Player).await;
    for (method, path) in [("GET", "/api/users".to_owned()), ("DELETE", format!("/api/users/{ada_id}"))] {
        assert_eq!(village.ask(method, &path, &bo, Value::Null).await.code(), (403, "FORBIDDEN"));
    }
    for change in [json!({"role": "player"}), json!({"disabled": true})] {
        let refused = village.ask("PATCH", &format!("/api/users/{ada_id}"), &ada, change).await;
        assert_eq!(refused.code(), (409, "CONFLICT"));
        assert_eq!(refused.body["error"]["message"], "The last admin who can enter must stay one.");
    }
    let disabled = village.ask("PATCH", &format!("/api/users/{bo_id}"), &ada, json!({"disabled": true})).await;
    assert_eq!((disabled.status, &disabled.body["disabled"]), (200, &json!(true)));
    assert_eq!(village.me(&bo).await, 401);
    assert_eq!(village.ask("DELETE", &format!("/api/users/{bo_id}"), &ada, Value::Null).await.status, 204);
    assert_eq!(
        village.ask("DELETE", &format!("/api/users/{bo_id}"), &ada, Value::Null).await.code(),
        (404, "NOT_FOUND")
    );
}

#[tokio::test]
async fn users_are_listed_by_name_a_page_at_a_time() {
    let village = village();
    let (_, admin) = village.player("Mo", PlayerRole::Admin).await;
    for name in ["zoe", "Ada", "bo"] {
        let made = village.ask("POST", "/api/users", &admin, json!({"name": name})).await;
        assert_eq!((made.status, &made.body["role"]), (201, &json!("player")));
    }
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let page = village.ask("GET", &format!("/api/users?limit=3{after}"), &admin, Value::Null).await.body;
        names.extend(page["items"].as_array().unwrap().iter().map(|user| user["name"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["Ada", "bo", "Mo", "zoe"]);
}

#[tokio::test]
async fn the_eleventh_try_is_told_to_wait_and_other_addresses_are_not() {
    let village = village();
    let ask = async |address: [u8; 4]| {
        let mut request = Request::post("/api/auth/sign-in")
            .header("content-type", "application/json")
            .body(Body::from(json!({"name": "\n", "password": "x".repeat(2000)}).to_string()))
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from((address, 4711))));
        read(village.router.clone().oneshot(request).await.unwrap()).await
    };
    for _ in 0..10 {
        assert_eq!(ask([203, 0, 113, 1]).await.status, 401);
    }
    let refused = ask([203, 0, 113, 1]).await;
    assert_eq!(refused.code(), (429, "RATE_LIMITED"));
    assert!((1..=6).contains(&refused.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap()));
    assert_eq!(ask([203, 0, 113, 2]).await.status, 401);
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_has_tries_of_its_own() {
    let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let village = village_with(AccountsOptions { trusted_proxies, ..AccountsOptions::default() });
    let ask = async |client: &str| {
        let mut request =
            Request::get("/sign-in?token=x").header("x-forwarded-for", client).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 4711))));
        read(village.router.clone().oneshot(request).await.unwrap()).await.status
    };
    for _ in 0..10 {
        assert_eq!(ask("203.0.113.1").await, 303);
    }
    assert_eq!((ask("203.0.113.1").await, ask("203.0.113.2").await), (429, 303));
}

#[tokio::test]
async fn a_session_is_renewed_when_less_than_half_of_it_is_left() {
    let village = village();
    let cookie = village.sign_up("Ada").await;
    let expires = async || -> i64 {
        village
            .accounts
            .read(|conn| Ok(conn.query_row("SELECT expires_at FROM sessions", [], |row| row.get(0))?))
            .await
            .unwrap()
    };
    let fresh = expires().await;
    assert_eq!(village.me(&cookie).await, 200);
    assert_eq!(expires().await, fresh);
    let aged = fresh - crate::auth::accounts::SESSION * 2 / 3;
    village
        .accounts
        .change(move |conn| Ok(conn.execute("UPDATE sessions SET expires_at = ?1", [aged])?))
        .await
        .unwrap();
    assert_eq!(village.me(&cookie).await, 200);
    assert!(expires().await >= fresh);
}

#[tokio::test]
async fn bad_input_of_every_kind_is_refused_with_a_sentence() {
    let village = village();
    let (_, admin) = village.player("Ada", PlayerRole::Admin).await;
    let long = "x".repeat(65);
    let cases = [
        ("POST", "/api/users", json!({"name": " "}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": long}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": "a\u{7}"}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": 7}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": "Bo", "password": "short"}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": "Bo", "rolle": "admin"}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": "Bo", "role": "king"}), (400, "INVALID_BODY")),
        ("POST", "/api/users", json!({"name": "ada"}), (409, "CONFLICT")),
        ("POST", "/api/users", json!([]), (400, "INVALID_BODY")),
        ("POST", "/api/users", Value::Null, (415, "UNSUPPORTED_MEDIA_TYPE")),
        ("PATCH", "/api/users/nonsense", json!({}), (404, "NOT_FOUND")),
        ("PATCH", "/api/users/0199a0de-0000-7000-8000-000000000000", json!({}), (404, "NOT_FOUND")),
        ("GET", "/api/users?limit=0", Value::Null, (400, "INVALID_BODY")),
        ("GET", "/api/users?limit=x", Value::Null, (400, "INVALID_BODY")),
        ("GET", "/api/users?after=%20", Value::Null, (400, "INVALID_BODY")),
        ("GET", "/sign-in", Value::Null, (400, "INVALID_BODY")),
        ("POST", "/api/auth/tokens", json!({"name": ""}), (400, "INVALID_BODY")),
        ("DELETE", "/api/auth/tokens/1", Value::Null, (404, "NOT_FOUND")),
        ("PATCH", "/api/me", json!({"password": "x".repeat(1025)}), (400, "INVALID_BODY")),
        ("PATCH", "/api/me", json!({"role": "admin"}), (400, "INVALID_BODY")),
        ("PUT", "/api/me", json!({}), (405, "METHOD_NOT_ALLOWED")),
    ];
    for (method, path, body, expected) in cases {
        let answer = village.ask(method, path, &admin, body.clone()).await;
        assert_eq!(answer.code(), expected, "{method} {path} {body}");
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.ends_with('.') && message.chars().next().is_some_and(char::is_uppercase), "{message}");
    }
}

#[tokio::test]
async fn behind_https_the_cookie_is_secure_and_bound_to_the_host() {
    let public_url = "https://chat.example.com".parse().ok();
    let village = village_with(AccountsOptions { public_url, ..AccountsOptions::default() });
    let cookie = village.sign_up("Ada").await;
    assert!(cookie.starts_with("cookie: __Host-hamlet_session="), "{cookie}");
    assert_eq!(village.me(&cookie).await, u16::from(StatusCode::OK));
}
