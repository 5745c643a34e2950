//! What is between a company's server and the internet: TLS from a private authority, and a proxy.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use journeyman::order::{OutgoingNetwork, OutgoingProxy, RegistryCredential, TrustedCertificates};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const PASSWORD: &str = "proxy-hunter2-secret";

/// All names below `corp.example` are only reachable through the proxy, and lead to one server.
pub struct CorporateNetwork {
    pub proxy_port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    ca: tempfile::NamedTempFile,
}

impl CorporateNetwork {
    /// Puts the network in front of a plain-HTTP port on loopback.
    pub async fn in_front_of(server: u16) -> Self {
        let issuer = authority();
        let ca = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(ca.path(), issuer.pem()).expect("it can be written");
        let front = tls(&issuer, server).await;
        let (proxy_port, asked) = proxy(front).await;
        Self { proxy_port, asked, ca }
    }

    /// The targets that the proxy was asked for, whether or not with the password.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    /// The settings of a server that knows both the authority and the proxy.
    pub fn outgoing(&self) -> OutgoingNetwork {
        OutgoingNetwork { trusted: self.trusted(), proxy: self.proxy(PASSWORD) }
    }

    pub fn without_certificates(&self) -> OutgoingNetwork {
        OutgoingNetwork { trusted: None, proxy: self.proxy(PASSWORD) }
    }

    pub fn with_wrong_password(&self) -> OutgoingNetwork {
        OutgoingNetwork { trusted: self.trusted(), proxy: self.proxy("wrong") }
    }

    fn trusted(&self) -> Option<TrustedCertificates> {
        let file = self.ca.path().to_owned();
        let pem = std::fs::read(&file).expect("it can be read");
        Some(TrustedCertificates { file, pem })
    }

    fn proxy(&self, password: &str) -> Option<OutgoingProxy> {
        Some(OutgoingProxy {
            url: format!("http://127.0.0.1:{}", self.proxy_port).parse().expect("an address"),
            credential: RegistryCredential::Password { user: "ada".to_owned(), password: password.into() },
            bypass: Vec::new(),
        })
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "Corp's own authority");
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// Terminates TLS and forwards the content.
async fn tls(issuer: &CertifiedIssuer<'static, KeyPair>, server: u16) -> u16 {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["*.corp.example".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut inside) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                let _ = copy_bidirectional(&mut inside, &mut server).await;
            });
        }
    });
    port
}

/// A proxy that accepts CONNECT with the password, and leads every name to one port.
async fn proxy(front: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let _ = proxied(stream, front, &log).await;
            });
        }
    });
    (port, asked)
}

async fn proxied(stream: TcpStream, front: u16, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let login = base64::engine::general_purpose::STANDARD.encode(format!("ada:{PASSWORD}"));
    let mut stream = BufReader::new(stream);
    // Some clients first ask without the password, then again with it on the same connection.
    loop {
        let (mut first, mut is_known) = (String::new(), false);
        if stream.read_line(&mut first).await? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? <= 2 {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            is_known |=
                name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == format!("Basic {login}");
        }
        let target = first.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap_or("?");
        let password = if is_known { "" } else { " without a password" };
        log.lock().expect("no panic").push(format!("{target}{password}"));
        if is_known {
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
            let mut front = TcpStream::connect(("127.0.0.1", front)).await?;
            copy_bidirectional(&mut stream, &mut front).await?;
            return Ok(());
        }
        let refusal = "HTTP/1.1 407 Who are you?\r\nProxy-Authenticate: Basic realm=\"corp\"\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(refusal.as_bytes()).await?;
    }
}
