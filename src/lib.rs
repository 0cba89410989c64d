//! The server: gates, routes, store, Providers. The engine is the crate `hamlet-actors`.

pub mod admin;
pub mod app;
pub mod auth;
pub mod backup;
pub mod cli;
pub mod config;
pub mod gates;
pub mod http;
pub mod metrics;
pub mod plugins;
pub mod providers;
pub mod serve;
pub mod store;
pub mod tools;
pub mod vault;
pub mod village;
