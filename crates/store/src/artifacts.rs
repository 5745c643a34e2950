//! Artifacts: data too large for a journal entry, such as an agent's raw stream, stored by digest.

use sha2::{Digest, Sha256};

use super::artifact_files::MOST_IN_ROW;
use super::pool::{read, written};
use super::{Store, StoreError, from_column};
use journeyman_order::OrderId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub info: ArtifactInfo,
    pub content: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactEnd {
    pub info: ArtifactInfo,
    pub content: Vec<u8>,
    /// Number of bytes before them.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Its name, unique within its order.
    pub name: String,
    /// For example `application/x-ndjson`.
    pub media_type: String,
    pub size: u64,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

impl Store {
    /// Stores an artifact of an order, replacing one of the same name.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the name is not 1 to 200 of `[A-Za-z0-9._-]` or the order does not exist.
    pub async fn put_artifact(
        &self,
        order: OrderId,
        name: &str,
        media_type: &str,
        content: &[u8],
    ) -> Result<ArtifactInfo, StoreError> {
        hold_name_to_rules(name)?;
        let size = i64::try_from(content.len())
            .map_err(|_| StoreError::refused(format!("artifact {name}"), "it is too large"))?;
        let sha256 = hex::encode(Sha256::digest(content));
        let files = self.files.as_ref().filter(|_| self.belongs_in_file(name, content.len()));
        let (row, _until_the_row_is_there) = match files {
            // Write the file first, so that the row never refers to a missing one.
            Some(files) => {
                let turn = files.turn.read().await;
                files.write(&sha256, content).await?;
                (&[][..], Some(turn))
            }
            None => (content, None),
        };
        written!(self, "an artifact",
            "INSERT INTO artifacts (order_id, name, media_type, size, sha256, content, in_file) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (order_id, name) DO UPDATE SET \
             media_type = excluded.media_type, size = excluded.size, sha256 = excluded.sha256, \
             content = excluded.content, in_file = excluded.in_file";
            order.to_string(), name, media_type, size, sha256.as_str(), row, files.is_some());
        info((name.to_owned(), media_type.to_owned(), size, sha256))
    }

    /// PostgreSQL keeps sessions in rows: an order may resume on another machine that shares only the database.
    fn belongs_in_file(&self, name: &str, length: usize) -> bool {
        length > MOST_IN_ROW && (self.kind() != "postgres" || !name.starts_with("session-"))
    }

    /// An artifact by name, with its bytes.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if it or its file is missing; [`StoreError::Broken`] if its digest is wrong.
    pub async fn artifact(&self, order: OrderId, name: &str) -> Result<Artifact, StoreError> {
        let what = || format!("artifact {name} of order {order}");
        type ArtifactColumns = (String, String, i64, String, Vec<u8>, bool);
        let row: Option<ArtifactColumns> = read!(self, fetch_optional,
            "SELECT name, media_type, size, sha256, content, in_file FROM artifacts \
             WHERE order_id = $1 AND name = $2";
            order.to_string(), name)?;
        let (name, media_type, size, sha256, row, in_file) =
            row.ok_or_else(|| StoreError::not_found(what()))?;
        let (content, is_whole) = match (in_file, &self.files) {
            (false, _) => {
                let is_whole = hex::encode(Sha256::digest(&row)) == sha256;
                (row, is_whole)
            }
            (true, Some(files)) => files.read(&sha256).await?,
            (true, None) => return Err(StoreError::not_found(format!("the file of {}", what()))),
        };
        if !is_whole {
            return Err(StoreError::broken(
                format!("artifact {name} of order {order}"),
                "its digest is another",
            ));
        }
        Ok(Artifact { info: info((name, media_type, size, sha256))?, content })
    }

    /// The last KiB of an artifact, up to a given number.
    pub async fn artifact_end(
        &self,
        order: OrderId,
        name: &str,
        kibibytes: u16,
    ) -> Result<ArtifactEnd, StoreError> {
        let Artifact { info, mut content } = self.artifact(order, name).await?;
        let left_out = content.len().saturating_sub(usize::from(kibibytes) << 10);
        content.drain(..left_out);
        Ok(ArtifactEnd { info, content, left_out: left_out as u64 })
    }

    /// An order's artifacts, by name.
    pub async fn artifacts(&self, order: OrderId) -> Result<Vec<ArtifactInfo>, StoreError> {
        let rows: Vec<(String, String, i64, String)> = read!(self, fetch_all,
            "SELECT name, media_type, size, sha256 FROM artifacts WHERE order_id = $1 ORDER BY name";
            order.to_string())?;
        rows.into_iter().map(info).collect()
    }
}

fn info((name, media_type, size, sha256): (String, String, i64, String)) -> Result<ArtifactInfo, StoreError> {
    let size = from_column(size, &format!("artifact {name}"))?;
    Ok(ArtifactInfo { name, media_type, size, sha256 })
}

/// Checks a name. It is a path segment of the API and of downloads, so nothing in it may need escaping.
fn hold_name_to_rules(name: &str) -> Result<(), StoreError> {
    let fits = (1..=200).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if fits {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(StoreError::refused(
        format!("artifact {shown:?}"),
        "a name has 1 to 200 of A-Z, a-z, 0-9, ., _ and -",
    ))
}
