import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ParsedArgumentsTests {
    @Test(arguments: [
        ["-o", "x"], ["-ox"], ["--output", "x"], ["--output=x"], ["-qo", "x"], ["-qox"], ["-o", "a", "-o", "x"],
    ])
    func `an argument may follow in any form, and the last one counts`(_ line: [String]) throws {
        #expect(try ParsedArguments(line).value(.output) == "x")
    }

    @Test
    func `short switches combine`() throws {
        let parsed = try ParsedArguments(["-qvh"])
        #expect(parsed.has(.quiet) && parsed.has(.verbose) && parsed.has(.help))
        #expect(parsed.operands.isEmpty)
    }

    @Test
    func `operands and options may be mixed`() throws {
        let parsed = try ParsedArguments(["a", "-q", "b", "--jobs", "3", "c"])
        #expect(parsed.operands == ["a", "b", "c"])
        #expect(parsed.value(.jobs) == "3")
    }

    @Test
    func `everything after two hyphens is an operand`() throws {
        let parsed = try ParsedArguments(["-q", "--", "-v", "--json", "--"])
        #expect(parsed.operands == ["-v", "--json", "--"])
        #expect(!parsed.has(.verbose))
    }

    @Test
    func `a hyphen alone is an operand, or an argument`() throws {
        #expect(try ParsedArguments(["-"]).operands == ["-"])
        #expect(try ParsedArguments(["-i", "-"]).value(.inputFile) == "-")
    }

    @Test
    func `a repeated option keeps all arguments in order`() throws {
        let parsed = try ParsedArguments(["--header", "A: 1", "--header=B: 2", "--header", "--json"])
        #expect(parsed.all(.header) == ["A: 1", "B: 2", "--json"])
    }

    @Test
    func `an argument keeps its equals signs and may be empty`() throws {
        #expect(try ParsedArguments(["--checksum=md5=00"]).value(.checksum) == "md5=00")
        #expect(try ParsedArguments(["--output="]).value(.output) == "")
    }

    @Test
    func `options converted to words parse to the same options`() throws {
        let line = ["-j3", "--header", "A: 1", "--header=B: 2", "-q", "--title=", "x", "--watch"]
        let parsed = try ParsedArguments(line)
        let words = parsed.words(leavingOut: .watch)
        #expect(Set(words) == ["--jobs=3", "--header=A: 1", "--header=B: 2", "--quiet", "--title="])
        let again = try ParsedArguments(words)
        #expect(again.all(.header) == parsed.all(.header) && again.value(.title) == "" && again.has(.quiet))
    }

    @Test(arguments: [
        (["--bogus"], "--bogus: no such option"),
        (["--bogus=1"], "--bogus: no such option"),
        (["-qy"], "-y: no such option"),
        (["--json=1"], "--json: takes no argument"),
        (["--jobs"], "--jobs: N is missing"),
        (["-qj"], "-j: N is missing"),
        (["--outpu", "x"], "--outpu: no such option; did you mean --output?"),
    ])
    func `an option that is not in the table is rejected`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try ParsedArguments(line) }
    }
}
