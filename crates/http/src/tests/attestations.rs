//! The key is public; the signed receipt needs the token.

use super::*;
use journeyman_attest::{AttestationVerifier, SigningKey};
use journeyman_order::Receipt;

/// Signs like the application, without asking this machine for versions.
pub(super) struct TestSigner(SigningKey);

impl TestSigner {
    pub(super) fn new() -> Self {
        Self(SigningKey::generate().unwrap())
    }
}

#[async_trait]
impl ReceiptAttester for TestSigner {
    fn public_key(&self) -> PublicKey {
        *self.0.public()
    }

    async fn attest(
        &self,
        journal: &Journal,
        projection: &OrderProjection,
    ) -> Result<Envelope, SigningError> {
        let verifier =
            AttestationVerifier { name: "Journeyman".to_owned(), url: None, versions: Default::default() };
        Envelope::of(&Receipt::of(journal, projection), journal.opened_at(), &verifier, &self.0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_gets_the_key_and_an_order_without_a_commit_has_nothing_signed() {
    let house = http_fixture().await;
    let response = house.client.get(house.url("/api/v1/receipt-key")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "no token is asked for");
    assert_eq!(PublicKey::read_pem(&response.text().await.unwrap()).unwrap().len(), 1);

    let order = opened("octo/hello".parse().unwrap(), IssueNumber(7));
    let id = order.order;
    house.store.open_order(order, chrono::Utc::now(), None).await.unwrap();
    let path = format!("/api/v1/work-orders/{id}/attestation");
    let why = problem(house.ask(Method::GET, &path).await, 409).await;
    assert!(why.contains("still running"), "{why}");
    let kind = SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel };
    let cancel = Signal { by: Requester::ApiToken, kind };
    house.store.signal(id, cancel, chrono::Utc::now()).await.unwrap();
    let why = problem(house.ask(Method::GET, &path).await, 409).await;
    assert!(why.contains("no commit"), "{why}");
}
