import Foundation
import Headrace
import HeadraceTestSupport
import Testing

struct Episode: Codable, Equatable {
    var series: String
    var number: Int
}

func download(_ episode: Episode, from url: URL, to folder: URL, with manager: DownloadManager) async throws {
    var request = DownloadRequest(url, to: .directory(folder))
    request.userData = try JSONEncoder().encode(episode)
    try await manager.download(request)
}

func episodes(of manager: DownloadManager) async throws -> [Episode] {
    try await manager.downloads.compactMap { download in
        try download.request.userData.map { try JSONDecoder().decode(Episode.self, from: $0) }
    }
}

/// The sample of the page on queues that attaches a value to a download.
@Suite(.timeLimit(.minutes(4)))
struct UserDataTests {
    @Test func `the sample saves a struct with a download, and the next manager returns it`() async throws {
        let episode = Episode(series: "Sailing \u{1F6F6}", number: 3)
        try await withFaultServer(.ok("hello").stalled(after: 1)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = DownloadConfiguration { $0.registryDirectory = folder.appending(path: "queue") }
                try await withDownloadManager(configuration) { manager in
                    try await download(episode, from: server.url("/a"), to: folder, with: manager)
                }
                try await withDownloadManager(configuration) { manager in
                    let found = try await episodes(of: manager)
                    #expect(found == [episode])
                    for await snapshots in manager.snapshots {
                        #expect(snapshots.map { $0.request.userData == nil } == [false])
                        break
                    }
                }
            }
        }
    }

    @Test(arguments: [(0, true), (65_536, true), (65_537, false)])
    func `more than 64 KiB of user data are rejected`(_ count: Int, _ isValid: Bool) throws {
        let url = try #require(URL(string: "https://a.example/"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/a/")))
        request.userData = Data(repeating: 0, count: count)
        let error = isValid ? nil : #expect(throws: DownloadError.self) { try request.validate() }
        if isValid { try request.validate() }
        #expect(isValid || error?.message.contains("65537 bytes; the maximum is 65536") == true)
    }
}
