use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Router, body::Body, response::Response, routing::get};
use futures_util::future::BoxFuture;
use hamlet_actors::ports::SystemClock;
use serde_json::json;
use tokio::net::TcpListener;

use super::{Reach, Reaching};
use crate::{
    plugins::testing::{Bench, Heard},
    tools::builtin::Toolbox,
};

/// Names as the test says, one answer after the other; the last one stays.
struct Names {
    known: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

struct Surroundings {
    reach: Reach,
    names: Arc<Names>,
}

impl Reaching for Surroundings {
    fn reach(&self) -> BoxFuture<'static, Result<Reach, String>> {
        let reach = self.reach;
        Box::pin(async move { Ok(reach) })
    }

    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let time = self.names.asked.fetch_add(1, Ordering::Relaxed);
        let answers = self.names.known.get(name.as_str());
        let answer = answers.map(|answers| answers[time.min(answers.len() - 1)].clone());
        Box::pin(async move { answer.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)) })
    }
}

/// A web of one server on loopback, and how often it was asked.
struct Web {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    _serving: tokio::task::JoinHandle<()>,
}

impl Drop for Web {
    fn drop(&mut self) {
        self._serving.abort();
    }
}

fn typed(media: &str, body: impl Into<Body>) -> Response {
    Response::builder().header("content-type", media).body(body.into()).unwrap()
}

fn to(location: &str) -> Response {
    Response::builder().status(302).header("location", location).body(Body::empty()).unwrap()
}

impl Web {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let here = format!("http://{address}");
        let endless = || {
            let zeros =
                futures_util::stream::repeat_with(|| Ok::<_, io::Error>(bytes::Bytes::from(vec![b'x'; 64 * 1024])));
            typed("text/plain", Body::from_stream(zeros))
        };
        let silent =
            || typed("text/plain", Body::from_stream(futures_util::stream::pending::<io::Result<bytes::Bytes>>()));
        let answer = move |path: &str| match path {
            "/page" => typed("text/html; charset=utf-8", "<title>Hi</title><p>Well &amp; good, <a href=/next>on</a>"),
            "/json" => typed("application/ld+json", r#"{"a": 1}"#),
            "/latin" => typed("text/plain; charset=iso-8859-1", vec![b'c', 0xe9]),
            "/untyped" => Response::new(Body::from("plain")),
            "/empty" => typed("text/html", ""),
            "/image" => typed("image/png", vec![0u8; 10]),
            "/zip" => typed("application/zip", vec![0u8; 10]),
            "/squeezed" => Response::builder()
                .header("content-type", "text/html")
                .header("content-encoding", "gzip")
                .body(Body::from(vec![0x1f, 0x8b]))
                .unwrap(),
            "/endless" => endless(),
            "/endless-tags" => {
                let tags = futures_util::stream::repeat_with(|| {
                    Ok::<_, io::Error>(bytes::Bytes::from("<i></i>".repeat(9_000)))
                });
                typed("text/html", Body::from_stream(tags))
            }
            "/silent" => silent(),
            "/gone" => Response::builder().status(410).body(Body::from("secret of the inside")).unwrap(),
            "/once" => to("/page"),
            "/round" => to("/round"),
            "/nowhere" => Response::builder().status(302).body(Body::empty()).unwrap(),
            "/metadata" => to("http://169.254.169.254/latest/meta-data"),
            "/file" => to("file:///etc/passwd"),
            "/named" => to(&format!("http://inside.example:{}/page", address.port())),
            "/home" => to(&format!("{here}/page")),
            "/password" => to("http://a:b@inside.example/"),
            _ => Response::builder().status(404).body(Body::empty()).unwrap(),
        };
        let router = Router::new().fallback(get(move |uri: http::Uri| {
            counted.fetch_add(1, Ordering::Relaxed);
            let response = answer(uri.path());
            async move { response }
        }));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked, _serving: serving }
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn named(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
fn surroundings(reach: Reach, known: &[(&'static str, Vec<Vec<IpAddr>>)]) -> (Surroundings, Arc<Names>) {
    let names = Arc::new(Names { known: known.iter().cloned().collect(), asked: AtomicUsize::default() });
    (Surroundings { reach, names: Arc::clone(&names) }, names)
}

async fn bench_in(surroundings: Surroundings) -> Bench {
    // Whoever is first installs it for all.
    drop(rustls::crypto::ring::default_provider().install_default());
    Bench::of(|_| Arc::new(Toolbox::new(Arc::new(SystemClock), Arc::new(surroundings)))).await
}

async fn bench(reach: Reach, known: &[(&'static str, Vec<Vec<IpAddr>>)]) -> Bench {
    bench_in(surroundings(reach, known).0).await
}

async fn fetched(bench: &Bench, url: &str) -> Result<String, String> {
    match bench.call("fetch_url", json!({"url": url})).await {
        Heard::Answer(text) => Ok(text),
        Heard::Error(text) => Err(text),
    }
}

#[tokio::test]
async fn what_can_be_read_is_told_with_where_it_came_from() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[]).await;
    let page = format!("URL: {}\nTitle: Hi\nType: text/html\n\nWell & good, on ({})", web.at("/page"), web.at("/next"));
    for path in ["/page", "/once", "/home"] {
        assert_eq!(fetched(&bench, &web.at(path)).await.as_deref(), Ok(page.as_str()), "{path}");
    }
    for (path, end) in [
        ("/json", "Type: application/ld+json\n\n{\"a\": 1}"),
        ("/latin", "Type: text/plain\n\ncé"),
        ("/untyped", "Type: text/plain\n\nplain"),
        ("/empty", "Type: text/html\n\n(there is no readable text)"),
    ] {
        let read = fetched(&bench, &web.at(path)).await.unwrap();
        assert!(read.ends_with(end), "{path} {read}");
    }
}

#[tokio::test]
async fn what_can_not_be_read_is_refused_in_words() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[]).await;
    for (path, why) in [
        ("/image", "image/png is not a text that can be read here"),
        ("/zip", "application/zip is not a text that can be read here"),
        ("/squeezed", "the answer is compressed (gzip), which was not asked for"),
        ("/gone", "answered 410 Gone"),
        ("/round", "more than 5 redirects"),
        ("/nowhere", "a redirect (status 302) that names no address"),
    ] {
        let refused = fetched(&bench, &web.at(path)).await.unwrap_err();
        assert!(refused.starts_with("not fetched: ") && refused.contains(why), "{path} {refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    for (url, why) in [("", "no whole address"), ("example.com", "no whole address"), ("mailto:a@b.c", "only http")] {
        let refused = fetched(&bench, url).await.unwrap_err();
        assert!(refused.contains(why), "{url} {refused}");
    }
    let long = format!("http://a/{}", "x".repeat(2_050));
    assert!(fetched(&bench, &long).await.unwrap_err().contains("more than 2048 characters"));
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_and_says_so() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[]).await;
    let read = fetched(&bench, &web.at("/endless")).await.unwrap();
    assert!(read.contains("\nCut: yes"), "{}", &read[..200]);
    assert!(read.len() < 31_000);
    let read = fetched(&bench, &web.at("/endless-tags")).await.unwrap();
    assert!(read.contains("\nCut: yes") && read.len() < 200, "{read}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left_in_time() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[]).await;
    let url = web.at("/silent");
    let reading = fetched(&bench, &url);
    tokio::pin!(reading);
    while web.asked() == 0 {
        tokio::select! {
            early = &mut reading => panic!("{early:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    tokio::time::pause();
    assert_eq!(reading.await, Err("not fetched: it took more than 20 seconds".to_owned()));
}

#[tokio::test]
async fn nothing_private_is_reached_however_it_is_named() {
    let web = Web::new().await;
    let names = [
        ("inside.example", vec![vec![LOOPBACK]]),
        ("localhost", vec![vec![LOOPBACK]]),
        ("mapped.example", vec![vec!["::ffff:127.0.0.1".parse().unwrap()]]),
        ("cloud.example", vec![vec!["169.254.169.254".parse().unwrap()]]),
    ];
    let bench = bench(Reach::Public, &names).await;
    let port = web.address.port();
    for url in [
        web.at("/page"),
        web.named("inside.example", "/page"),
        web.named("localhost", "/page"),
        web.named("mapped.example", "/page"),
        web.named("2130706433", "/page"),
        format!("http://[::ffff:127.0.0.1]:{port}/page"),
        "http://[::1]:8080/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let refused = fetched(&bench, &url).await.unwrap_err();
        assert!(refused.contains("is in a private network, or on this server"), "{url} {refused}");
    }
    let refused = fetched(&bench, "http://cloud.example/").await.unwrap_err();
    assert_eq!(refused, "not fetched: cloud.example is an address that nothing is fetched from", "tells no address");
    assert_eq!(
        fetched(&bench, "http://x.example/").await.unwrap_err(),
        "not fetched: the name x.example could not be resolved"
    );
    assert_eq!(web.asked(), 0);
}

#[tokio::test]
async fn what_may_be_private_may_still_not_be_anything() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[("cloud.example", vec![vec!["169.254.169.254".parse().unwrap()]])]).await;
    for (path, why) in [
        ("/metadata", "169.254.169.254 is an address that nothing is fetched from"),
        ("/file", "only http and https"),
        ("/password", "user name or password"),
    ] {
        let refused = fetched(&bench, &web.at(path)).await.unwrap_err();
        assert!(refused.contains("is not followed") && refused.contains(why), "{path} {refused}");
        assert!(!refused.contains("a:b"), "{refused}");
    }
    assert!(fetched(&bench, "http://cloud.example/").await.unwrap_err().contains("nothing is fetched from"));
}

#[tokio::test]
async fn each_hop_is_resolved_and_judged_anew() {
    let web = Web::new().await;
    let bench = bench(Reach::Private, &[("inside.example", vec![vec!["fe80::1".parse().unwrap()]])]).await;
    let refused = fetched(&bench, &web.at("/named")).await.unwrap_err();
    assert!(refused.contains("inside.example is an address that nothing is fetched from"), "{refused}");
    assert_eq!(web.asked(), 1);
}

#[tokio::test]
async fn what_a_name_meant_when_it_was_judged_is_what_is_connected_to() {
    let web = Web::new().await;
    // Judged by one look-up and connected by another, the second answer would count.
    let (surroundings, names) =
        surroundings(Reach::Private, &[("rebind.example", vec![vec![LOOPBACK], vec!["fe80::1".parse().unwrap()]])]);
    let bench = bench_in(surroundings).await;
    let url = web.named("rebind.example", "/page");
    assert!(fetched(&bench, &url).await.is_ok());
    assert_eq!(names.asked.load(Ordering::Relaxed), 1);
    assert!(fetched(&bench, &url).await.unwrap_err().contains("nothing is fetched from"));
}
