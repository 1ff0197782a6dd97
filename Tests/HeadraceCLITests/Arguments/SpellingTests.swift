import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct SpellingTests {
    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("", "ab", 2), ("get", "get", 0), ("gte", "get", 1), ("get", "set", 1),
        ("gets", "get", 1),
        ("quiet", "quite", 1), ("kitten", "sitting", 3), ("ca", "abc", 3),
    ])
    func `the distance counts changed, missing, extra and swapped letters`(
        _ first: String,
        _ second: String,
        distance: Int
    ) {
        #expect(Spelling.distance(Array(first), Array(second)) == distance)
        #expect(Spelling.distance(Array(second), Array(first)) == distance)
    }

    @Test(arguments: [
        ("jsno", "json"), ("JSON", "json"), ("out", "output"), ("retires", "retries"), ("conections", "connections"),
        ("chekcsum", "checksum"), ("if-exist", "if-exists"), ("no-resum", "no-resume"),
    ])
    func `a misspelled option is found`(_ word: String, expected: String) {
        #expect(Spelling.nearest(to: word, in: Option.allCases.map(\.rawValue)) == expected)
    }

    @Test(arguments: ["", "x", "zz", "continue", "con", "no-", "recursive"])
    func `a word close to none or to several options has no suggestion`(_ word: String) {
        #expect(Spelling.nearest(to: word, in: Option.allCases.map(\.rawValue)) == nil)
    }

    @Test
    func `a message ends with the suggestion, or else with the advice`() {
        #expect(Spelling.hint("get", else: "look") == "; did you mean get?")
        #expect(Spelling.hint(nil, else: "look") == "; look")
        #expect(Spelling.hint(nil) == "")
    }
}
