import Foundation
import Headrace
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ConfigurationFileTests {
    private static let text = """
        # Everywhere.
        limit-rate 2M
          retries\t7
        ipv4
        if-exists skip
        header X-All: everywhere

        [example.org]
        header X-Own: 1
        header X-All: own
        user me:se:cret
        if-exists fail
        [CDN.example.org]
        on-mismatch delete
        """

    private func options(_ line: [String], _ text: String = text, of name: String = "get") throws -> GetOptions {
        let verb = try #require(Verb.table.first { $0.name == name })
        var arguments = try ParsedArguments(line, table: verb.options)
        arguments.add(try ConfigurationFile(parsing: text, path: "f"), for: verb)
        do {
            return try GetOptions(arguments)
        } catch let error as UsageError {
            throw arguments.located(error)
        }
    }

    @Test func `the configuration file applies unless the command line says otherwise`() throws {
        let plain = try options(["http://h/a"])
        #expect(plain.configuration.rateLimit == 2 << 20)
        #expect(plain.configuration.retryPolicy.maxFailures == 7)
        #expect(plain.configuration.connectionPolicy.addressFamily == .ipv4)
        let other = try options(["--limit-rate", "none", "-6", "--retries", "1", "http://h/a"])
        #expect(other.configuration.rateLimit == nil)
        #expect(other.configuration.retryPolicy.maxFailures == 1)
        #expect(other.configuration.connectionPolicy.addressFamily == .ipv6)
    }

    @Test(arguments: ["[::1]", "[[::1]]", "\u{FEFF}[::1]"])
    func `a heading may be an IPv6 address, in brackets of its own or not`(_ heading: String) throws {
        let requests = try options(["http://[::1]:8080/a", "http://h/"], "\(heading)\nheader X: 1").requests()
        #expect(requests.map { $0.headers.map(\.name) } == [["X"], []])
    }

    @Test func `a heading does not match the end of an IP address`() throws {
        let requests = try options(["http://10.0.0.1/a"], "[0.0.1]\nheader X: 1").requests()
        #expect(requests.map(\.headers.count) == [0])
    }

    @Test func `a switch and a file that only the configuration file names are used`() async throws {
        #expect(try options(["http://h/a"], "compressed").requests().map(\.decodesContent) == [true])
        var login = try options(["http://h/a"], "netrc-file /none/netrc")
        let error = await #expect(throws: UsageError.self) { try await login.readNetworkFiles() }
        #expect(error?.message.hasPrefix("--netrc-file: /none/netrc: ") == true)
    }

    @Test func `a queue run supplies the token of a host, but no other secret fields`() async throws {
        let text = "header X-Api-Key: all\n[example.org]\nheader Authorization: bearer hidden\nheader X-Token: own\n"
        let options = try options([], text, of: "queue run")
        let supply = try #require(options.hostCredentials)
        let (own, sub) = (makeURL("https://Example.org/a"), makeURL("https://a.example.org/a"))
        let token = Credential.bearer(token: "hidden")
        #expect(try await supply(CredentialRequest(url: own, schemes: [.bearer])) == token)
        #expect(try await supply(CredentialRequest(url: own, schemes: [])) == token)
        #expect(try await supply(CredentialRequest(url: own, schemes: [.bearer], refused: token)) == nil)
        #expect(try await supply(CredentialRequest(url: sub, schemes: [.bearer])) == nil)
        #expect(try await supply(CredentialRequest(url: own, schemes: [.bearer], isRedirected: true)) == nil)
        let secrets = [own, sub, makeURL("http://h/a")].map { url in
            options.hosts.flatMap { $0.unsuppliedSecrets(for: url) }
        }
        #expect(secrets == [["X-Api-Key", "X-Token"], ["X-Api-Key", "Authorization", "X-Token"], ["X-Api-Key"]])
    }

    /// Regression: the field was left out, since the command has no such option.
    @Test func `queue add sends the fields of --header-everywhere in a section`() throws {
        let request = try options(["http://h/a"], "[h]\nheader-everywhere X: 1\n", of: "queue add").requests()[0]
        #expect(request.headers.map { "\($0.name): \($0.value)" } == ["X: 1"])
    }

    @Test func `a section applies to the URLs of its host and its subdomains`() throws {
        let urls = ["http://h/a", "http://example.org/a", "http://cdn.Example.org/a", "http://notexample.org/a"]
        let requests = try options(urls).requests()
        #expect(requests.map(\.conflictPolicy) == [.skip, .fail, .fail, .skip])
        #expect(requests.map(\.mismatchPolicy) == [.keep, .keep, .delete, .keep])
        let login = Credential.login(user: "me", password: "se:cret").field.value
        let own = ["X-All: own", "X-Own: 1", "Authorization: \(login)"]
        for (request, fields) in zip(requests, [["X-All: everywhere"], own, own, ["X-All: everywhere"]]) {
            #expect(Set(request.headers.map { "\($0.name): \($0.value)" }) == Set(fields))
        }
        let given = try options(["-H", "x-own: 2", "--if-exists", "overwrite", "http://example.org/a"]).requests()[0]
        #expect(given.conflictPolicy == .overwrite)
        #expect(given.headers.filter { $0.name.lowercased() == "x-own" }.map(\.value) == ["2"])
        #expect(given.headers.contains { $0.name == "Authorization" })
    }

    @Test func `a field replaces earlier ones of its name in the same section`() throws {
        let text = "[h]\nheader X-A: 1\nheader X-B: 2\nheader x-a: 3\n"
        let request = try #require(try options(["http://h/a"], text).requests().first)
        #expect(request.headers.map { "\($0.name): \($0.value)" } == ["X-B: 2", "x-a: 3"])
    }

    @Test func `a wrong file that standard output gets is deleted, whatever the configuration file says`() throws {
        let request = try #require(try options(["-o", "-", "http://h/a"], "on-mismatch keep").requests().first)
        #expect(request.mismatchPolicy == .delete)
    }

    /// As for a service without a home directory.
    @Test(arguments: ["/dev/null", "/nonexistent"])
    func `the user's configuration file is skipped if its directory cannot be read`(_ home: String) async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let words = ["get", "-q", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: ["XDG_CONFIG_HOME=\(home)"])
                #expect(try await process.result().status == 0)
            }
        }
    }

    @Test func `the servers that a document chooses get no method, body or secret of the document's server`() throws {
        let text = "header X-Api-Key: all\nheader X-Plain: 1\n[m.example]\nheader X-Token: own\n"
        let line = [
            "-H", "Authorization: a", "-H", "X-Trace: t", "--data", "secret", "--retries", "1", "--checksum",
            "sha1:\(String(repeating: "0a", count: 20))", "-o", "d", "http://h/d",
        ]
        let document = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><url>http://other/1</url></file>
            <file name="b"><url>http://m.example/2</url></file></metalink>
            """
        let all = try options(line, text)
        let first = try #require(try all.requests().first)
        #expect(first.method == "POST" && first.body != nil && first.checksums.count == 1)
        #expect(first.headers["X-Api-Key"] == "all")
        let options = all.following(["d"])
        #expect(options.metalinks == ["d"])
        let requests = try options.requests(files: Metalink(parsing: Array(document.utf8)).files)
        let plain = ["X-Trace: t", "X-Plain: 1"]
        for (request, fields) in zip(requests, [plain, plain + ["X-Token: own"]]) {
            #expect(request.method == "GET" && request.body == nil && request.checksums.isEmpty)
            #expect(Set(request.headers.map { "\($0.name): \($0.value)" }) == Set(fields))
        }
        #expect(requests.count == 2)
    }

    @Test(arguments: [
        ("\nretrys 3", "f: line 2: retrys: no such option; did you mean retries?"),
        ("--retries 3", "f: line 1: --retries: no such option; did you mean retries?"),
        ("retries", "f: line 1: retries: the argument is missing"),
        ("netrc yes", "f: line 1: netrc: takes no argument"),
        ("output a", "f: line 1: output: this option can only be on the command line"),
        ("[a]\nretries 3", "f: line 2: retries: this option applies to all downloads; put it above the first heading"),
        ("user a:b", "f: line 1: user: a login must be below a heading with its host, such as [example.org]"),
        ("[a]\nuser a", "f: line 2: user: the password is missing; write user NAME:PASSWORD"),
        ("[]", "f: line 1: \"[]\" is not a host in brackets, without port; subdomains are included"),
        ("[h:80]", "f: line 1: \"[h:80]\" is not a host in brackets, without port; subdomains are included"),
        ("[[h:80]]", "f: line 1: \"[[h:80]]\" is not a host in brackets, without port; subdomains are included"),
        ("[*.h]", "f: line 1: \"[*.h]\" is not a host in brackets, without port; subdomains are included"),
        ("\n\nretries = 3", "f: line 3: retries: \"= 3\" is not a number"),
        ("[a]\nuser b:c\nheader authorization: d", "f: line 2: user: header Authorization: ... was given too"),
        ("[a]\nif-exists no", "f: line 2: if-exists: \"no\" is not one of rename, overwrite, skip, fail"),
    ])
    func `a wrong line of a configuration file is named`(_ text: String, message: String) {
        #expect(throws: UsageError(message)) { _ = try options(["http://h/a"], text) }
    }

    @Test
    func `the tool reads the user's configuration file or that of --config, or none with --no-config`() async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { folder in
                let folders = folder.appending(path: "home/headrace")
                try FileManager.default.createDirectory(at: folders, withIntermediateDirectories: true)
                let file = folders.appending(path: "config").path(percentEncoded: false)
                try Data("quiet\nuser-agent mine\n[127.0.0.1]\nuser me:pw\n".utf8).write(to: URL(filePath: file))
                try Data("user-agent other\n".utf8).write(to: folder.appending(path: "other"))
                let home = "XDG_CONFIG_HOME=\(folder.appending(path: "home").path(percentEncoded: false))"
                let url = server.url("/a").absoluteString
                var errors: [String] = []
                for words in [[], ["--config", "other", "-q"], ["--no-config", "-q"]] {
                    var process = try ToolProcess(["get"] + words + [url], in: folder, environment: [home])
                    let result = try await process.result()
                    #expect(result.status == 0)
                    errors.append(result.errors)
                }
                let agents = server.requests.map { $0["user-agent"] ?? "" }
                #expect(agents.prefix(2) == ["mine", "other"] && agents.last?.hasPrefix("headrace/") == true)
                #expect(server.requests.map { $0["authorization"] != nil } == [true, false, false])
                let warning = "other users can read the secrets in this file; protect it with chmod 600"
                #expect(errors == ["headrace: \(file): \(warning)\n", "", ""])
                try Data("retrys 3\n".utf8).write(to: URL(filePath: file))
                var process = try ToolProcess(["queue", "list"], in: folder, environment: [home])
                let result = try await process.result()
                let message = "\(file): line 1: retrys: no such option; did you mean retries?"
                #expect(result.status == 2 && result.errors == "headrace: \(message)\n")
            }
        }
    }
}
