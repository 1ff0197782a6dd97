import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct SystemdUnitTests {
    /// Quoting by systemd.syntax(7) and systemd.service(5).
    @Test(arguments: [
        ("/usr/bin/headrace", "/usr/bin/headrace"), ("--jobs=4", "--jobs=4"), ("", "\"\""), ("a b", "\"a b\""),
        ("100%", "100%%"), ("$HOME", "$$HOME"), ("a\"b\\", "\"a\\\"b\\\\\""), ("a\nb\t", "\"a\\nb\\x09\""),
        ("'x'", "\"'x'\""),
        ("a;b", "\"a;b\""), ("tö", "tö"),
    ])
    func `a word is quoted for systemd`(_ word: String, quoted: String) {
        #expect(SystemdUnit.quoted(word, variables: true) == quoted)
    }

    @Test
    func `the unit runs the tool with its arguments`() {
        let text = SystemdUnit(executable: "/my tools/$x", arguments: ["queue", "run", "--group=a $b"]).text
        #expect(text.contains("\nExecStart=\"/my tools/$x\" queue run \"--group=a $$b\"\n"))
        for section in ["[Unit]", "[Service]", "[Install]"] {
            #expect(text.split(separator: "\n").contains(Substring(section)))
        }
    }
}
