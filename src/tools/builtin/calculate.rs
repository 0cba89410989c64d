//! `calculate`: arithmetic, exact in decimals. Every operation has a bound on what it may cost before it is begun, so that
//! no expression takes long, whatever it says.

mod evaluate;
mod number;

use futures_util::future::{BoxFuture, ready};
use hamlet_actors::ports::{Invocation, Tool, ToolOutcome, ToolSpec};
use serde_json::json;

use super::text;

pub const KEY: &str = "calculate";
/// Characters of an expression at most.
const EXPRESSION_LIMIT: usize = 500;

pub struct Calculate {
    spec: ToolSpec,
}

impl Default for Calculate {
    fn default() -> Self {
        let spec = ToolSpec {
            name: KEY.to_owned(),
            description: "Works out an arithmetic expression, exactly where decimals can be exact: + - * / % (remainder) ^ \
                          (power), parentheses, pi, e, and sqrt cbrt abs round floor ceil exp ln log10 log2 sin cos tan asin \
                          acos atan factorial min max. Angles are in radians. Write 15 percent as 0.15. A result that is \
                          rounded begins with ≈."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "expression": {
                        "type": "string",
                        "description": "For example: (19.99 + 5) * 3 / sqrt(2)",
                        "minLength": 1,
                        "maxLength": EXPRESSION_LIMIT,
                    },
                },
                "required": ["expression"],
                "additionalProperties": false,
            }),
        };
        Self { spec }
    }
}

impl Tool for Calculate {
    fn key(&self) -> &str {
        KEY
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let outcome = match calculated(text(&call.arguments, "expression")) {
            Ok(result) => ToolOutcome::text(result),
            Err(why) => ToolOutcome::error(format!("not calculated: {why}")),
        };
        Box::pin(ready(outcome))
    }
}

fn calculated(expression: &str) -> Result<String, String> {
    if expression.chars().count() > EXPRESSION_LIMIT {
        return Err(format!("the expression has more than {EXPRESSION_LIMIT} characters"));
    }
    evaluate::evaluate(expression).map(|number| number.to_string()).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests;
