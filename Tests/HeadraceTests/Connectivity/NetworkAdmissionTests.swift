import Testing

@testable import Headrace

/// Admission of downloads to a network path, and the need for new connections after a change.
@Suite(.timeLimit(.minutes(4)))
struct NetworkAdmissionTests {
    private static let wired = NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.2"])
    private static let down = NetworkPath(isUp: false, interface: .loopback)

    /// The path, the policy and the expected blocker.
    @Test(
        arguments: [
            (wired, DownloadRequest.NetworkPolicy.any, nil), (down, .any, .offline), (down, .wifiOrWired, .offline),
            (NetworkPath(isUp: true, interface: .cellular, isExpensive: true), .any, nil),
            (NetworkPath(isUp: true, interface: .cellular, isExpensive: true), .notExpensive, .expensive),
            (NetworkPath(isUp: true, interface: .cellular, isExpensive: true), .notConstrained, nil),
            (NetworkPath(isUp: true, interface: .cellular), .wifiOrWired, .neitherWiFiNorWired),
            (NetworkPath(isUp: true, interface: .other), .wifiOrWired, .neitherWiFiNorWired),
            (NetworkPath(isUp: true, interface: .wifi), .wifiOrWired, nil), (wired, .wifiOrWired, nil),
            (NetworkPath(isUp: true, interface: .wifi, isConstrained: true), .notConstrained, .constrained),
            (NetworkPath(isUp: true, interface: .wifi, isConstrained: true), .notExpensive, nil),
        ] as [(NetworkPath, DownloadRequest.NetworkPolicy, NetworkBlocker?)]
    )
    func `a network policy determines on which paths a download may run`(
        _ path: NetworkPath,
        _ policy: DownloadRequest.NetworkPolicy,
        _ blocker: NetworkBlocker?
    ) {
        let gate = NetworkAdmission(path: path)
        #expect(gate.blocker(for: NetworkRequirement(policy: policy)) == blocker)
        #expect(gate.blocker(for: NetworkRequirement(policy: policy, isLoopback: true)) == nil)
        let impatient = NetworkAdmission(waitsForConnectivity: false, path: path)
        #expect(impatient.blocker(for: NetworkRequirement(policy: policy)) == (blocker == .offline ? nil : blocker))
    }

    @Test(arguments: DownloadRequest.NetworkPolicy.allCases)
    func `every download runs on an unknown path`(_ policy: DownloadRequest.NetworkPolicy) {
        #expect(NetworkAdmission(path: nil).blocker(for: NetworkRequirement(policy: policy)) == nil)
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", true), ("a.localhost", true), ("127.0.0.1", true), ("127.9.9.9", true),
        ("::1", true), ("[::1]", true), ("::ffff:127.0.0.1", true), ("localhost.example", false), ("", false),
        ("192.0.2.1", false), ("::2", false), ("127.0.0.1.example", false), ("notlocalhost", false),
    ])
    func `a loopback host is recognized by its name or its address`(_ host: String, _ isLoopback: Bool) {
        #expect(NetworkRequirement.isLoopback(host) == isLoopback)
    }

    /// Consecutive paths, and whether the last one requires new connections.
    @Test(
        arguments: [
            ([wired, wired], false), ([wired, down], false), ([wired, down, wired], false),
            ([wired, nil, wired], false),
            ([wired, NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.2", "eth0 2001:db8::2"])], false),
            ([wired, NetworkPath(isUp: true, interface: .wifi, localEndpoints: ["eth0 192.0.2.2"])], false),
            ([wired, NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.3"])], true),
            ([wired, down, NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.3"])], true),
            ([wired, NetworkPath(isUp: true, interface: .other, localEndpoints: ["tun0 198.51.100.1"])], true),
        ] as [([NetworkPath?], Bool)]
    )
    func `connections are replaced if their local address is gone`(_ paths: [NetworkPath?], _ needed: Bool) {
        var gate = NetworkAdmission()
        let verdicts = paths.map { gate.update($0) }
        #expect(verdicts.last == needed)
    }
}
