//! Requests by route and status, and refusals by code. A route is its template, never the path that was asked for.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use hamlet_actors::vocabulary::ErrorCode;
use http::{Method, StatusCode};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{Metrics, seconds};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    code: &'static str,
}

/// Put on a response by whoever wrote a refusal's body.
#[derive(Debug, Clone, Copy)]
pub struct RefusedWith(pub ErrorCode);

#[derive(Debug)]
pub struct HttpMetrics {
    answered: Family<Answered, Counter>,
    took: Histogram,
    refused: Family<Refused, Counter>,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self { answered: Family::default(), took: Histogram::new(seconds()), refused: Family::default() }
    }
}

impl HttpMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "http_requests",
            "Requests by route and class of status; a stream counts when it opens",
            self.answered.clone(),
        );
        registry.register_with_unit(
            "http_request_duration",
            "From a request's head to its answer's",
            Unit::Seconds,
            self.took.clone(),
        );
        registry.register("refusals", "Requests refused, by code", self.refused.clone());
    }
}

/// Counts a request and its answer. Stands outside of what writes refusals.
pub async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let method = method(request.method());
    // What no route matches is the page's files, or nothing.
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let started = Instant::now();
    let response = next.run(request).await;
    metrics.http.took.observe(started.elapsed().as_secs_f64());
    let answered = Answered { method, route, status: class(response.status()) };
    metrics.http.answered.get_or_create(&answered).inc();
    if let Some(RefusedWith(code)) = response.extensions().get() {
        metrics.http.refused.get_or_create(&Refused { code: code.as_str() }).inc();
    }
    response
}

fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
