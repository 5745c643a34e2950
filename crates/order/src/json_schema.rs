//! JSON schemas of types with hand-written serde code, which schemars cannot derive.
//!
//! May know: how these types are written. Must never know: what the schemas are for.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::ids::RepositoryName;
use super::pipeline::{PipelineVersion, Seconds, Verifiers};
use super::settings::{
    ProofRequirement, ProofSettings, ProofTable, VerificationPolicy, VerificationSettings, VerificationTable,
};

/// Gives a type this schema.
macro_rules! written_as {
    ($type:ident, $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

written_as!(RepositoryName, { "type": "string", "pattern": "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$" });
written_as!(Seconds, {
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": 604_800 },
        { "type": "string", "pattern": "^\\s*[0-9]+\\s*[smh]?\\s*$" },
    ],
});
written_as!(PipelineVersion, {
    "anyOf": [
        { "type": "number", "minimum": 0 },
        { "type": "string", "pattern": "^[0-9][A-Za-z0-9.+_-]*$", "maxLength": 40 },
    ],
});
written_as!(Verifiers, {
    "anyOf": [
        { "type": "null" },
        { "type": "string" },
        { "type": "array", "items": { "type": "string" } },
    ],
});

/// As a word, or as a table.
macro_rules! word_or_table {
    ($type:ty, $name:literal, $word:ty, $table:ty) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let word = generator.subschema_for::<$word>();
                let table = generator.subschema_for::<$table>();
                json_schema!({ "anyOf": [word, table] })
            }
        }
    };
}

word_or_table!(ProofSettings, "ProofSettings", ProofRequirement, ProofTable);
word_or_table!(VerificationSettings, "VerificationSettings", VerificationPolicy, VerificationTable);
