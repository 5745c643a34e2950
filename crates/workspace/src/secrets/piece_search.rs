//! Which of thousands of pieces stand in a text, in upper or lower case.
//!
//! A table of how they begin is built in a fraction of the time of an automaton over all of them, and a server builds it
//! before it is ready.

/// Every piece has so many letters. Its first ones are taken as one number, and of these the table is made.
pub(super) const SHORTEST: usize = 8;
/// Bits of the table for a piece, so that few texts that are none are looked up.
const BITS_EACH: usize = 32;

/// What is looked for of a secret.
pub(super) struct SecretPiece {
    beginning: u64,
    text: Vec<u8>,
    /// The number of the secret.
    pub(super) whose: usize,
}

impl SecretPiece {
    /// None where it is too short.
    pub(super) fn new(text: Vec<u8>, whose: usize) -> Option<Self> {
        let beginning = text.first_chunk::<SHORTEST>()?;
        Some(Self { beginning: beginning.iter().fold(0, longer), text, whose })
    }
}

/// The last letters, with one more.
fn longer(letters: u64, next: &u8) -> u64 {
    letters << 8 | u64::from(next.to_ascii_lowercase())
}

/// Pieces, ready to be looked for.
pub(super) struct PieceSearch {
    /// In the sequence of their beginnings.
    pub(super) pieces: Vec<SecretPiece>,
    /// A bit for each hash of a beginning.
    begins: Vec<u64>,
    /// What makes the number of a bit of a hash.
    shift: u32,
}

impl PieceSearch {
    pub(super) fn of(mut pieces: Vec<SecretPiece>) -> Self {
        pieces.sort_by_key(|piece| piece.beginning);
        let bits = (pieces.len() * BITS_EACH).max(64).next_power_of_two();
        let mut search = Self { begins: vec![0; bits / 64], shift: u64::BITS - bits.ilog2(), pieces };
        for at in 0..search.pieces.len() {
            let (word, bit) = search.place(search.pieces[at].beginning);
            search.begins[word] |= bit;
        }
        search
    }

    /// Tells each place in a text where a piece stands, with the piece's number, until it hears that this is enough.
    pub(super) fn find(&self, text: &[u8], mut each: impl FnMut(usize, usize) -> bool) {
        let mut letters = 0;
        for (last, next) in text.iter().enumerate() {
            letters = longer(letters, next);
            let (word, bit) = self.place(letters);
            if self.begins[word] & bit == 0 {
                continue;
            }
            // Before there are so many letters, none can stand here.
            let Some(start) = (last + 1).checked_sub(SHORTEST) else { continue };
            let first = self.pieces.partition_point(|piece| piece.beginning < letters);
            let begin_so = self
                .pieces
                .iter()
                .enumerate()
                .skip(first)
                .take_while(|(_, piece)| piece.beginning == letters);
            for (number, piece) in begin_so {
                let here = text.get(start..start + piece.text.len());
                if here.is_some_and(|here| here.eq_ignore_ascii_case(&piece.text)) && !each(number, start) {
                    return;
                }
            }
        }
    }

    fn place(&self, letters: u64) -> (usize, u64) {
        // Fibonacci hashing: its high bits depend on all letters.
        let hash = letters.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        ((hash / 64) as usize, 1 << (hash % 64))
    }
}
