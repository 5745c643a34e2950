//! A job without network, and the one address where we listen.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

/// Echoes each connection's input with a prefix.
fn answering(listener: TcpListener) {
    listener.set_nonblocking(false).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut said = [0; 64];
            let length = stream.read(&mut said).unwrap_or(0);
            let _ = stream.write_all(b"heard ").and_then(|()| stream.write_all(&said[..length]));
            if &said[..length] == b"the last\n" {
                return;
            }
        }
    });
}

/// Sends a word to a port and prints the answer.
fn says(port: u16, word: &str) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo {word} >&3 && cat <&3; exec 3>&-; ")
}

#[tokio::test]
async fn a_job_reaches_us_by_its_door_and_nothing_else() {
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        let socket = place.sandbox.egress_socket(answering).unwrap();
        let port = socket.port();
        let script = says(port, "first") + &says(port, "'the last'");
        let mut job = place.job(&["bash", "-c", &script]);
        job.network = SandboxNetwork::Gateway(socket);
        let (ended, out, err) = place.run(job).await;
        assert_eq!(
            (ended.exit, out.as_str()),
            (Exit::Code(0), "heard first\nheard the last"),
            "{mode}: {err}"
        );
    }
    if !is_again() {
        again("egress::a_job_reaches_us_by_its_door_and_nothing_else", true, &[]);
    }
}

#[tokio::test]
async fn behind_a_door_there_is_no_other_network() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let host = TcpListener::bind("127.0.0.1:0").unwrap();
        let abstract_name = made_up("socket");
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
                abstract_name.as_bytes(),
            );
        let _listener = std::os::unix::net::UnixListener::bind_addr(&address.unwrap()).unwrap();
        let script = format!(
            "import socket, errno
def tried(family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(3)
    try:
        s.connect(address)
        print('reached', address)
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
tried(socket.AF_INET, ('127.0.0.1', {port}))
tried(socket.AF_INET, ('169.254.169.254', 80))
tried(socket.AF_INET, ('192.0.2.1', 443))
tried(socket.AF_INET6, ('fd00:ec2::254', 80))
tried(socket.AF_UNIX, '\\0{abstract_name}')
try: print(socket.getaddrinfo('example.org', 443))
except OSError: print('no name')
print(len(socket.if_nameindex()))",
            port = host.local_addr().unwrap().port()
        );
        let refused = "ECONNREFUSED\nENETUNREACH\nENETUNREACH\nENETUNREACH\nECONNREFUSED\nno name\n1";
        for has_door in [false, true] {
            let mut job = place.job(&["python3", "-c", &script]);
            if has_door {
                job.network = SandboxNetwork::Gateway(place.sandbox.egress_socket(answering).unwrap());
            }
            let (_, out, err) = place.run(job).await;
            assert_eq!(out.replace("EADDRNOTAVAIL", "ENETUNREACH"), refused, "{err}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_with_a_network_in_common_reach_one_another_by_name_and_nobody_else() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let network = place.sandbox.shared_network(vec!["db".to_owned()]).await.unwrap();
        let serve = "import socket
server = socket.create_server(('0.0.0.0', 5432))
while True:
    client, _ = server.accept()
    client.sendall(b'here')
    client.close()";
        let mut service = place.job(&["python3", "-c", serve]);
        service.home = place.path("home-of-the-service");
        service.joins = Some(network.clone());
        let sandbox = place.sandbox.clone();
        let running =
            tokio::spawn(async move { sandbox.run(service, &mut CollectedOutput::default()).await });

        let ask = "import socket, sys, time
for _ in range(200):
    try:
        print(socket.create_connection(('db', 5432), 1).recv(9).decode())
        break
    except OSError as error:
        said = str(error)
        time.sleep(0.05)
else:
    print(said)
try:
    socket.create_connection(('1.1.1.1', 80), 1)
    print('reached the world')
except OSError:
    pass";
        let mut asks = place.job(&["python3", "-c", ask]);
        asks.joins = Some(network);
        let (_, out, said) = place.run(asks).await;
        assert_eq!(out, "here", "{said}");
        // Another network has its own loopback.
        let other = place.sandbox.shared_network(vec!["db".to_owned()]).await.unwrap();
        for joins in [Some(other), None] {
            let mut asks = place.job(&["python3", "-c", &ask.replace("range(200)", "range(2)")]);
            asks.joins = joins;
            let (_, out, _) = place.run(asks).await;
            assert!(!out.contains("here") && !out.contains("world"), "{out}");
        }
        assert!(
            std::net::TcpStream::connect(("127.0.0.1", 5432)).is_err_and(|_| true),
            "nor is it on the host's"
        );
        running.abort();
    }
}
