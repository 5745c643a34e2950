//! Small inputs that grow large. They are unpacked only inside the sandbox, and the output is counted.

use std::io::Write;

use flate2::{Compress, Compression, FlushCompress};
use git2::{ObjectType, Oid};

use super::{FILE, HostileAgent, HostileCase, HostilePush, TREE, case};
use journeyman_order::bounds::MOST_PRINTED;

pub(super) fn cases() -> Vec<HostileCase> {
    vec![
        case("a hundred thousand files", "files differ", |agent| {
            let blob = agent.blob(b"x");
            let names: Vec<String> = (0..100_000).map(|n| format!("f{n:06}")).collect();
            let entries: Vec<_> = names.iter().map(|name| (FILE, name.as_bytes(), blob)).collect();
            let folder = agent.tree(&entries);
            HostilePush::Tree(agent.beside_base(&[(TREE, b"many", folder)]))
        }),
        case("a folder that holds itself ten times, forty deep", "files differ", |agent| {
            let mut id = agent.tree(&[(FILE, b"x", agent.blob(b"x"))]);
            for _ in 0..40 {
                let names: Vec<String> = (0..10).map(|n| format!("d{n}")).collect();
                id = agent.tree(&names.iter().map(|name| (TREE, name.as_bytes(), id)).collect::<Vec<_>>());
            }
            HostilePush::Tree(agent.beside_base(&[(TREE, b"bomb", id)]))
        }),
        case("the same without a single file", "entries of folders differ", |agent| {
            let mut id = agent.tree(&[]);
            for _ in 0..40 {
                let names: Vec<String> = (0..10).map(|n| format!("d{n}")).collect();
                id = agent.tree(&names.iter().map(|name| (TREE, name.as_bytes(), id)).collect::<Vec<_>>());
            }
            HostilePush::Tree(agent.beside_base(&[(TREE, b"bomb", id)]))
        }),
        case("folders a hundred deep", "nested too deeply", |agent| {
            let mut id = agent.tree(&[(FILE, b"x", agent.blob(b"x"))]);
            for _ in 0..100 {
                id = agent.tree(&[(TREE, b"d", id)]);
            }
            HostilePush::Tree(agent.beside_base(&[(TREE, b"deep", id)]))
        }),
        case("a listing of ten megabytes", "huge", |agent| {
            let blob = agent.blob(b"x");
            let names: Vec<String> = (0..300_000).map(|n| format!("f{n:06}")).collect();
            let entries: Vec<_> = names.iter().map(|name| (FILE, name.as_bytes(), blob)).collect();
            HostilePush::Tree(agent.beside_base(&[(TREE, b"many", agent.tree(&entries))]))
        }),
        case("a file of twenty megabytes under a thousand names", "holds more than 16 GiB", |agent| {
            let blob = agent.blob(&vec![b'x'; 20 << 20]);
            let names: Vec<String> = (0..1_000).map(|n| format!("f{n:03}")).collect();
            let entries: Vec<_> = names.iter().map(|name| (FILE, name.as_bytes(), blob)).collect();
            HostilePush::Tree(agent.beside_base(&[(TREE, b"many", agent.tree(&entries))]))
        }),
        case("a file that is too large", "larger than 25 MiB", |agent| {
            let large = agent.blob(&vec![b'x'; 26 << 20]);
            HostilePush::Tree(agent.beside_base(&[(FILE, b"large", large)]))
        }),
        case("a file of two gibibytes in two megabytes", "larger than 256 MiB", |agent| {
            let id = zeros(agent, 2 << 30, 0x77);
            HostilePush::Tree(agent.beside_base(&[(FILE, b"huge", id)]))
        }),
        case("twenty files of 24 MiB in half a megabyte", "larger than 256 MiB", |agent| {
            let ids: Vec<(String, Oid)> =
                (0..20).map(|n| (format!("z{n:02}"), zeros(agent, 24 << 20, 0x80 + n))).collect();
            let entries: Vec<_> = ids.iter().map(|(name, id)| (FILE, name.as_bytes(), *id)).collect();
            HostilePush::Tree(agent.beside_base(&entries))
        }),
        case("deltas that double, one upon the other", "larger than 256 MiB", |agent| {
            let id = doubled(agent, 19);
            HostilePush::Tree(agent.beside_base(&[(FILE, b"doubled", id)]))
        }),
    ]
}

/// A loose object of this many zeros, compressed to a thousandth, under an unchecked id.
fn zeros(agent: &HostileAgent, length: usize, name: u8) -> Oid {
    const CHUNK: usize = 1 << 20;
    let head = format!("blob {length}\0");
    let compressed = |bytes: &[u8], flush| {
        let (mut raw, mut out) = (Compress::new(Compression::best(), false), Vec::with_capacity(64 << 10));
        raw.compress_vec(bytes, &mut out, flush).unwrap();
        assert_eq!(raw.total_in(), bytes.len() as u64);
        out
    };
    let mut file = vec![0x78, 0x9c];
    file.extend(compressed(head.as_bytes(), FlushCompress::Full));
    let chunk = compressed(&[0; CHUNK], FlushCompress::Full);
    (0..length / CHUNK).for_each(|_| file.extend_from_slice(&chunk));
    file.extend(compressed(&[], FlushCompress::Finish));
    // Adler-32, of which zeros change only one half.
    let (a, b) =
        head.bytes().fold((1_u64, 0_u64), |(a, b), byte| (a + u64::from(byte), b + a + u64::from(byte)));
    let b = (b + a * length as u64) % 65_521;
    file.extend(u32::try_from((b << 16) | (a % 65_521)).unwrap().to_be_bytes());
    let id = Oid::from_bytes(&[name; 20]).unwrap();
    let text = id.to_string();
    let folder = agent.origin.path().join("objects").join(&text[..2]);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(&text[2..]), file).unwrap();
    id
}

/// A chain of deltas in a pack, each doubling its base; returns the last object.
fn doubled(agent: &HostileAgent, times: usize) -> Oid {
    let mut whole = vec![b'x'; 1 << 10];
    let mut objects: Vec<(u8, Vec<u8>)> = vec![(3, whole.clone())];
    let number = |mut n: usize| {
        let mut bytes = Vec::new();
        loop {
            let low = u8::try_from(n & 0x7f).unwrap();
            n >>= 7;
            bytes.push(if n > 0 { low | 0x80 } else { low });
            if n == 0 {
                return bytes;
            }
        }
    };
    for _ in 0..times {
        let base = Oid::hash_object(ObjectType::Blob, &whole).unwrap();
        let mut delta = [number(whole.len()), number(2 * whole.len())].concat();
        // Copies of at most 8 MiB each, of the whole base, twice.
        for _ in 0..2 {
            let mut at = 0;
            while at < whole.len() {
                let part = (whole.len() - at).min(8 << 20);
                delta.push(0b1111_1111);
                delta.extend(u32::try_from(at).unwrap().to_le_bytes());
                delta.extend(&u32::try_from(part).unwrap().to_le_bytes()[..3]);
                at += part;
            }
        }
        objects.push((7, [base.as_bytes(), &delta].concat()));
        whole.extend_from_within(..);
    }
    assert!(whole.len() as u64 > MOST_PRINTED);
    pack(agent, &objects);
    Oid::hash_object(ObjectType::Blob, &whole).unwrap()
}

/// A pack of these objects: 3 for a blob, 7 for a delta after its base's id.
fn pack(agent: &HostileAgent, objects: &[(u8, Vec<u8>)]) {
    let mut bytes = b"PACK\0\0\0\x02".to_vec();
    bytes.extend(u32::try_from(objects.len()).unwrap().to_be_bytes());
    for (kind, content) in objects {
        let (base, content) = if *kind == 7 { content.split_at(20) } else { content.split_at(0) };
        let mut size = content.len() >> 4;
        let mut first = (kind << 4) | u8::try_from(content.len() & 0xf).unwrap();
        while size > 0 {
            bytes.push(first | 0x80);
            first = u8::try_from(size & 0x7f).unwrap();
            size >>= 7;
        }
        bytes.push(first);
        bytes.extend_from_slice(base);
        let mut deflate = flate2::write::ZlibEncoder::new(&mut bytes, Compression::fast());
        deflate.write_all(content).unwrap();
        deflate.finish().unwrap();
    }
    // A pack ends with the SHA-1 of everything before.
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    bytes.extend_from_slice(digest.as_ref());
    agent.run_git(&["index-pack", "--stdin", "--threads=1"], &bytes);
    agent.origin.odb().unwrap().refresh().unwrap();
}
