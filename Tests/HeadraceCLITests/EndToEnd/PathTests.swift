import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with names that are special to a shell or to Foundation.
@Suite(.timeLimit(.minutes(4)))
struct PathTests {
    private static let body = Response.Body.pattern(size: 1000)

    @Test(arguments: [
        (["-d", "~"], "~/x"), (["-d", "~/d"], "~/d/x"), (["-o", "~"], "~"), (["-o", "~/y"], "~/y"),
        (["-o", "~nobody/y"], "~nobody/y"), (["-d", "d", "-o", "~/y"], "d/~/y"), (["-d", "~", "-o", "~"], "~/~"),
    ])
    func `a leading tilde is part of a name`(_ options: [String], place: String) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(["get", "-q"] + options + [server.url("/x").absoluteString], in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(Self.body.difference(fromFileAt: folder.appending(path: place)) == nil)
            }
        }
    }

    @Test(arguments: ["~", "~nobody", "~/a"])
    func `a file whose name starts with a tilde is verified`(_ name: String) async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data("abc".utf8).write(to: file)
            let list = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  \(name)\n"
            try Data(list.utf8).write(to: folder.appending(path: "SUMS"))
            for words in [[name], []] {
                var process = try ToolProcess(["verify", "--checksum-file", "SUMS"] + words, in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
            }
        }
    }

    @Test func `a removed current directory is reported if files would be saved below it`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let place = folder.appending(path: "x").path(percentEncoded: false)
                for (options, status) in [([], 5), (["-o", "x"], 5), (["-o", place], 0)] {
                    var process = try ToolProcess(
                        ["get", "-q"] + options + [server.url("/x").absoluteString],
                        in: folder,
                        after: #"mkdir "$0/gone"; cd "$0/gone"; rmdir ../gone; exec "$@""#
                    )
                    let result = try await process.result()
                    #expect(result.status == status)
                    let message = "headrace: The current directory cannot be used: no such file or directory."
                    #expect(result.errors.hasPrefix(message) == (status == 5), "\(result.errors)")
                }
            }
        }
    }

    @Test func `a current directory whose path is not UTF-8 is rejected`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(
                    ["get", "-q", server.url("/x").absoluteString],
                    in: folder,
                    after: #"cd "$0"; d=$(printf 'a\377b'); mkdir "$d"; cd "$d"; exec "$@""#
                )
                let result = try await process.result()
                #expect(result.status == 5)
                #expect(result.errors.hasPrefix("headrace: The current directory cannot be used: "), "\(result.errors)")
                #expect(server.connectionCount == 0)
            }
        }
    }

    @Test(arguments: ["-o", "-d", "--checksum-file", ""])
    func `an argument that is not UTF-8 is rejected, not repaired`(_ option: String) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(
                    ["get", "-q", server.url("/x").absoluteString],
                    in: folder,
                    after: #"set -- "$@" \#(option) "$(printf 'a\377b')""#
                )
                let result = try await process.result()
                #expect(result.status == 2)
                #expect(result.errors.hasPrefix("headrace: argument \(option.isEmpty ? 4 : 5) is not valid UTF-8"))
                #expect(server.connectionCount == 0)
                #expect(try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") } == [])
            }
        }
    }
}
