/// Files to download over a line, and the protocol for it.
struct LineScene: Sendable, Equatable {
    enum Work: String, Sendable, CaseIterable {
        /// Many files of 50 kB.
        case small
        /// One file, for which the line needs a few seconds.
        case large
    }

    enum Scheme: String, Sendable, CaseIterable {
        case http
        /// HTTP/1.1 over TLS.
        case https
        /// A server over TLS that prefers HTTP/2.
        case http2 = "h2"

        var isEncrypted: Bool { self != .http }

        /// The round trips before the first byte of a body: the connection, the handshake of TLS 1.3, and the request.
        var roundTrips: Int { isEncrypted ? 3 : 2 }
    }

    let work: Work
    let scheme: Scheme

    static let all = Work.allCases.flatMap { work in Scheme.allCases.map { LineScene(work: work, scheme: $0) } }

    var name: String { "\(work.rawValue)-\(scheme.rawValue)" }

    /// Returns the files: of about 1.2 or 4 seconds of the line's time.
    func payload(on line: Line) -> Scene.Payload {
        switch work {
        case .small:
            let each = 50_000
            let count = Int(1.2 / line.seconds(for: each, roundTrips: 0))
            return .many(count: min(max(count, 200), 2_000), each: each, parallel: nil)
        case .large:
            return .single(max(4, (line.rate / 2) >> 20) << 20)
        }
    }

    /// Returns the seconds that the line alone needs.
    func seconds(on line: Line) -> Double {
        line.seconds(for: payload(on: line).totalBytes, roundTrips: scheme.roundTrips)
    }
}
