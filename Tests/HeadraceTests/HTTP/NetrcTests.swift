import HeadracePlatform
import Testing

@testable import Headrace

/// Logins by host from a netrc file.
@Suite(.timeLimit(.minutes(4)))
struct NetrcTests {
    private func login(_ text: String, for host: String) throws -> String? {
        let url = try #require(URL(string: "https://\(host)/"))
        return try Netrc(parsing: text.utf8).login(for: url).map {
            "\($0.user):\($0.password)\($0.isDefault ? " default" : "")"
        }
    }

    @Test(arguments: [
        ("machine a login u password p", "a", "u:p"),
        ("machine A.Example\n\tlogin u\r\n\tpassword p\n", "a.example", "u:p"),
        ("\u{FEFF}machine a password p login u", "a", "u:p"),
        ("machine a login u", "a", "u:"),
        ("machine a password p", "a", ":p"),
        ("machine a", "a", nil),
        ("machine a login u password p", "b", nil),
        ("machine a login u password p", "x.a", nil),
        ("machine a login u password p machine a login v password q", "a", "u:p"),
        ("machine a login u password p default login d password e", "a", "u:p"),
        ("machine a login u password p default login d password e", "b", "d:e default"),
        ("default login d password e machine a login u password p", "a", "u:p"),
        ("machine a account x login u password p", "a", "u:p"),
        ("machine a login \"u v\" password \"p \\\" \\\\ \\n\"", "a", "u v:p \" \\ n"),
        ("# machine b\nmachine a # login x\n login u password #p", "a", "u:#p"),
        ("macdef init\nmachine a login x\ncd /\n\nmachine a login u password p", "a", "u:p"),
        ("machine a login u password p macdef init\nbin\n", "a", "u:p"),
        ("machine a login machine password login", "a", "machine:login"),
        ("", "a", nil),
    ])
    func `logins are found by host`(_ text: String, _ host: String, _ expected: String?) throws {
        #expect(try login(text, for: host) == expected)
    }

    @Test(arguments: [
        ("machine a login u password my secret", 1), ("login u password secret", 1),
        ("machine a\nlogin u\npassword", 3),
        ("machine a password \"secret", 1), ("\nmachine a password secret\0", 2), ("machine", 1),
    ])
    func `an invalid file is rejected with its line number and without its contents`(_ text: String, _ line: Int) {
        let error = #expect(throws: DownloadError.self) { try Netrc(parsing: text.utf8) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("Line \(line) ") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `the contents are never shown`() throws {
        let netrc = try Netrc(parsing: "machine a login u password hidden".utf8)
        var shown = "\(netrc) \(String(reflecting: netrc))"
        dump(netrc, to: &shown)
        #expect(!shown.contains("hidden"))
    }
}
