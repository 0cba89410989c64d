//! Errors inside a success, in every shape they come in. None of these may look complete.

use super::{Case, events, finished, unfinished};

const HALF: &[&str] = &[r#"{"content":"Half a"}"#];

fn after_half(name: &'static str, chunk: &str, failure: &str) -> Case {
    let bytes = unfinished(HALF) + &events(&[chunk]) + &finished(&[], "stop");
    Case::new(name, bytes, &["text: Half a"], "failed").failing(failure)
}

pub fn cases() -> Vec<Case> {
    vec![
        after_half(
            "an error beside choices",
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":"server_error","message":"upstream went away"}}"#,
            "Server true the Provider reported an error: upstream went away",
        ),
        after_half(
            "an error that is a word",
            r#"{"error":"out of memory"}"#,
            "Unknown false the Provider reported an error: out of memory",
        ),
        after_half(
            "an error with a status for its code",
            r#"{"error":{"code":429,"message":"slow down"}}"#,
            "RateLimit true the Provider reported an error: slow down",
        ),
        after_half(
            "an error of an empty account",
            r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"top up"}}"#,
            "Billing false the Provider reported an error: top up",
        ),
        after_half(
            "an error in fields of their own",
            r#"{"choices":null,"error_type":"BadRequestError","error_message":"too many words"}"#,
            "Request false the Provider reported an error: too many words",
        ),
        after_half(
            "an error as a detail",
            r#"{"detail":"worker lost"}"#,
            "Unknown false the Provider reported an error: worker lost",
        ),
        after_half(
            "an error as a message with a type",
            r#"{"object":"error","message":"no such model","type":"NotFoundError","code":404}"#,
            "Request false the Provider reported an error: no such model",
        ),
        after_half(
            "an error within the choice",
            r#"{"choices":[{"delta":{},"error":{"code":502,"message":"bad gateway"}}]}"#,
            "Server true the Provider reported an error: bad gateway",
        ),
        after_half(
            "an error with a type around it",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
            "Server true the Provider reported an error: busy",
        ),
        after_half(
            "an error without words",
            r#"{"error":{}}"#,
            "Unknown false the Provider reported an error and did not say which",
        ),
        after_half(
            "a finish that is called an error",
            r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            "Server true the Provider ended its reply with a failure and did not say which",
        ),
        after_half(
            "a chunk that cannot be read",
            r#"{"choices":[{"delta":{"content":"lost"#,
            "Server true the Provider sent something that cannot be read",
        ),
        Case::new(
            "an event named error",
            unfinished(HALF) + "event: error\ndata: {\"message\":\"gone\",\"status\":503}\n\n" + &finished(&[], "stop"),
            &["text: Half a"],
            "failed",
        )
        .failing("Server true the Provider reported an error: gone"),
        Case::new(
            "an event named error in plain words",
            unfinished(HALF) + "event: error\ndata: the bridge is up\n\n",
            &["text: Half a"],
            "failed",
        )
        .failing("Unknown false the Provider reported an error: the bridge is up"),
        Case::new(
            "an error with its last text",
            events(&[r#"{"choices":[{"delta":{"content":"last words"}}],"error":{"message":"and out","type":"server_error"}}"#]),
            &["text: last words"],
            "failed",
        )
        .failing("Server true the Provider reported an error: and out"),
        Case::new(
            "an error in the middle of a call",
            unfinished(&[r#"{"tool_calls":[{"index":0,"id":"p","function":{"name":"pay","arguments":"{\"to\":"}}]}"#])
                + &unfinished(&[r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"Bo"}}]}"#])
                + &events(&[r#"{"error":{"message":"lost","code":500}}"#]),
            &[r#"open-call p pay {"to":"Bo"#],
            "failed",
        )
        .failing("Server true the Provider reported an error: lost"),
        Case::new(
            "nulls where errors would be",
            events(&[r#"{"error":null,"detail":null,"message":null,"choices":[{"delta":{"content":"fine"},"error":null}]}"#])
                + &finished(&[], "stop"),
            &["text: fine"],
            "stop",
        ),
        Case::new("an object of an error in place of a reply", r#"{"error":{"message":"warming up","code":503}}"#, &[], "failed")
            .failing("Server true the Provider reported an error: warming up"),
        Case::new("a detail in place of a reply", r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, &[], "failed")
            .failing(r#"Unknown false the Provider reported an error: [{"loc":["body"],"msg":"field required"}]"#),
        Case::new("a list around the error", r#"[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]"#, &[], "failed")
            .failing("Request false the Provider reported an error: no"),
        Case::new("a refusal code and a message", r#"{"code":1113,"msg":"no balance"}"#, &[], "failed")
            .failing("Unknown false the Provider reported an error: no balance"),
    ]
}
