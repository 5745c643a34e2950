//! Attachments of issues and comments: which links are attachments, and how to read them.
//!
//! On github.com, a link in a text (`/user-attachments/…`) redirects to storage if the repository is public. In a
//! private one it answers 404 to any token of an App. For pictures, the API's `body_html` has URLs on
//! `private-user-images.githubusercontent.com`, signed for five minutes; their path ends in the link's id. An App
//! cannot read other files of private repositories.
//!
//! Texts come from outside, so every hop must be a GitHub host, and only API requests carry a token.

use reqwest::header::{ACCEPT, LOCATION};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use url::Url;

use super::endpoints::InstalledRepository;
use super::error::{GitHubError, Result};
use super::logs::{API_VERSION, body_of, refused, unreachable};
use super::permissions::TokenPermissions;
use super::service::GitHub;
use journeyman_order::IssueNumber;
use journeyman_order::bounds::{LARGEST_DOCUMENT, MOST_HOPS};

/// Maximum size of an attachment: GitHub accepts no larger files except videos.
const MOST_READ: usize = 25 * 1024 * 1024;
/// GitHub's own addresses are shorter.
const LONGEST_ADDRESS: usize = 2_048;
/// Bytes before an address that are searched for its alternative text.
const LONGEST_TAG: usize = 1_000;
/// Hosts in older links to pictures on github.com.
const PICTURE_HOSTS: [&str; 2] =
    ["user-images.githubusercontent.com", "private-user-images.githubusercontent.com"];
/// Hosts to which github.com redirects requests for attachments.
const STORAGE_HOSTS: [&str; 3] = [
    "objects.githubusercontent.com",
    "github-production-user-asset-6210df.s3.amazonaws.com",
    "github-production-repository-file-5c1aeb.s3.amazonaws.com",
];

/// A link to an attachment, in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentLink {
    url: Url,
    /// The file's name, if the link has one. Untrusted.
    pub name: Option<String>,
    /// The id of a picture or video, also part of its signed address.
    id: Option<String>,
    /// The picture's alternative text. Untrusted.
    pub alternative: Option<String>,
}

impl AttachmentLink {
    pub fn is_same(&self, other: &Self) -> bool {
        self.url.path() == other.url.path() && self.url.host() == other.url.host()
    }
}

/// The text that contains a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentSource {
    Issue(IssueNumber),
    Comment(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedAttachment {
    /// The content. Untrusted.
    Bytes(Vec<u8>),
    Unreadable(String),
}

impl GitHub {
    /// The attachments that a text links to, without duplicates.
    pub fn attachment_links(&self, text: &str) -> Vec<AttachmentLink> {
        let mut links: Vec<AttachmentLink> = Vec::new();
        for (at, address) in addresses(text) {
            let Some(mut link) = link_of(address, &self.0.endpoints.web) else { continue };
            if links.iter().any(|known| known.is_same(&link)) {
                continue;
            }
            link.alternative = text.get(..at).and_then(alternative);
            links.push(link);
        }
        links
    }

    pub async fn attachment(
        &self,
        at: &InstalledRepository,
        link: &AttachmentLink,
        source: AttachmentSource,
    ) -> Result<FetchedAttachment> {
        let found = self.repeating(|| self.follow(link.url.clone())).await?;
        let (StoredFile::Missing(status), Some(id)) = (&found, &link.id) else { return Ok(found.told()) };
        let signed = self.repeating(|| self.signed_address(at, source, id)).await?;
        match signed {
            Some(signed) => Ok(self.repeating(|| self.follow(signed.clone())).await?.told()),
            None => Ok(StoredFile::Missing(*status).told()),
        }
    }

    /// Follows an address and its redirects while they stay on GitHub. Sends no token.
    async fn follow(&self, mut url: Url) -> Result<StoredFile> {
        for _ in 0..MOST_HOPS {
            let answer = self
                .plain_client()?
                .get(url.clone())
                .send()
                .await
                .map_err(|error| unreachable(WHAT, &error))?;
            match answer.status().as_u16() {
                200 => {
                    let bytes = body_of(answer, MOST_READ, WHAT).await?;
                    return Ok(bytes.map_or(StoredFile::TooLarge, StoredFile::Bytes));
                }
                301 | 302 | 303 | 307 | 308 => {
                    let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                    let Some(next) = location.and_then(|text| url.join(text).ok()) else {
                        return Ok(StoredFile::Elsewhere);
                    };
                    if !is_github(&next, &self.0.endpoints.web) {
                        return Ok(StoredFile::Elsewhere);
                    }
                    // A server in private mode redirects to the sign-in page.
                    if next.path().starts_with("/login") {
                        return Ok(StoredFile::Missing(answer.status().as_u16()));
                    }
                    url = next;
                }
                status @ (401 | 403 | 404 | 410) => return Ok(StoredFile::Missing(status)),
                status => return Err(refused(WHAT, status)),
            }
        }
        Ok(StoredFile::Elsewhere)
    }

    /// The signed address of a picture, from GitHub's rendering of its text.
    async fn signed_address(
        &self,
        at: &InstalledRepository,
        source: AttachmentSource,
        id: &str,
    ) -> Result<Option<Url>> {
        #[derive(Deserialize)]
        struct Wire {
            body_html: Option<String>,
        }
        let route = match source {
            AttachmentSource::Issue(number) => at.route(&format!("/issues/{number}")),
            AttachmentSource::Comment(comment) => at.route(&format!("/issues/comments/{comment}")),
        };
        let token = self.token(at, TokenPermissions::ReadIssues, None).await?;
        let request = self.plain_client()?.get(format!("{}{route}", self.0.endpoints.rest));
        let request = request
            .bearer_auth(token.secret().expose_secret())
            .header(ACCEPT, "application/vnd.github.full+json")
            .header("x-github-api-version", API_VERSION);
        let answer = request.send().await.map_err(|error| unreachable(WHAT, &error))?;
        match answer.status().as_u16() {
            200 => {}
            403 | 404 | 410 => return Ok(None),
            status => return Err(refused(WHAT, status)),
        }
        let Some(json) = body_of(answer, LARGEST_DOCUMENT, WHAT).await? else { return Ok(None) };
        let wire: Wire = serde_json::from_slice(&json)
            .map_err(|error| GitHubError::unexpected(format!("GitHub's answer is no issue: {error}")))?;
        let html = wire.body_html.unwrap_or_default();
        let signed = addresses(&html).filter_map(|(_, address)| {
            let url = Url::parse(&address.replace("&amp;", "&")).ok()?;
            (is_github(&url, &self.0.endpoints.web) && url.query().is_some() && url.path().contains(id))
                .then_some(url)
        });
        Ok({ signed }.next())
    }
}

/// The subject of error messages.
const WHAT: &str = "an attachment";

enum StoredFile {
    Bytes(Vec<u8>),
    TooLarge,
    Missing(u16),
    /// It redirects to another host, or nowhere.
    Elsewhere,
}

impl StoredFile {
    fn told(self) -> FetchedAttachment {
        let because = match self {
            Self::Bytes(bytes) => return FetchedAttachment::Bytes(bytes),
            Self::TooLarge => format!("it is larger than {} MiB", MOST_READ / (1024 * 1024)),
            Self::Missing(status) => format!(
                "GitHub does not give it to an App (status {status}); of private repositories it gives pictures only"
            ),
            Self::Elsewhere => "it leads to a host that is not GitHub's".to_owned(),
        };
        FetchedAttachment::Unreadable(because)
    }
}

/// Everything in a text that looks like an address, with its position: in Markdown, HTML or plain text.
fn addresses(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("http").filter_map(|(at, _)| {
        let rest = text.get(at..)?;
        if !rest.starts_with("https://") && !rest.starts_with("http://") {
            return None;
        }
        // Keeps a text that consists only of addresses from being scanned repeatedly.
        let rest = rest.get(..rest.floor_char_boundary(LONGEST_ADDRESS + 4)).unwrap_or(rest);
        let end = rest.find(|c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | '"' | '\'' | '`' | '\\')
        });
        let address = rest.get(..end.unwrap_or(rest.len()))?;
        (address.len() <= LONGEST_ADDRESS).then_some((at, address))
    })
}

/// The attachment at an address, if it is one.
fn link_of(address: &str, web: &Url) -> Option<AttachmentLink> {
    let mut url = Url::parse(address.trim_end_matches(['.', ',', ';', ':', '!', '?'])).ok()?;
    url.set_fragment(None);
    let segments: Vec<String> = url.path_segments()?.map(str::to_owned).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let link = |url: Url, name: Option<&str>, id: Option<&str>| {
        Some(AttachmentLink {
            url,
            name: name.map(str::to_owned),
            id: id.map(str::to_owned),
            alternative: None,
        })
    };
    if is_at(&url, web) {
        url.set_query(None);
        return match segments.as_slice() {
            ["user-attachments", "assets", id] if is_uuid(id) => link(url, None, Some(id)),
            ["user-attachments", "files", number, name] if is_number(number) => link(url, Some(name), None),
            [_, _, "assets", user, id] if is_number(user) && is_uuid(id) => link(url, None, Some(id)),
            [_, _, "files", number, name] if is_number(number) => link(url, Some(name), None),
            _ => None,
        };
    }
    if !is_one_of(&url, web, &PICTURE_HOSTS) {
        return None;
    }
    let file = segments.last().copied()?;
    let id = file.split('.').next()?;
    let id = id.get(id.len().checked_sub(36)?..).filter(|id| is_uuid(id))?;
    link(url, None, Some(id))
}

/// The alternative text before an address: `![this](` in Markdown, `alt="this"` in HTML.
fn alternative(before: &str) -> Option<String> {
    let before = before.get(before.ceil_char_boundary(before.len().saturating_sub(LONGEST_TAG))..)?;
    let found = match before.strip_suffix("](") {
        Some(label) => label.rsplit_once('[')?.1,
        None => {
            let tag = before.rsplit_once("<img ")?.1;
            tag.split_once("alt=\"").filter(|_| !tag.contains('>'))?.1.split_once('"')?.0
        }
    };
    Some(found.to_owned()).filter(|found| !found.trim().is_empty() && found.len() <= 200)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether an address is on GitHub's web host. Scheme and port must match: on loopback there are other servers.
fn is_at(url: &Url, web: &Url) -> bool {
    url.origin() == web.origin() && url.username().is_empty() && url.password().is_none()
}

fn is_one_of(url: &Url, web: &Url, hosts: &[&str]) -> bool {
    // An Enterprise Server keeps everything on its own host; these hosts are github.com's.
    let is_plain = url.scheme() == "https" && url.port().is_none() && url.username().is_empty();
    is_plain
        && url.password().is_none()
        && web.host_str() == Some("github.com")
        && url.host_str().is_some_and(|host| hosts.contains(&host))
}

/// Whether an attachment's content may come from this address.
fn is_github(url: &Url, web: &Url) -> bool {
    is_at(url, web) || is_one_of(url, web, &PICTURE_HOSTS) || is_one_of(url, web, &STORAGE_HOSTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0bec7adc-52c5-432f-bca7-c9a3186649b4";

    fn links(web: &str, text: &str) -> Vec<String> {
        let web = Url::parse(web).unwrap();
        let links = addresses(text).filter_map(|(at, address)| {
            let link = link_of(address, &web)?;
            Some(format!("{} {:?} {:?}", link.url, link.name, alternative(&text[..at])))
        });
        links.collect()
    }

    #[test]
    fn links_to_attachments_are_found_in_markdown_and_html() {
        let text = format!(
            "![The page](https://github.com/user-attachments/assets/{ID})\n\
             <img width=\"3\" alt=\"Shot\" src=\"https://github.com/user-attachments/assets/{ID}\" />\n\
             [run.log](https://github.com/user-attachments/files/17/run.log), see https://github.com/o/r/files/5/a.txt.\n\
             https://github.com/o/r/assets/7/{ID} \
             https://user-images.githubusercontent.com/7/9-{ID}.png \
             https://private-user-images.githubusercontent.com/7/9-{ID}.png?jwt=x"
        );
        let asset = format!("https://github.com/user-attachments/assets/{ID}");
        let expected = [
            format!("{asset} None Some(\"The page\")"),
            format!("{asset} None Some(\"Shot\")"),
            "https://github.com/user-attachments/files/17/run.log Some(\"run.log\") Some(\"run.log\")"
                .to_owned(),
            "https://github.com/o/r/files/5/a.txt Some(\"a.txt\") None".to_owned(),
            format!("https://github.com/o/r/assets/7/{ID} None None"),
            format!("https://user-images.githubusercontent.com/7/9-{ID}.png None None"),
            format!("https://private-user-images.githubusercontent.com/7/9-{ID}.png?jwt=x None None"),
        ];
        assert_eq!(links("https://github.com", &text), expected);
    }

    #[test]
    fn nothing_else_is_an_attachment() {
        for address in [
            "http://github.com/user-attachments/assets/ID",
            "https://github.com:8443/user-attachments/assets/ID",
            "https://user@github.com/user-attachments/assets/ID",
            "https://github.com.evil.example/user-attachments/assets/ID",
            "https://evil.example/user-attachments/assets/ID",
            "https://github.com@evil.example/user-attachments/assets/ID",
            "https://github.com/user-attachments/assets/../../o/r/settings",
            "https://github.com/user-attachments/files/x/run.log",
            "https://github.com/o/r/raw/main/run.log",
            "https://raw.githubusercontent.com/o/r/main/9-ID.png",
            "https://objects.githubusercontent.com/9-ID.png",
            "https://user-images.githubusercontent.com:444/7/9-ID.png",
            "https://127.0.0.1/user-attachments/assets/ID",
            "https://169.254.169.254/user-attachments/files/1/run.log",
        ] {
            assert_eq!(links("https://github.com", &address.replace("ID", ID)), Vec::<String>::new());
        }
        // An Enterprise Server's own host counts, and github.com's hosts do not.
        let text = format!(
            "https://git.example.org/user-attachments/assets/{ID} https://github.com/user-attachments/assets/{ID} \
             https://user-images.githubusercontent.com/7/9-{ID}.png"
        );
        assert_eq!(links("https://git.example.org", &text).len(), 1);
    }

    #[test]
    fn a_text_of_nothing_but_addresses_takes_no_time() {
        let text = "https://".repeat(8_000);
        // Scanning once per address would exceed the test's timeout.
        assert_eq!(links("https://github.com", &text), Vec::<String>::new());
        let long = format!("https://github.com/user-attachments/files/1/{}.log", "x".repeat(3_000));
        assert_eq!(links("https://github.com", &long), Vec::<String>::new());
    }

    #[test]
    fn what_an_attachment_leads_to_is_githubs_storage() {
        let web = Url::parse("https://github.com").unwrap();
        for (address, may) in [
            ("https://objects.githubusercontent.com/x", true),
            ("https://github-production-user-asset-6210df.s3.amazonaws.com/x", true),
            ("https://private-user-images.githubusercontent.com/x?jwt=y", true),
            ("https://github-production-evil.s3.amazonaws.com/x", false),
            ("https://evil.s3.amazonaws.com/x", false),
            ("http://objects.githubusercontent.com/x", false),
            ("https://127.0.0.1/x", false),
            ("https://[::1]/x", false),
            ("https://localhost/x", false),
        ] {
            assert_eq!(is_github(&Url::parse(address).unwrap(), &web), may, "{address}");
        }
    }
}
