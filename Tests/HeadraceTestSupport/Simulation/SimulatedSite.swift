import Headrace
import HeadracePlatform

/// The files of a simulated network, whose servers change, refuse, interrupt and misrepresent them.
struct SimulatedSite {
    /// The validator that distinguishes a file's versions.
    enum Validator: CaseIterable {
        case strongTag
        case tagAndDate
        case date
        case weakTag
        case none
    }

    /// The file that a second server has under the same name.
    enum Mirror: CaseIterable {
        case same
        /// The same bytes with other entity tags.
        case otherTags
        /// The version before the current one.
        case earlier
        case missing
        case unreachable
    }

    struct File {
        let url: URL
        let seed: UInt64
        let validator: Validator
        let hasRanges: Bool
        let mirror: Mirror
        /// Whether the checksum that requests may expect is that of the first version; else it is that of no version.
        let hasRightChecksum: Bool
        var tagPrefix = "v"
        /// The size of each version; the last one is current.
        var sizes: [Int]

        var version: Int { sizes.count - 1 }

        var mirrorURL: URL? { URL(string: "http://mirror/\(url.lastPathComponent)") }

        /// The checksum that requests may expect.
        var checksum: Checksum? {
            let first = bytes(0, 0..<sizes[0])
            return Checksum(.crc32, bytes: crc32(hasRightChecksum ? first : first + [1]))
        }

        /// Whether the current version has the checksum that requests may expect.
        var isExpected: Bool { checksum == Checksum(.crc32, bytes: crc32(bytes(version, 0..<sizes[version]))) }

        /// The file as the mirror has it.
        var mirrored: File {
            var file = self
            if mirror == .earlier, version > 0 { file.sizes.removeLast() }
            if mirror == .otherTags { file.tagPrefix = "m" }
            return file
        }

        func bytes(_ version: Int, _ range: Range<Int>) -> [UInt8] {
            Pattern(seed: seed &+ UInt64(version)).bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound))
        }

        /// Whether these are the bytes of one version, complete.
        func isVersion(_ bytes: [UInt8]) -> Bool {
            sizes.indices.contains { version in
                sizes[version] == bytes.count && self.bytes(version, 0..<bytes.count) == bytes
            }
        }
    }

    /// The behaviour of a server for one request.
    struct Reply: Sendable {
        enum End: Sendable {
            case finished
            case lost
            /// Nothing more arrives.
            case silence
        }

        var latency: Duration = .milliseconds(1)
        /// The error instead of a head.
        var refusal: DownloadError?
        var isSilent = false
        var status = 200
        var fields: [HeaderField] = []
        /// The body, which begins at this offset of the file.
        var start = 0
        var body: [UInt8] = []
        var end = End.finished
        var fileSize = 0
        var bytesPerSecond = 1 << 20
        var note = ""

        mutating func add(_ name: String, _ value: String) { fields.append(HeaderField(name: name, value: value)) }
    }

    private enum Fault: CaseIterable {
        case refused, lostBeforeHead, silentBeforeHead, unavailable, tooMany, failed, lost, silent, slow, changed
        case ignoresIfRange, misplaced, withoutContentRange, whole, unsatisfiable, shorter
    }

    private(set) var files: [File] = []
    var isDisturbed = true
    /// The probability of a fault, in percent.
    private let faultRate: Int
    /// Whether all versions of a file have the validators of the first one, so that changes cannot be detected.
    private let hidesChanges: Bool
    private var random: SeededRandom

    init(seed: UInt64, hidesChanges: Bool) {
        self.hidesChanges = hidesChanges
        random = SeededRandom(seed: seed)
        faultRate = [0, 10, 30, 60].randomElement(using: &random) ?? 0
        var extra = SeededRandom(seed: seed ^ 0x7369_7465)
        let count = Int.random(in: 1...6, using: &random)
        for index in 0..<count {
            let host = "h\(Int.random(in: 0...1, using: &random))"
            guard let url = URL(string: "http://\(host)/file\(index).bin") else { continue }
            let seed = random.next()
            let validator = Validator.allCases.randomElement(using: &random) ?? .none
            let hasRanges = Int.random(in: 0..<5, using: &random) > 0
            let size = randomSize()
            let mirror = Mirror.allCases.randomElement(using: &extra) ?? .same
            let hasRightChecksum = Int.random(in: 0..<4, using: &extra) > 0
            files.append(
                File(
                    url: url,
                    seed: seed,
                    validator: validator,
                    hasRanges: hasRanges,
                    mirror: mirror,
                    hasRightChecksum: hasRightChecksum,
                    sizes: [size]
                )
            )
        }
    }

    private mutating func randomSize() -> Int {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: Int.random(in: 0...2, using: &random)
        case 1..<9: Int.random(in: 3...20_000, using: &random)
        case 9..<18: Int.random(in: 20_000...300_000, using: &random)
        default: Int.random(in: 2_200_000...3_000_000, using: &random)
        }
    }

    /// Returns the file with a name of the form `fileN.bin`, or a numbered name derived from it.
    func file(named name: String) -> File? {
        files.first { name.hasPrefix($0.url.lastPathComponent.dropLast(4)) }
    }

    /// Returns the file at a URL, or at one of its further URLs.
    func file(at url: URL) -> File? { files.first { $0.url.lastPathComponent == url.lastPathComponent } }

    /// Replaces a file by a new version, unless there is no date left for one.
    mutating func change(_ index: Int) {
        guard files[index].version < 29 else { return }
        let size = files[index].sizes[files[index].version]
        files[index].sizes.append(hidesChanges || Bool.random(using: &random) ? size : randomSize())
    }

    mutating func reply(to request: TransportRequest) -> Reply {
        let name = request.url.lastPathComponent
        guard let index = files.firstIndex(where: { $0.url.lastPathComponent == name }) else {
            return Reply(status: 404)
        }
        let isFaulty = isDisturbed && Int.random(in: 0..<100, using: &random) < faultRate
        let fault = isFaulty ? Fault.allCases.randomElement(using: &random) : nil
        if fault == .changed || fault == .ignoresIfRange || hidesChanges { change(index) }
        var reply = Reply()
        reply.latency = .milliseconds(Int.random(in: 1...200, using: &random))
        reply.bytesPerSecond = 1 << Int.random(in: 14...22, using: &random)
        let isMirror = request.url.host() == "mirror"
        let file = isMirror ? files[index].mirrored : files[index]
        reply.fileSize = file.sizes[file.version]
        reply.note = fault.map { "\($0)" } ?? ""
        if isMirror, file.mirror == .unreachable { reply.refusal = DownloadError(.connection, "Unreachable.") }
        if isMirror, file.mirror == .missing { reply.status = 404 }
        guard reply.status == 200, reply.refusal == nil else { return reply }
        switch fault {
        case .refused: reply.refusal = DownloadError(.connection, "Refused.")
        case .lostBeforeHead: reply.refusal = DownloadError(.connectionLost, "Lost.")
        case .silentBeforeHead: reply.isSilent = true
        case .unavailable: unavailable(503, &reply)
        case .tooMany: unavailable(429, &reply)
        case .failed: reply.status = 500
        default: serve(file, request, fault, &reply)
        }
        return reply
    }

    private mutating func unavailable(_ status: Int, _ reply: inout Reply) {
        reply.status = status
        if Bool.random(using: &random) { reply.add("Retry-After", "\(Int.random(in: 0...30, using: &random))") }
    }

    private mutating func serve(_ file: File, _ request: TransportRequest, _ fault: Fault?, _ reply: inout Reply) {
        let (version, size) = (file.version, file.sizes[file.version])
        let isCurrent = holds(request, "If-Range", file)
        if request.value("If-None-Match").map({ $0 == tag(of: file) }) == true {
            reply.status = 304
            describe(file, &reply)
            return
        }
        var range = file.hasRanges ? request.range(of: size) : nil
        if isCurrent == false, fault != .ignoresIfRange { range = nil }
        if fault == .whole { range = nil }
        if let found = range, found.isEmpty || fault == .unsatisfiable {
            reply.status = 416
            reply.add("Content-Range", "bytes */\(size)")
            return
        }
        var sent = range ?? 0..<size
        if range != nil {
            if fault == .misplaced { sent = max(0, sent.lowerBound - 1000)..<sent.upperBound }
            if fault == .shorter { sent = sent.lowerBound..<(sent.lowerBound + max(1, sent.count / 2)) }
            reply.status = 206
            if fault != .withoutContentRange {
                reply.add("Content-Range", "bytes \(sent.lowerBound)-\(sent.upperBound - 1)/\(size)")
            }
        }
        reply.add("Content-Length", "\(sent.count)")
        describe(file, &reply)
        reply.start = sent.lowerBound
        reply.body = file.bytes(version, sent)
        switch fault {
        case .lost, .silent:
            reply.body.removeLast(Int.random(in: 0...max(0, sent.count - 1), using: &random))
            if reply.body.count == sent.count, !reply.body.isEmpty { reply.body.removeLast() }
            reply.end = fault == .lost ? .lost : .silence
        case .slow: reply.bytesPerSecond = 1 << 12
        default: break
        }
    }

    private func describe(_ file: File, _ reply: inout Reply) {
        if file.hasRanges { reply.add("Accept-Ranges", "bytes") }
        reply.add("Date", "Sun, 05 Jan 2025 00:00:30 GMT")
        if let tag = tag(of: file) { reply.add("ETag", tag) }
        if let date = date(of: file) { reply.add("Last-Modified", date) }
    }

    private func tag(of file: File) -> String? {
        let version = hidesChanges ? 0 : file.version
        return switch file.validator {
        case .strongTag, .tagAndDate: "\"\(file.tagPrefix)\(version)\""
        case .weakTag: "W/\"\(file.tagPrefix)\(version)\""
        case .date, .none: nil
        }
    }

    private func date(of file: File) -> String? {
        guard file.validator == .date || file.validator == .tagAndDate else { return nil }
        // In November 2010, which begins on a Monday.
        let day = hidesChanges ? 1 : file.version + 1
        let weekday = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][(day - 1) % 7]
        return "\(weekday), \(day < 10 ? "0" : "")\(day) Nov 2010 00:00:00 GMT"
    }

    /// Whether a condition holds; `nil` if the request has none.
    private func holds(_ request: TransportRequest, _ name: String, _ file: File) -> Bool? {
        request.value(name).map { $0 == tag(of: file) || $0 == date(of: file) }
    }
}

extension TransportRequest {
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The requested range within a file of this size; empty if it cannot be satisfied, and `nil` if there is none.
    func range(of size: Int) -> Range<Int>? {
        guard let text = value("Range"), text.hasPrefix("bytes=") else { return nil }
        let parts = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard let start = Int(parts[0]) else { return nil }
        let end = min(size, parts.count > 1 ? Int(parts[1]).map { $0 + 1 } ?? size : size)
        return start < end ? start..<end : 0..<0
    }
}

/// Returns the CRC-32 of ISO/IEC 3309; not the library's, which a simulation checks.
func crc32(_ bytes: [UInt8]) -> [UInt8] {
    var crc = UInt32.max
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
    }
    return withUnsafeBytes(of: (~crc).bigEndian, Array.init)
}
