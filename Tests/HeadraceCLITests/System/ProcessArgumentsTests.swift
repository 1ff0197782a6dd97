import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ProcessArgumentsTests {
    @Test(
        arguments: [
            ("", []), ("headrace\0", []), ("headrace\0get\0-x\0", ["get", "-x"]), ("\0get\0", ["get"]),
            ("headrace\0\0", [""]), ("headrace\0a b\0\0\u{E9}\n\0", ["a b", "", "\u{E9}\n"]),
            ("headrace\0get", ["get"]),
        ] as [(String, [String])]
    )
    func `a zero byte follows each argument`(_ line: String, _ expected: [String]) throws {
        let arguments = ProcessArguments(commandLine: Array(line.utf8))
        #expect(arguments.texts == expected)
        try arguments.checkEncoding()
    }

    @Test func `an argument that is not UTF-8 is refused by its number`() {
        let arguments = ProcessArguments(commandLine: Array("headrace\0get\0a".utf8) + [0xFF, 0])
        #expect(throws: UsageError("argument 2 is not in UTF-8, which all arguments have to be")) {
            try arguments.checkEncoding()
        }
    }

    @Test func `the arguments of this process are those that it was started with`() {
        #expect(ProcessArguments.current.texts == Array(CommandLine.arguments.dropFirst()))
    }
}
