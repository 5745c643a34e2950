//! Open sessions, by API token or GitHub, and what each person may currently read and write. Kept only in memory: a
//! restart ends all sessions, and people's tokens are never stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use secrecy::SecretString;

use journeyman_order::{Person, RepositoryId};

use super::{EnteredPerson, GitHubDoor, GitHubDoorError};

/// A person's session lasts this long, or as long as its token.
const LONGEST: Duration = Duration::from_secs(8 * 60 * 60);
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// GitHub allows a person 5,000 requests an hour: we aim for a tenth, but refresh at least every five minutes.
const PER_REQUEST: Duration = Duration::from_secs(10);
const LONGEST_KNOWN: Duration = Duration::from_secs(5 * 60);
/// The wait before a retry if GitHub did not answer.
const UNANSWERED: Duration = Duration::from_secs(15);
/// Timeout for GitHub to return a person's rights.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of sessions; then the oldest ends.
const MOST: usize = 4_096;
/// Maximum number of sessions per person; then their own oldest ends.
const MOST_OF_ONE: usize = 8;

/// Repositories that a person may read, each with whether they may write.
pub(crate) type RepositoryRights = Arc<BTreeMap<RepositoryId, bool>>;

#[derive(Default)]
pub struct SignedInPeople {
    sessions: Mutex<HashMap<SecretHash, Arc<OpenSession>>>,
}

pub(crate) struct OpenSession {
    pub(crate) form_word: String,
    /// `None` for a session with the API's token.
    pub(crate) person: Option<SignedInPerson>,
    begun: Instant,
    until: Instant,
}

pub(crate) struct SignedInPerson {
    pub(crate) person: Person,
    token: SecretString,
    known: tokio::sync::Mutex<KnownRights>,
}

struct KnownRights {
    rights: RepositoryRights,
    trouble: Option<String>,
    until: Instant,
}

/// Stored in place of a browser's secret.
type SecretHash = [u8; 32];

fn hashed(secret: &str) -> SecretHash {
    let mut hash = SecretHash::default();
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

/// A panic leaves it consistent: no change takes several steps.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A random, unguessable word.
pub(crate) fn random_word() -> Option<String> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).ok()?;
    Some(hex::encode(bytes))
}

impl SignedInPeople {
    /// Begins a person's session; returns its cookie's value and lifetime.
    pub(crate) fn begin(&self, entered: EnteredPerson) -> Option<(String, Duration)> {
        let lasts = entered.lasts.map_or(LONGEST, |lasts| lasts.min(LONGEST));
        let known = KnownRights { rights: RepositoryRights::default(), trouble: None, until: Instant::now() };
        let known = tokio::sync::Mutex::new(known);
        self.open(Some(SignedInPerson { person: entered.person, token: entered.token, known }), lasts)
    }

    /// Begins a session with the API's token.
    pub(crate) fn begin_by_token(&self) -> Option<(String, Duration)> {
        self.open(None, LASTS)
    }

    fn open(&self, person: Option<SignedInPerson>, lasts: Duration) -> Option<(String, Duration)> {
        let (word, form_word) = (random_word()?, random_word()?);
        let now = Instant::now();
        let session = OpenSession { form_word, person, begun: now, until: now + lasts };
        let mut sessions = locked(&self.sessions);
        let of_them = |one: &Arc<OpenSession>| match (&one.person, &session.person) {
            (Some(one), Some(other)) => one.person.id == other.person.id,
            (Some(_) | None, _) => false,
        };
        let mut theirs: Vec<(SecretHash, Instant)> =
            sessions.iter().filter(|(_, one)| of_them(one)).map(|(key, one)| (*key, one.begun)).collect();
        theirs.sort_by_key(|(_, begun)| *begun);
        for (key, _) in theirs.iter().take((theirs.len() + 1).saturating_sub(MOST_OF_ONE)) {
            sessions.remove(key);
        }
        sessions.retain(|_, one| one.until > now);
        while sessions.len() >= MOST {
            let first = sessions.iter().min_by_key(|(_, one)| one.until).map(|(key, _)| *key);
            let Some(first) = first else { break };
            sessions.remove(&first);
        }
        sessions.insert(hashed(&word), Arc::new(session));
        Some((word, lasts))
    }

    pub(crate) fn session(&self, word: &str) -> Option<Arc<OpenSession>> {
        locked(&self.sessions).get(&hashed(word)).filter(|session| session.until > Instant::now()).cloned()
    }

    pub(crate) fn end(&self, word: &str) {
        locked(&self.sessions).remove(&hashed(word));
    }
}

impl SignedInPerson {
    /// Their current rights, from GitHub's latest answer; if GitHub does not answer, none at all. `None` if GitHub no
    /// longer accepts their token.
    pub(crate) async fn rights(&self, door: &dyn GitHubDoor) -> Option<(RepositoryRights, Option<String>)> {
        // One request at a time: concurrent callers share its answer.
        let mut known = self.known.lock().await;
        if known.until <= Instant::now() {
            let asked = tokio::time::timeout(PATIENCE, door.rights(&self.token)).await;
            *known = match asked {
                Ok(Ok(granted)) => KnownRights {
                    rights: Arc::new(granted.repositories),
                    trouble: None,
                    until: Instant::now() + (PER_REQUEST * granted.requests).min(LONGEST_KNOWN),
                },
                Ok(Err(GitHubDoorError::Refused(_))) => return None,
                Ok(Err(GitHubDoorError::Unavailable(because))) => unanswered(&because),
                Err(_) => unanswered("it did not answer in time"),
            };
        }
        Some((known.rights.clone(), known.trouble.clone()))
    }
}

fn unanswered(because: &str) -> KnownRights {
    tracing::warn!("GitHub does not say what somebody may read who has signed in: {because}");
    KnownRights {
        rights: RepositoryRights::default(),
        trouble: Some(format!(
            "GitHub does not say now which repositories you may read, so nothing of them is shown: {because}"
        )),
        until: Instant::now() + UNANSWERED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::UserId;

    fn entered(lasts: Option<Duration>) -> EnteredPerson {
        let person = Person { login: "mona".to_owned(), id: UserId(1) };
        EnteredPerson { person, token: "ghu_1".into(), lasts }
    }

    #[test]
    fn a_session_is_no_longer_than_its_token_or_eight_hours() {
        let people = SignedInPeople::default();
        let lasts = |given| people.begin(entered(given)).unwrap().1;
        assert_eq!(lasts(None), LONGEST);
        assert_eq!(lasts(Some(Duration::from_secs(60))), Duration::from_secs(60));
        assert_eq!(lasts(Some(LONGEST * 2)), LONGEST);
        let (over, _) = people.begin(entered(Some(Duration::ZERO))).unwrap();
        assert!(people.session(&over).is_none());
        let (word, _) = people.begin(entered(None)).unwrap();
        assert_eq!(
            people
                .session(&word)
                .and_then(|session| Some(session.person.as_ref()?.person.login.clone()))
                .as_deref(),
            Some("mona")
        );
        people.end(&word);
        assert!(people.session(&word).is_none());
    }

    #[test]
    fn somebody_who_signs_in_again_and_again_ends_their_own_sessions_alone() {
        let people = SignedInPeople::default();
        let of = |id: u64| {
            let person = Person { login: format!("user-{id}"), id: UserId(id) };
            people.begin(EnteredPerson { person, ..entered(None) }).unwrap().0
        };
        let (other, first) = (of(2), of(1));
        let (by_token, lasts) = people.begin_by_token().unwrap();
        assert_eq!(lasts, LASTS);
        let last: Vec<String> = (0..MOST_OF_ONE).map(|_| of(1)).collect();
        assert!(people.session(&first).is_none());
        assert!(last.iter().chain([&other, &by_token]).all(|word| people.session(word).is_some()));
    }
}
