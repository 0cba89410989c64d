//! Skills of the data folder, from the start of the server on.

use std::{fs, sync::Arc};

use hamlet_test_support::TestServer;
use http::StatusCode;
use serde_json::json;

#[tokio::test]
async fn skills_of_the_data_folder_are_there_at_start_and_a_broken_one_stops_nothing() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let skills = folder.path().join("skills");
    fs::create_dir_all(skills.join("bread/references")).unwrap();
    fs::create_dir_all(skills.join("cake")).unwrap();
    fs::write(skills.join("bread/SKILL.md"), "---\nname: bread\ndescription: Bakes.\n---\nKnead.\n").unwrap();
    fs::write(skills.join("bread/references/flour.md"), "Rye.").unwrap();
    fs::write(skills.join("cake/SKILL.md"), "nothing").unwrap();
    let server = TestServer::over(folder, Default::default(), Default::default()).await;
    let list = server.admin.get("/api/skills").await.expect(StatusCode::OK).await;
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["folder"]), (&json!("bread"), &json!("bread")));
    assert_eq!(list["problems"][0]["folder"], "cake");
    let id = list["items"][0]["id"].as_str().unwrap();
    let file = server.admin.get(&format!("/api/skills/{id}/files/references/flour.md")).await.0;
    assert_eq!(file.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(file.headers()["x-content-type-options"], "nosniff");
    assert_eq!(file.text().await.unwrap(), "Rye.");

    fs::write(skills.join("bread/SKILL.md"), "---\nname: bread\ndescription: Bakes well.\n---\nKnead.\n").unwrap();
    let server = server.restarted().await;
    let list = server.admin.get("/api/skills").await.expect(StatusCode::OK).await;
    assert_eq!((&list["items"][0]["id"], &list["items"][0]["description"]), (&json!(id), &json!("Bakes well.")));
}
