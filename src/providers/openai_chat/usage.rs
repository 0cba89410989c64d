//! Usage as the many compatible servers spell it. Reports only what a Provider said: a field that is absent, or is no
//! count, stays unknown (promise 11).

use hamlet_actors::vocabulary::Usage;
use serde_json::Value;

use super::wire::Raw;

/// Adds what `raw` says to what was known; a later report replaces an earlier one field by field.
pub fn absorb(usage: &mut Usage, raw: Raw<'_>) {
    let Some(value) = raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else {
        return;
    };
    let said = |paths: &[&str]| paths.iter().find_map(|path| value.pointer(path).and_then(count));
    let fields = [
        (&mut usage.input_tokens, said(&["/prompt_tokens", "/input_tokens"])),
        (&mut usage.output_tokens, said(&["/completion_tokens", "/output_tokens"])),
        (
            &mut usage.reasoning_tokens,
            said(&[
                "/completion_tokens_details/reasoning_tokens",
                "/output_tokens_details/reasoning_tokens",
                "/reasoning_tokens",
            ]),
        ),
        (
            &mut usage.cached_input_tokens,
            said(&[
                "/prompt_tokens_details/cached_tokens",
                "/input_tokens_details/cached_tokens",
                "/prompt_cache_hit_tokens",
                "/cached_tokens",
            ]),
        ),
    ];
    for (known, said) in fields {
        *known = said.or(*known);
    }
}

fn count(value: &Value) -> Option<u64> {
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..=9e15).contains(number);
    value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
}
