//! `current_time`: the date and time now, anywhere.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use hamlet_actors::{
    ports::{Clock, Invocation, Tool, ToolOutcome, ToolSpec},
    vocabulary::Timestamp,
};
use jiff::tz::TimeZone;
use serde_json::json;

use super::text;

pub const KEY: &str = "current_time";

pub struct CurrentTime {
    clock: Arc<dyn Clock>,
    spec: ToolSpec,
}

impl CurrentTime {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec {
            name: KEY.to_owned(),
            description: "Tells the date, the weekday and the time now, in UTC or in the time zone that you name."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "timezone": {
                        "type": "string",
                        "description": "A name of the IANA time zone database, for example Europe/Berlin. UTC when left out.",
                        "maxLength": 64,
                    },
                },
                "additionalProperties": false,
            }),
        };
        Self { clock, spec }
    }
}

impl Tool for CurrentTime {
    fn key(&self) -> &str {
        KEY
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let outcome = match told(self.clock.now(), text(&call.arguments, "timezone")) {
            Ok(told) => ToolOutcome::text(told),
            Err(why) => ToolOutcome::error(why),
        };
        Box::pin(ready(outcome))
    }
}

fn told(now: Timestamp, zone: &str) -> Result<String, String> {
    let zone = match zone {
        "" => TimeZone::UTC,
        zone => TimeZone::get(zone).map_err(|_| {
            let zone: String = zone.chars().take(64).collect();
            format!(
                "there is no time zone {zone:?}; use a name of the IANA database like Europe/Berlin, America/New_York, \
                 Asia/Tokyo or UTC"
            )
        })?,
    };
    let now = jiff::Timestamp::from_millisecond(now.as_millis())
        .map_err(|_| "the clock of this server shows a time that is no date".to_owned())?
        .to_zoned_datetime(zone);
    let offset = now.strftime("%:z");
    let name = now.time_zone().iana_name().unwrap_or("UTC");
    Ok(format!("{} ({name}, UTC{offset})", now.strftime("%A, %Y-%m-%d %H:%M:%S")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_IN_MAY: Timestamp = Timestamp::from_millis(1_779_969_600_000);

    #[test]
    fn the_time_is_told_with_its_weekday_and_its_zone() {
        let table = [
            ("", "Thursday, 2026-05-28 12:00:00 (UTC, UTC+00:00)"),
            ("Europe/Berlin", "Thursday, 2026-05-28 14:00:00 (Europe/Berlin, UTC+02:00)"),
            ("europe/berlin", "Thursday, 2026-05-28 14:00:00 (Europe/Berlin, UTC+02:00)"),
            ("Pacific/Kiritimati", "Friday, 2026-05-29 02:00:00 (Pacific/Kiritimati, UTC+14:00)"),
            ("Asia/Kathmandu", "Thursday, 2026-05-28 17:45:00 (Asia/Kathmandu, UTC+05:45)"),
        ];
        for (zone, expected) in table {
            assert_eq!(told(NOON_IN_MAY, zone).as_deref(), Ok(expected), "{zone}");
        }
    }

    #[test]
    fn a_zone_that_is_none_is_told_with_examples() {
        for zone in ["Berlin", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe/Berlin\0", "UTC+25"] {
            let refused = told(NOON_IN_MAY, zone).unwrap_err();
            assert!(refused.contains("Europe/Berlin, America/New_York"), "{refused}");
        }
    }

    #[test]
    fn a_clock_that_is_far_off_is_an_answer_too() {
        assert!(told(Timestamp::from_millis(i64::MAX), "").is_err());
    }
}
