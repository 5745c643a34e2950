//! Files that people attached, and the addresses that open them for a while.

use chrono::{DateTime, Duration, Utc};
use uuid::Uuid;

use super::EmulatorState;
use crate::clock;

/// For how long a signed address can be used, in seconds; as with GitHub.
const SIGNED_FOR: i64 = 300;
/// A file that was uploaded.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedAttachment {
    pub id: u64,
    pub repository: String,
    /// The path of the link that stands in texts.
    pub path: String,
    pub uuid: String,
    pub answer: AttachmentAnswer,
    pub signed: Vec<(String, DateTime<Utc>)>,
}

#[derive(Debug, Clone)]
pub(crate) enum AttachmentAnswer {
    Bytes(Vec<u8>),
    /// As GitHub never does: another host.
    Elsewhere(String),
}

impl EmulatorState {
    /// A text as the API renders it: much simpler, but for the addresses of pictures in private repositories.
    pub(crate) fn body_html(&mut self, repository: &str, body: &str) -> String {
        let mut html = body.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let origin = self.origin.clone();
        for one in self.attachments.iter_mut().filter(|one| one.repository == repository) {
            let link = format!("{origin}{}", one.path);
            if html.contains(&link) && one.path.contains("/assets/") {
                let address = format!("{origin}/_private-user-images/7/{}-{}.png", one.id, one.uuid);
                let picture = format!("<img src=\"{address}?v=1&amp;jwt={}\">", one.sign());
                html = html.replace(&link, &picture);
            }
        }
        format!("<p dir=\"auto\">{html}</p>")
    }
}

impl EmulatedAttachment {
    /// A token that opens it for a while.
    pub(crate) fn sign(&mut self) -> String {
        let token = Uuid::new_v4().simple().to_string();
        self.signed.push((token.clone(), clock::now() + Duration::seconds(SIGNED_FOR)));
        token
    }
}
