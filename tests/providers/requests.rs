//! Request bodies, whole.

use hamlet::providers::{Quirks, openai_chat::request::body};
use hamlet_actors::{
    ports::{
        ModelRequest, RequestItem, ToolSpec,
        provider::{ReplayedReasoning, RequestedCall},
    },
    vocabulary::{ModelParams, Opaque},
};
use serde_json::json;
use url::Url;

fn written(request: &ModelRequest, quirks: &Quirks) -> String {
    String::from_utf8(body(request, quirks).unwrap()).unwrap()
}

fn bare(items: Vec<RequestItem>) -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "You are Ada.".into(),
        items,
        tools: Vec::new(),
        params: ModelParams::default(),
    }
}

#[test]
fn a_whole_history_with_tools_and_every_parameter() {
    let look = |id: &str| RequestedCall { id: id.into(), name: "look".into(), arguments: r#"{ "at":1 }"#.into() };
    let request = ModelRequest {
        tools: vec![ToolSpec {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type":"object"}),
        }],
        params: ModelParams {
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_output_tokens: Some(64),
            stop: Some(vec!["END".into()]),
            seed: Some(-7),
            reasoning_effort: Some("low".into()),
        },
        ..bare(vec![
            RequestItem::User { text: "Look \"around\"\n".into() },
            RequestItem::Assistant { text: "".into(), reasoning: None, calls: vec![look("a"), look("b")] },
            RequestItem::ToolResult { id: "a".into(), name: "look".into(), output: "a well".into(), is_error: false },
            RequestItem::ToolResult { id: "b".into(), name: "look".into(), output: "no light".into(), is_error: true },
            RequestItem::Assistant { text: "A well.".into(), reasoning: None, calls: vec![] },
            RequestItem::User { text: "And?".into() },
        ])
    };
    let call = |id: &str| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"look","arguments":"{{ \"at\":1 }}"}}}}"#)
    };
    let expected = [
        r#"{"model":"m","messages":[{"role":"system","content":"You are Ada."},{"role":"user","content":"Look \"around\"\n"},"#,
        &format!(r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}},"#, call("a"), call("b")),
        r#"{"role":"tool","tool_call_id":"a","content":"a well"},{"role":"tool","tool_call_id":"b","content":"no light"},"#,
        r#"{"role":"assistant","content":"A well."},{"role":"user","content":"And?"}],"#,
        r#""tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"#,
        r#""stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"top_p":0.9,"max_tokens":64,"#,
        r#""stop":["END"],"seed":-7,"reasoning_effort":"low"}"#,
    ]
    .concat();
    assert_eq!(written(&request, &Quirks::default()), expected);
}

#[test]
fn quirks_of_parameters() {
    let quirks = Quirks { max_completion_tokens: true, omit_stream_options: true, ..Quirks::default() };
    let mut request = bare(vec![RequestItem::User { text: "Hi".into() }]);
    request.params.max_output_tokens = Some(9);
    assert_eq!(
        written(&request, &quirks),
        r#"{"model":"m","messages":[{"role":"system","content":"You are Ada."},{"role":"user","content":"Hi"}],"stream":true,"max_completion_tokens":9}"#
    );
}

#[test]
fn reasoning_goes_back_only_where_it_is_wanted_and_under_its_own_name() {
    let messages = |field: Option<&str>, quirks: &Quirks, calls: Vec<RequestedCall>| {
        let opaque = Opaque { field: field.map(str::to_owned), signature: Some("s".into()), ..Opaque::default() };
        let reasoning = Some(ReplayedReasoning { text: "hm".into(), opaque });
        let request = bare(vec![RequestItem::Assistant { text: "So.".into(), reasoning, calls }]);
        let body: serde_json::Value = serde_json::from_str(&written(&request, quirks)).unwrap();
        body["messages"][1].clone()
    };
    let on = Quirks { replay_reasoning: true, ..Quirks::default() };
    let call = || vec![RequestedCall { id: "a".into(), name: "look".into(), arguments: "{}".into() }];
    let plain = json!({"role":"assistant","content":"So."});
    let tool_calls = json!([{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]);
    assert_eq!(messages(None, &on, vec![]), plain);
    assert_eq!(
        messages(Some("reasoning"), &Quirks::default(), call()),
        json!({"role":"assistant","content":"So.","tool_calls":tool_calls})
    );
    assert_eq!(
        messages(None, &on, call()),
        json!({"role":"assistant","content":"So.","reasoning_content":"hm","tool_calls":tool_calls})
    );
    assert_eq!(
        messages(Some("reasoning"), &on, call()),
        json!({"role":"assistant","content":"So.","reasoning":"hm","tool_calls":tool_calls})
    );
    assert_eq!(
        messages(Some("reasoning_details"), &on, call()),
        json!({"role":"assistant","content":"So.","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}],"tool_calls":tool_calls})
    );
}

#[test]
fn quirks_are_known_by_host_and_a_typo_in_them_is_heard() {
    let known = |url: &str| Quirks::known_of(&Url::parse(url).unwrap());
    assert!(known("https://api.openai.com/v1").max_completion_tokens);
    assert!(known("https://api.deepseek.com").replay_reasoning);
    assert!(known("https://api.mistral.ai/v1").omit_stream_options);
    assert_eq!(known("https://notopenai.com/v1"), Quirks::default());
    assert_eq!(known("http://127.0.0.1:11434/v1"), Quirks::default());
    let read = serde_json::from_value::<Quirks>;
    assert!(read(json!({"thinkTags": true})).unwrap().think_tags);
    assert!(read(json!({"thinktags": true})).is_err());
}
