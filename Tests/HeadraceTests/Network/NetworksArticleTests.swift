import Foundation
import Headrace
import HeadraceTestSupport
import Testing

func configuration(
    asking user: @escaping @Sendable (_ realm: String) async -> (name: String, password: String)?
)
    -> DownloadConfiguration
{
    DownloadConfiguration {
        $0.proxy = .environment
        $0.cookies = CookieJar()
        $0.credentials = { request in
            guard request.refused == nil, let user = await user(request.realm ?? "") else { return nil }
            return .login(user: user.name, password: user.password)
        }
    }
}

/// The sample of the page on logins and networks.
@Suite(.timeLimit(.minutes(4)))
struct NetworksArticleTests {
    @Test func `the sample logs in once and stops when its login is refused`() async throws {
        let realms = Locked<[String]>([])
        let response = Response.answering { request in
            request["Authorization"] == "Basic dTpw" && request.path == "/a"
                ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": "Basic realm=\"files\""])
        }
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                let configuration = configuration { realm in
                    realms.withLock { $0.append(realm) }
                    return ("u", "p")
                }
                try await withDownloadManager(configuration) { manager in
                    _ = try await manager.download(DownloadRequest(server.url("/a"), to: .directory(folder))).value
                    let other = try await manager.download(DownloadRequest(server.url("/b"), to: .directory(folder)))
                    let error = await #expect(throws: DownloadError.self) { try await other.value }
                    #expect(error?.statusCode == 401)
                }
            }
        }
        #expect(realms.withLock { $0 } == ["files"])
    }
}
