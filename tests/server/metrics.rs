use std::collections::HashMap;

use hamlet_test_support::{Client, SCRAPER, TestServer};
use reqwest::{Method, StatusCode, header};
use serde_json::json;

/// Every series with its value, as a scraper reads them; each must have a type, and none may come twice.
async fn scrape(server: &TestServer) -> HashMap<String, f64> {
    let answer = server.admin.get("/metrics").await;
    assert_eq!(answer.0.headers()[header::CONTENT_TYPE], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.0.text().await.unwrap();
    let (mut types, mut series) = (Vec::new(), HashMap::new());
    for line in text.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            types.push(typed.split_once(' ').unwrap().0.to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let bare = name.split('{').next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| bare.strip_suffix(suffix));
            let typed = |name: &str| types.iter().any(|known| known == name);
            assert!(typed(bare) || base.is_some_and(typed), "{line} has no type");
            assert_eq!(series.insert(name.to_owned(), value.parse().unwrap()), None, "{line} comes twice");
        }
    }
    series
}

async fn answered(server: &TestServer, id: &str) {
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Hello ");
    stream.until_text("Hello ").await;
    script.text("there.");
    script.usage(7, 3);
    script.finish();
    stream.to_end().await;
}

#[tokio::test]
async fn turns_are_counted_by_how_they_ended_and_calls_by_model_and_tokens() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id).await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.fail();
    stream.to_end().await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    server.admin.post(&format!("/api/conversations/{id}/abort"), json!({})).await.expect(StatusCode::OK).await;

    let series = scrape(&server).await;
    let model = r#"gen_ai_operation_name="chat",gen_ai_provider_name="Scripted",gen_ai_request_model="rehearsal""#;
    for (name, expected) in [
        (r#"hamlet_turns_total{outcome="complete",code=""}"#.to_owned(), 1.0),
        (r#"hamlet_turns_total{outcome="failed",code="PROVIDER_ERROR"}"#.to_owned(), 1.0),
        (r#"hamlet_turns_total{outcome="aborted",code=""}"#.to_owned(), 1.0),
        ("hamlet_turns_admitted_total".to_owned(), 3.0),
        ("hamlet_turn_duration_seconds_count".to_owned(), 3.0),
        ("hamlet_time_to_first_token_seconds_count".to_owned(), 2.0),
        ("hamlet_added_latency_seconds_count".to_owned(), 2.0),
        (format!(r#"gen_ai_client_token_usage_sum{{{model},gen_ai_token_type="input"}}"#), 7.0),
        (format!(r#"gen_ai_client_token_usage_sum{{{model},gen_ai_token_type="output"}}"#), 3.0),
        (format!(r#"gen_ai_client_operation_duration_seconds_count{{{model},error_type=""}}"#), 1.0),
        (format!(r#"gen_ai_client_operation_duration_seconds_count{{{model},error_type="PROVIDER_ERROR"}}"#), 1.0),
        (format!(r#"gen_ai_client_operation_duration_seconds_count{{{model},error_type="cancelled"}}"#), 1.0),
        (format!(r#"gen_ai_client_operation_time_to_first_chunk_seconds_count{{{model}}}"#), 2.0),
    ] {
        assert_eq!(series.get(&name), Some(&expected), "{name}: {series:#?}");
    }
}

#[tokio::test]
async fn a_turn_that_was_steered_is_one_turn_and_a_text_that_was_withdrawn_is_none() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let (first, second) = (server.provider.expect(), server.provider.expect());
    let mut stream = server.admin.stream(&path, json!({"text": "Hi"})).await;
    first.text("Half");
    stream.until_text("Half").await;
    let later = json!({"text": "Later", "onBusy": "enqueue"});
    let queued = server.admin.post(&path, later).await.expect(StatusCode::ACCEPTED).await;
    let withdraw = json!({"turnId": queued["turnId"]});
    server.admin.post(&format!("/api/conversations/{id}/abort"), withdraw).await.expect(StatusCode::OK).await;
    let steer = json!({"text": "Shorter!", "onBusy": "steer"});
    server.admin.post(&path, steer).await.expect(StatusCode::ACCEPTED).await;
    first.finish();
    second.text("Yes.");
    second.finish();
    stream.to_end().await;
    let series = scrape(&server).await;
    let turns: Vec<_> = series.iter().filter(|(name, _)| name.starts_with("hamlet_turns_total")).collect();
    assert_eq!(turns.iter().map(|(_, count)| **count).sum::<f64>(), 1.0, "{turns:?}");
    for (name, expected) in [
        ("hamlet_turns_admitted_total", 1.0),
        ("hamlet_turn_duration_seconds_count", 1.0),
        ("hamlet_time_to_first_token_seconds_count", 1.0),
        ("hamlet_added_latency_seconds_count", 2.0),
    ] {
        assert_eq!(series[name], expected, "{name}");
    }
}

#[tokio::test]
async fn what_waits_is_added_up_over_all_conversations() {
    let server = TestServer::start().await;
    let mut running = Vec::new();
    for waiting in [1, 2] {
        let path = format!("/api/conversations/{}/messages", server.conversation().await);
        running.push(server.provider.expect());
        server.admin.post(&path, json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
        for n in 0..waiting {
            let later = json!({"text": format!("Later {n}"), "onBusy": "enqueue"});
            server.admin.post(&path, later).await.expect(StatusCode::ACCEPTED).await;
        }
    }
    assert_eq!(scrape(&server).await["hamlet_queue_length"], 3.0);
}

#[tokio::test]
async fn the_store_the_process_and_requests_are_counted_under_bounded_labels() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id).await;
    server.admin.get(&format!("/api/conversations/{id}")).await.expect(StatusCode::OK).await;
    server.admin.get("/api/conversations/junk").await.expect(StatusCode::NOT_FOUND).await;
    server.admin.get("/nothing/here").await.expect(StatusCode::NOT_FOUND).await;
    let series = scrape(&server).await;
    let route = r#"method="GET",route="/api/conversations/{id}""#;
    for (name, expected) in [
        (format!(r#"hamlet_http_requests_total{{{route},status="2xx"}}"#), 1.0),
        (format!(r#"hamlet_http_requests_total{{{route},status="4xx"}}"#), 1.0),
        (r#"hamlet_http_requests_total{method="GET",route="other",status="4xx"}"#.to_owned(), 1.0),
        (r#"hamlet_refusals_total{code="NOT_FOUND"}"#.to_owned(), 2.0),
        ("hamlet_commit_failures_total".to_owned(), 0.0),
        (format!(r#"hamlet_build_info{{version="{}",schema="3"}}"#, env!("CARGO_PKG_VERSION")), 1.0),
    ] {
        assert_eq!(series.get(&name), Some(&expected), "{name}: {series:#?}");
    }
    let commits = series["hamlet_commit_duration_seconds_count"];
    assert!(commits > 3.0, "{commits}");
    assert_eq!(series["hamlet_commit_jobs_count"], commits);
    assert!(series["hamlet_commit_rows_sum"] > commits, "more than a row a commit, in this story");
    for name in [
        "hamlet_commit_duration_seconds_sum",
        "hamlet_store_size_bytes",
        "hamlet_wal_size_bytes",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_cpu_seconds_total",
    ] {
        assert!(series[name] > 0.0, "{name}");
    }
    let text = format!("{series:?}");
    assert!(!text.contains(&id) && !text.contains("nothing/here"), "{text}");
}

#[tokio::test]
async fn a_turn_that_recovery_ended_counts_as_interrupted() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    let next = server.killed_and_restarted().await;
    let series = scrape(&next).await;
    assert_eq!(series[r#"hamlet_turns_total{outcome="interrupted",code="INTERRUPTED"}"#], 1.0);
}

#[tokio::test]
async fn only_an_admin_and_the_scrapers_own_token_read_metrics_and_that_token_opens_nothing_else() {
    let server = TestServer::start().await;
    let stranger = Client::new(server.address);
    assert_eq!(stranger.get("/metrics").await.refused(StatusCode::UNAUTHORIZED).await, "UNAUTHENTICATED");
    let player = server.player("Quill").await;
    assert_eq!(player.get("/metrics").await.refused(StatusCode::FORBIDDEN).await, "FORBIDDEN");
    let with_token = |path: &str, token: &str| {
        stranger.request(Method::GET, path).header(header::AUTHORIZATION, format!("Bearer {token}")).send()
    };
    assert_eq!(with_token("/metrics", SCRAPER).await.unwrap().status(), StatusCode::OK);
    assert_eq!(with_token("/metrics", "some other token").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(with_token("/api/me", SCRAPER).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let made = server.admin.post("/api/auth/tokens", json!({"name": "scrape"})).await.expect(StatusCode::CREATED).await;
    assert_eq!(with_token("/metrics", made["token"].as_str().unwrap()).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn two_servers_in_one_process_count_for_themselves() {
    let (busy, quiet) = (TestServer::start().await, TestServer::start().await);
    let id = busy.conversation().await;
    answered(&busy, &id).await;
    let admitted = "hamlet_turns_admitted_total";
    assert_eq!((scrape(&busy).await[admitted], scrape(&quiet).await[admitted]), (1.0, 0.0));
}

#[tokio::test]
async fn what_waits_where_nobody_is_awake_is_counted_and_listed() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    let later = json!({"text": "Later", "onBusy": "enqueue"});
    server.admin.post(&path, later).await.expect(StatusCode::ACCEPTED).await;
    let server = server.restarted().await;
    let _watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    let series = scrape(&server).await;
    assert_eq!((series["hamlet_queue_length"], series["hamlet_texts_waiting"]), (0.0, 1.0));
    let listed = server.admin.get("/admin/actors").await.expect(StatusCode::OK).await;
    let one = server.admin.get(&format!("/admin/actors/{id}")).await.expect(StatusCode::OK).await;
    for seen in [&listed["items"][0], &one] {
        assert_eq!((&seen["state"], &seen["queue"]), (&json!("asleep"), &json!(1)));
    }
}
