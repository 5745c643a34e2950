//! Wrong tokens, by where they come from: after some of them nothing from there is looked at for a while, so that nobody
//! tries one token after the other. A right one from elsewhere is taken meanwhile.
//!
//! May know: addresses, and what a proxy in front says of them. Must never know: the token.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::HttpRequest;

/// So many within [`SPAN`].
const MOST_WRONG: u32 = 10;
const SPAN: Duration = Duration::from_secs(60);
/// Addresses that are remembered; beyond it those whose time is over first are forgotten.
const MOST_ADDRESSES: usize = 4_096;

/// Who has shown wrong tokens.
#[derive(Default)]
pub struct TokenGuesses {
    wrong: Mutex<HashMap<IpAddr, WrongTokens>>,
}

struct WrongTokens {
    count: u32,
    until: Instant,
}

/// Too many wrong ones came from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyGuesses {
    /// Until the next is looked at.
    pub seconds: u64,
}

impl TokenGuesses {
    /// What comes of looking at a token, and none is what a wrong one comes to.
    ///
    /// # Errors
    /// When too many wrong ones came from there, in which case it is not looked at.
    pub fn judged<T>(
        &self,
        request: &HttpRequest,
        judge: impl FnOnce() -> Option<T>,
    ) -> Result<Option<T>, TooManyGuesses> {
        let Some(from) = address(request) else { return Ok(judge()) };
        let mut all = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(wrong) = all.get(&from).filter(|wrong| wrong.until > now && wrong.count >= MOST_WRONG) {
            return Err(TooManyGuesses { seconds: (wrong.until - now).as_secs() + 1 });
        }
        let judged = judge();
        if judged.is_none() {
            if all.len() >= MOST_ADDRESSES {
                make_room(&mut all, now);
            }
            let wrong = all.entry(from).or_insert(WrongTokens { count: 0, until: now + SPAN });
            if wrong.until <= now {
                *wrong = WrongTokens { count: 0, until: now + SPAN };
            }
            wrong.count = wrong.count.saturating_add(1);
        }
        Ok(judged)
    }
}

fn make_room(all: &mut HashMap<IpAddr, WrongTokens>, now: Instant) {
    all.retain(|_, wrong| wrong.until > now);
    while all.len() >= MOST_ADDRESSES {
        let Some(first) = all.iter().min_by_key(|(_, wrong)| wrong.until).map(|(from, _)| *from) else {
            return;
        };
        all.remove(&first);
    }
}

/// Where a request comes from: who has connected, or, where that is somebody of the own network, as a proxy is, whom they
/// say they ask for. Somebody of the own network can say what they like; from outside nobody can.
fn address(request: &HttpRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip().to_canonical();
    let is_near = match peer {
        IpAddr::V4(peer) => peer.is_loopback() || peer.is_private(),
        IpAddr::V6(peer) => peer.is_loopback() || peer.is_unique_local(),
    };
    let said = request.headers().get_all("x-forwarded-for").last().filter(|_| is_near);
    let said = said.and_then(|said| said.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    Some(network(said.unwrap_or(peer)))
}

/// Of the newer kind one has as many addresses as one likes within a network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        older @ IpAddr::V4(_) => older,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn from(peer: &str, said: &[&'static str]) -> HttpRequest {
        let request = TestRequest::get().peer_addr(format!("{peer}:1").parse().unwrap());
        let add =
            |request: TestRequest, said: &&'static str| request.append_header(("x-forwarded-for", *said));
        said.iter().fold(request, add).to_http_request()
    }

    #[test]
    fn after_ten_wrong_tokens_an_address_waits_and_others_do_not() {
        let guesses = TokenGuesses::default();
        let guessed = |request: &HttpRequest| guesses.judged(request, || None::<()>);
        let shown = |request: &HttpRequest| guesses.judged(request, || Some(()));
        let them = from("203.0.113.7", &[]);
        for _ in 0..9 {
            assert_eq!(guessed(&them), Ok(None));
        }
        assert_eq!(shown(&them), Ok(Some(())), "it is not too late");
        assert_eq!(guessed(&them), Ok(None));
        let refused = shown(&them).unwrap_err();
        assert!((1..=61).contains(&refused.seconds), "{refused:?}");
        assert_eq!(shown(&from("203.0.113.8", &[])), Ok(Some(())));
        // Nobody from outside says that they are somebody else.
        assert!(shown(&from("203.0.113.7", &["198.51.100.1"])).is_err());
    }

    #[test]
    fn behind_a_proxy_it_is_whom_the_proxy_names_and_a_network_is_one_address() {
        for (peer, said, expected) in [
            ("127.0.0.1", &[][..], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // What came along is before what the proxy says.
            ("10.0.0.2", &["192.0.2.1, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.2", &["192.0.2.1", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.2", &["nonsense"], "10.0.0.2"),
            ("[2001:db8:1:2:3::4]", &[], "2001:db8:1:2::"),
            ("[::ffff:203.0.113.7]", &[], "203.0.113.7"),
        ] {
            assert_eq!(address(&from(peer, said)), Some(expected.parse().unwrap()), "{peer} {said:?}");
        }
    }

    #[test]
    fn whoever_comes_from_everywhere_is_not_remembered_for_ever() {
        let guesses = TokenGuesses::default();
        for number in 0..MOST_ADDRESSES + 5 {
            let [.., a, b] = u32::try_from(number).unwrap().to_be_bytes();
            let _ = guesses.judged(&from(&format!("203.1.{a}.{b}"), &[]), || None::<()>);
        }
        assert_eq!(guesses.wrong.lock().unwrap().len(), MOST_ADDRESSES);
    }
}
