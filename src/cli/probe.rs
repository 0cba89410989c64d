//! One HTTP request to a server on this machine: enough to ask whether it is well, without a runtime.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(3);

/// The status that the address answers with.
///
/// # Errors
/// When nothing answers in time, or no HTTP.
pub fn get(address: SocketAddr, path: &str) -> io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(1024)).read_line(&mut line)?;
    let status =
        line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).and_then(|code| code.parse().ok());
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "what answers speaks no HTTP"))
}
