//! How programs are pointed at the gateway.

use super::super::GatewayBudget;
use super::super::environment::PLACEHOLDER;
use super::service::{FakeUpstream, KEY, message};
use super::*;
use journeyman_order::model_service::Provider;

#[tokio::test]
async fn a_job_is_told_of_its_door_and_not_of_the_key() {
    let service = FakeUpstream::start(|_| message(1, 1)).await;
    for (provider, base, key) in [
        (Provider::Anthropic, ("ANTHROPIC_BASE_URL", "http://127.0.0.1:3128"), "ANTHROPIC_API_KEY"),
        (Provider::OpenAi, ("OPENAI_BASE_URL", "http://127.0.0.1:3128/v1"), "OPENAI_API_KEY"),
    ] {
        let gateway = super::super::open(service.policy(provider, GatewayBudget::default()));
        let told = gateway.environment(3128);
        for (name, value) in [base, (key, PLACEHOLDER), ("https_proxy", "http://127.0.0.1:3128")] {
            assert!(told.contains(&(name.to_owned(), value.to_owned())), "{name}");
        }
        assert!(told.iter().all(|(_, value)| !value.contains(KEY)));
        let mut once: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), told.len(), "a variable is said once");
    }
    let told = super::super::open(names(&[])).environment(1);
    assert!(told.iter().all(|(name, _)| !name.contains("API_KEY") && !name.contains("BASE_URL")));
}
