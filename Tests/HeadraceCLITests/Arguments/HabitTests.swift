import Testing

@testable import HeadraceCLI

/// The options of curl, wget and aria2.
@Suite(.timeLimit(.minutes(4)))
struct HabitTests {
    private static let get = Verb.table.first { $0.name == "get" }?.options ?? []

    private func parsed(_ line: String, _ table: [Option.Entry] = get) throws -> ParsedArguments {
        try ParsedArguments(line.split(separator: " ").map(String.init), table: table)
    }

    @Test(arguments: [
        ("-L u", "u"), ("-fL -C - u", "u"), ("-C- u", "u"), ("-c u", "u"), ("-J u", "u"), ("--continue=true u", "u"),
        ("-fsSL u", "--quiet u"), ("--continue-at - u", "u"), ("--continue-at=- u", "u"), ("-sS u", "--quiet u"),
        ("-N u", "--if-changed u"), ("-P /d u", "--directory=/d u"), ("-P/d u", "--directory=/d u"),
        ("--output-dir=/d u", "--directory=/d u"), ("-s u", "--quiet u"), ("--no-verbose u", "--quiet u"),
        ("-n u", "--netrc u"), ("-I u", "--dry-run u"), ("--spider u", "--dry-run u"), ("--retry 3 u", "--retries=3 u"),
        ("--max-redirect=2 u", "--max-redirects=2 u"), ("--max-redirs 2 u", "--max-redirects=2 u"),
        ("-x16 -s16 u", "--connections=16 u"), ("-s 8 u", "--connections=8 u"), ("-s16 u", "--connections=16 u"),
        ("-x2 -s16 u", "--connections=2 u"), ("-H A:b u", "--header=A:b u"), ("-Aa u", "--user-agent=a u"),
        ("--max-time 5 u", "--time-limit=5 u"), ("-ucat:dog u", "--user=cat:dog u"), ("-er u", "--referer=r u"),
    ])
    func `options of other tools have the meaning that they have there`(_ line: String, same: String) throws {
        let (given, meant) = (try parsed(line), try parsed(same))
        #expect(given.operands == meant.operands)
        #expect(Set(given.words()) == Set(meant.words()))
    }

    @Test(arguments: [
        ("-O u", "-O: leave it out to use the server's name, or write -o FILE to choose the name"),
        ("-LO u", "-O: leave it out to use the server's name, or write -o FILE to choose the name"),
        ("-k u", "-k: certificates are always checked; trust a private authority with --cacert FILE"),
        ("--insecure u", "--insecure: certificates are always checked; trust a private authority with --cacert FILE"),
        ("-m 5 u", "-m: write --time-limit SECONDS (curl) or --retries N (aria2)"),
        ("-T 5 u", "-T: write --timeout SECONDS (wget); files cannot be uploaded"), ("-nv u", "-nv: write --quiet"),
        ("-nc u", "-nc: write --if-exists skip"),
        ("--tries=3 u", "--tries: write --retries N, which does not count the first attempt"),
        ("-C 500 u", "-C: the offset to resume at is found without it; leave it out"),
        ("--retry", "--retries: N is missing"), ("-P", "-P: DIR is missing"), ("-Y u", "-Y: no such option"),
        ("--no-clobbe u", "--no-clobbe: no such option"),
    ])
    func `an option without a counterpart gets a line that says what to write`(_ line: String, message: String) {
        #expect(throws: UsageError(message)) { try self.parsed(line) }
    }

    @Test func `only commands that send requests know the options of other tools`() throws {
        let list = try #require(Verb.table.first { $0.name == "queue list" }).options
        for word in ["-L", "-k", "-N", "-s"] {
            #expect(throws: UsageError("\(word): no such option")) { try self.parsed(word, list) }
        }
    }

    @Test func `each word of the table differs from the tool's own options`() {
        for entry in Option.table {
            #expect(Habit.find("--\(entry.option.rawValue)", in: Self.get) == nil)
            if let short = entry.short { #expect(Habit.find("-\(short)", in: Self.get) == nil) }
        }
        #expect(Habit.find("--spider", in: Self.get) == .name(.dryRun))
    }
}
