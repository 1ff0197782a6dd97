import HeadracePlatform

#if canImport(Headrace)
@testable import Headrace
#endif

/// Properties of checksums, digests, links and schedules.
extension ParserProperty {
    // MARK: Checksums

    static func checksumViolation(_ bytes: [UInt8]) -> String? {
        let text = String(utf8OrLatin1: bytes)
        if let checksum = Checksum(text), let violation = violation(of: checksum) { return violation }
        guard let list = try? ChecksumList(parsing: bytes) else { return nil }
        for entry in list.entries {
            if let violation = violation(of: entry.checksum) { return violation }
            guard entry.fileName?.isEmpty != true, entry.fileName?.utf8.contains(0) != true else { return "no name" }
        }
        let written = list.entries.map { entry in
            guard let name = entry.fileName else { return entry.checksum.hexadecimal }
            let escaped = name.replacing("\\", with: "\\\\").unicodeScalars.map { scalar in
                ["\n": "\\n", "\r": "\\r"][scalar] ?? String(scalar)
            }
            return "\\\(entry.checksum.hexadecimal) *\(escaped.joined())"
        }
        let again = try? ChecksumList(parsing: written.joined(separator: "\n").utf8)
        guard again?.entries == list.entries || written.joined().utf8.count > ChecksumList.maxBytes / 2 else {
            return "\(list.entries) is not read back from \(written)"
        }
        return nil
    }

    private static func violation(of checksum: Checksum) -> String? {
        guard checksum.bytes.count == checksum.algorithm.byteCount else { return "\(checksum) has not its length" }
        return Checksum(checksum.description) == checksum ? nil : "\(checksum) is not read back"
    }

    // MARK: Digest fields

    static func digestViolation(_ text: String) -> String? {
        guard let url = URL(string: "http://host/asked") else { return "no URL" }
        let names = ["Repr-Digest", "Content-Digest", "Digest", "Content-MD5"]
        for status in [200, 206] {
            let fields = names.map { HeaderField(name: $0, value: text) }
            let digests = DigestFields(of: ResponseHead(url: url, status: status, fields: fields))
            for checksums in [digests.representation, digests.content] {
                if let violation = checksums.lazy.compactMap(violation).first { return violation }
                guard Set(checksums.map(\.algorithm)).count == checksums.count else { return "\(checksums) contradict" }
                guard checksums == checksums.sorted(by: { $0.algorithm > $1.algorithm }) else { return "not in order" }
            }
        }
        return nil
    }

    // MARK: Links

    static func linkViolation(_ text: String) -> String? {
        guard let url = URL(string: "https://host/dir/asked") else { return "no URL" }
        func mirrors(_ text: String) -> [MirrorLink] {
            MirrorLink.all(of: ResponseHead(url: url, status: 200, fields: [HeaderField(name: "Link", value: text)]))
        }
        guard WebLink.all(in: text).count <= WebLink.maxLinks else { return "too many links" }
        let found = mirrors(text)
        guard found.count <= MirrorLink.maxCount, Set(found.map(\.url)).count == found.count else { return "too many" }
        for mirror in found {
            guard ["http", "https"].contains(mirror.url.scheme?.lowercased()), mirror.url.host()?.isEmpty == false,
                mirror.url.user == nil, (1...999_999).contains(mirror.priority)
            else { return "\(mirror) is no mirror" }
        }
        guard zip(found, found.dropFirst()).allSatisfy({ $0.priority <= $1.priority }) else { return "not in order" }
        let written = found.map { "<\($0.url.absoluteString)>; rel=duplicate; pri=\($0.priority)" }
        guard written.joined().utf8.count < WebLink.maxBytes / 2 else { return nil }
        return mirrors(written.joined(separator: ", ")) == found ? nil : "\(found) is not read back from \(written)"
    }

    // MARK: Rate schedules

    static func scheduleViolation(_ text: String) -> String? {
        guard let schedule = RateSchedule(text) else { return nil }
        // A text close to the maximum length may exceed it in its canonical spelling.
        guard RateSchedule(schedule.description) == schedule || text.utf8.count > 512 else {
            return "\(schedule) is not read back"
        }
        guard schedule.entries.allSatisfy({ $0.bytesPerSecond ?? 1 > 0 }) else {
            return "\(schedule) lets nothing through"
        }
        return nil
    }
}
