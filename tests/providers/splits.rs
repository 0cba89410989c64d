//! Properties of the decoder: no cut of the bytes changes what they come to, and no bytes at all make it panic.

use hamlet::providers::{Discretion, Quirks, openai_chat::decoder::ChatDecoder};
use proptest::prelude::*;

use crate::{
    cases,
    told::{decoded, origin},
};

proptest! {
    #[test]
    fn any_cut_of_any_case_comes_to_the_same(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let all = cases::all();
        let case = which.get(&all);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(case.bytes.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(&decoded(&case.bytes, &cuts, &case.quirks), &case.told, "{}", case.name);
    }

    #[test]
    fn arbitrary_bytes_have_one_end(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(bytes.len() + 1);
        let quirks = Quirks { think_tags: true, ..Quirks::default() };
        prop_assert_eq!(decoded(&bytes, &[cut], &quirks).parts, decoded(&bytes, &[], &quirks).parts);
    }

    /// Closer to the protocol than arbitrary bytes: a case with bytes replaced, removed and doubled.
    #[test]
    fn a_damaged_case_has_one_end_and_no_cut_changes_it(
        which in any::<prop::sample::Index>(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let all = cases::all();
        let case = which.get(&all);
        let mut bytes = case.bytes.clone();
        for (at, byte, wound) in wounds {
            let at = at.index(bytes.len() + 1).min(bytes.len().saturating_sub(1));
            match wound {
                _ if bytes.is_empty() => {}
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
        }
        let cut = cut.index(bytes.len() + 1);
        prop_assert_eq!(decoded(&bytes, &[cut], &case.quirks), decoded(&bytes, &[], &case.quirks));
    }
}

/// A stream that never ends an event, a name, a call or a tag keeps no more than the bounds say.
#[test]
fn a_stream_without_end_is_ended() {
    let endless = [
        ("data: x", vec![b'x'; 64 * 1024]),
        ("{", vec![b' '; 64 * 1024]),
        ("", b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{},{\"function\":{\"name\":\"n\"}}]}}]}\n\n".repeat(500)),
        ("", format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"function\":{{\"arguments\":\"{}\"}}}}]}}}}]}}\n\n", "a".repeat(60_000)).into_bytes()),
    ];
    for (start, more) in endless {
        let mut decoder = ChatDecoder::new(origin(), &Quirks::default(), Discretion::default());
        let mut events = Vec::new();
        decoder.read(start.as_bytes(), &mut events);
        let needed = (0..100_000).take_while(|_| {
            decoder.read(&more, &mut events);
            !decoder.has_ended()
        });
        let fed = (needed.count() + 1) * more.len();
        assert!(decoder.has_ended(), "{start:?} goes on");
        assert!(fed < 200 * 1024 * 1024, "{start:?} ended after {fed} bytes");
    }
}
