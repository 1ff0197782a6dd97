import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct RegistryLocationTests {
    @Test(arguments: [
        ("/r/x y%20", [:], "/r/x y%20/"),
        (nil, ["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/headrace/"),
        (nil, ["XDG_STATE_HOME": "s", "HOME": "/h"], "/h/.local/state/headrace/"),
        (nil, ["XDG_STATE_HOME": "", "HOME": "/h"], "/h/.local/state/headrace/"),
        (nil, ["HOME": "/h"], "/h/.local/state/headrace/"),
    ])
    func `the queue is in the given directory, or else in the user's state directory`(
        _ given: String?,
        environment: [String: String],
        path: String
    ) throws {
        let directory = try RegistryLocation.directory(given, environment: environment)
        #expect(directory.path(percentEncoded: false) == path)
    }

    @Test(arguments: ["r", "~", "~/r", "~nobody"])
    func `a relative directory becomes an absolute one`(_ given: String) throws {
        let here = FileManager.default.currentDirectoryPath
        #expect(
            try RegistryLocation.directory(given, environment: [:]).path(percentEncoded: false) == here + "/\(given)/"
        )
    }

    @Test(arguments: [("", ["HOME": "/h"]), (nil, [:]), (nil, ["HOME": ""])])
    func `a missing directory is rejected`(_ given: String?, environment: [String: String]) {
        #expect(throws: UsageError.self) { try RegistryLocation.directory(given, environment: environment) }
    }
}
