//! Parses the start of a TLS connection for the name that it asks for.
//!
//! One address serves many names: a tunnel allowed for one of them must not ask for another.

/// The relevant extensions.
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientHello {
    /// Incomplete so far.
    Unfinished,
    /// TLS to this name.
    To(String),
    /// Not allowed; says why.
    Wrong(&'static str),
}

/// Parses the first bytes of a connection. The caller limits their length.
pub(super) fn read(bytes: &[u8]) -> ClientHello {
    let message = match handshake(bytes) {
        Ok(Some(message)) => message,
        Ok(None) => return ClientHello::Unfinished,
        Err(why) => return ClientHello::Wrong(why),
    };
    match server_name(&message) {
        Ok(name) => ClientHello::To(name),
        Err(why) => ClientHello::Wrong(why),
    }
}

const NOT_TLS: &str = "it is not TLS; only HTTPS passes";
const BROKEN: &str = "its TLS handshake cannot be read";

/// The first handshake message, which may span several records.
fn handshake(bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut rest = bytes;
    let mut message = Vec::new();
    loop {
        if rest.first().is_some_and(|kind| *kind != HANDSHAKE) || rest.get(1).is_some_and(|major| *major != 3)
        {
            return Err(NOT_TLS);
        }
        let (Some(length), Some(after)) = (rest.get(3..5), rest.get(5..)) else { return Ok(None) };
        let length = number(length);
        if length == 0 {
            return Err(BROKEN);
        }
        message.extend_from_slice(after.get(..length).unwrap_or(after));
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(BROKEN);
        }
        if let Some(size) = message.get(1..4).map(number)
            && let Some(whole) = message.get(4..4 + size)
        {
            return Ok(Some(whole.to_vec()));
        }
        let Some(next) = after.get(length..) else { return Ok(None) };
        rest = next;
    }
}

fn server_name(hello: &[u8]) -> Result<String, &'static str> {
    let mut hello = HelloReader(hello);
    let extensions = (|| {
        hello.take(2 + 32)?;
        hello.counted(1)?;
        hello.counted(2)?;
        hello.counted(1)?;
        hello.counted(2)
    })();
    // An old ClientHello may end here: then it names no host.
    let mut extensions = HelloReader(extensions.ok_or("its TLS handshake does not say to which name")?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.take(2).map(number).ok_or(BROKEN)?;
        let data = extensions.counted(2).ok_or(BROKEN)?;
        if kind == usize::from(ENCRYPTED_HELLO) {
            return Err("its TLS handshake hides to which name (encrypted client hello)");
        }
        if kind == usize::from(SERVER_NAME) && name.replace(only_name(data).ok_or(BROKEN)?).is_some() {
            return Err(BROKEN);
        }
    }
    name.ok_or("its TLS handshake does not say to which name")
}

/// The name in a list of exactly one.
fn only_name(data: &[u8]) -> Option<String> {
    let mut data = HelloReader(data);
    let mut list = HelloReader(data.counted(2)?);
    let kind = list.take(1)?;
    let name = list.counted(2)?;
    let is_only = kind == [0] && list.0.is_empty() && data.0.is_empty();
    is_only.then(|| String::from_utf8(name.to_vec()).ok())?
}

struct HelloReader<'a>(&'a [u8]);

impl<'a> HelloReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A block of data after its length, which takes this many bytes.
    fn counted(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length = number(self.take(bytes)?);
        self.take(length)
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(bytes: usize, data: &[u8]) -> Vec<u8> {
        let mut all = data.len().to_be_bytes()[8 - bytes..].to_vec();
        all.extend_from_slice(data);
        all
    }

    fn named(name: &str) -> Vec<u8> {
        let entry = [&[0][..], &counted(2, name.as_bytes())].concat();
        [&[0, 0][..], &counted(2, &counted(2, &entry))].concat()
    }

    fn with_extensions(extensions: &[u8], record: usize) -> Vec<u8> {
        let body = [
            &[3, 3][..],
            &[7; 32],
            &counted(1, &[1; 32]),
            &counted(2, &[0x13, 1]),
            &counted(1, &[0]),
            &counted(2, extensions),
        ]
        .concat();
        let message = [&[1][..], &counted(3, &body)].concat();
        message.chunks(record).flat_map(|piece| [&[22, 3, 1][..], &counted(2, piece)].concat()).collect()
    }

    /// A client's ClientHello for a name, in one record.
    pub(in super::super) fn hello_to(name: &str) -> Vec<u8> {
        let other = [&[0, 43][..], &counted(2, &[2, 3, 4])].concat();
        with_extensions(&[other, named(name)].concat(), 16_384)
    }

    #[test]
    fn a_hello_says_where_it_wants_to_go_however_it_is_cut() {
        assert_eq!(read(&hello_to("registry.example")), ClientHello::To("registry.example".into()));
        for record in [1, 2, 7, 60] {
            let bytes = with_extensions(&named("registry.example"), record);
            assert_eq!(read(&bytes), ClientHello::To("registry.example".into()));
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), ClientHello::Unfinished, "{end} of {record}");
            }
        }
        let more = [hello_to("registry.example"), b"early data".to_vec()].concat();
        assert_eq!(read(&more), ClientHello::To("registry.example".into()));
    }

    #[test]
    fn what_is_not_tls_or_hides_its_name_is_wrong() {
        let hidden = [&[0xfe, 0x0d][..], &counted(2, b"secret"), &named("registry.example")].concat();
        let two = [named("registry.example"), named("evil.example")].concat();
        let two_in_one = [&[0][..], &counted(2, b"a.example"), &[0], &counted(2, b"b.example")].concat();
        let two_in_one = [&[0, 0][..], &counted(2, &counted(2, &two_in_one))].concat();
        for bytes in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            b"SSH-2.0-x\r\n".to_vec(),
            vec![22, 2],
            vec![22, 3, 1, 0, 0],
            vec![22, 3, 1, 0, 1, 2],
            with_extensions(&[], 999),
            with_extensions(&hidden, 999),
            with_extensions(&two, 999),
            with_extensions(&two_in_one, 999),
            with_extensions(&[0, 0, 9], 999),
        ] {
            assert!(matches!(read(&bytes), ClientHello::Wrong(_)), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            at in 0_usize..200, byte in any::<u8>(),
        ) {
            let _ = read(&bytes);
            let _ = read(&[&[22, 3, 1][..], &bytes].concat());
            let mut near = hello_to("registry.example");
            let at = at % near.len();
            near[at] = byte;
            let _ = read(&near);
        }
    }
}
