//! One word for each variant of an enum, as a table.

/// `words!(Severity::as_str { Critical: "critical", … })` makes that method; `words!(Exit::Display { … })` the trait.
macro_rules! words {
    ($type:ident::Display { $($variant:ident: $word:expr),* $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(match self { $(Self::$variant => $word),* })
            }
        }
    };
    ($type:ident::$method:ident { $($variant:ident: $word:expr),* $(,)? }) => {
        impl $type {
            pub fn $method(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

pub(crate) use words;
