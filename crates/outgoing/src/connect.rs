//! Connects to a host through a proxy.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use journeyman_order::bounds::LONGEST_TAIL;
use journeyman_order::{OutgoingProxy, RegistryCredential};

/// Asks the proxy to connect to a host, whose name the proxy resolves. The returned stream reaches the host.
///
/// # Errors
/// If the proxy is unreachable or refuses; the error contains its answer.
pub async fn connect_through(proxy: &OutgoingProxy, host: &str, port: u16) -> io::Result<TcpStream> {
    let at = (proxy.url.host_str().unwrap_or_default(), proxy.url.port_or_known_default().unwrap_or(80));
    let near = |error: io::Error| io::Error::new(error.kind(), format!("the proxy: {error}"));
    let mut stream = TcpStream::connect(at).await.map_err(near)?;
    let _ = stream.set_nodelay(true);
    let mut words = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let RegistryCredential::Password { user, password } = &proxy.credential {
        let login = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
        words.push_str(&format!("Proxy-Authorization: Basic {login}\r\n"));
    }
    let words = SecretString::from(words + "\r\n");
    stream.write_all(words.expose_secret().as_bytes()).await.map_err(near)?;
    let mut head = Vec::new();
    // Read byte by byte: anything after the head belongs to the host.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST_TAIL {
            return Err(io::Error::other("the proxy answers without end"));
        }
        head.push(stream.read_u8().await.map_err(near)?);
    }
    let line = String::from_utf8_lossy(&head);
    let line: String =
        line.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect();
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match status {
        Some(status) if status.starts_with('2') => Ok(stream),
        Some("407") => Err(io::Error::other("the proxy refuses the name and password in HTTPS_PROXY")),
        Some(_) | None => Err(io::Error::other(format!("the proxy answers {line:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Connects through a proxy with this answer. Returns the result and the proxy's request.
    async fn answering(
        answer: &'static str,
        credential: RegistryCredential,
    ) -> (io::Result<Vec<u8>>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            while !heard.ends_with(b"\r\n\r\n") {
                heard.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(heard).unwrap()
        });
        let proxy = OutgoingProxy { url, credential, bypass: Vec::new() };
        let connected = connect_through(&proxy, "host.example", 443).await;
        let came = match connected {
            Ok(mut stream) => {
                let mut came = Vec::new();
                stream.read_to_end(&mut came).await.unwrap();
                Ok(came)
            }
            Err(error) => Err(error),
        };
        (came, asked.await.unwrap())
    }

    #[tokio::test]
    async fn a_proxy_is_asked_with_its_password_and_what_follows_is_the_hosts() {
        let login = RegistryCredential::Password { user: "ada".into(), password: "pass".to_owned().into() };
        let (came, asked) = answering("HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello", login.clone()).await;
        assert_eq!(came.unwrap(), b"hello");
        assert_eq!(
            asked,
            "CONNECT host.example:443 HTTP/1.1\r\nHost: host.example:443\r\nProxy-Authorization: Basic YWRhOnBhc3M=\r\n\r\n"
        );
        for (answer, words) in [
            ("HTTP/1.1 407 No\r\n\r\n", "refuses the name and password"),
            ("HTTP/1.0 503 Not now\r\n\r\n", "HTTP/1.0 503 Not now"),
            ("SSH-2.0-x\r\n\r\n", "SSH-2.0-x"),
            ("HTTP/1.1 200", "the proxy: "),
        ] {
            let error = answering(answer, login.clone()).await.0.unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("pass\""), "{answer}: {error}");
        }
        let (_, asked) = answering("HTTP/1.1 200 OK\r\n\r\n", RegistryCredential::None).await;
        assert!(!asked.contains("Authorization"));
    }
}
