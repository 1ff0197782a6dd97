import HeadracePlatform

#if canImport(Headrace)
@testable import Headrace
#endif

/// Properties of the parsers that must hold for any input.
///
/// The fuzzers in `Tests/HeadraceFuzz` are compiled with this file and the parsers; the tests replay their corpora.
enum ParserProperty: String, CaseIterable, Sendable {
    case contentRange = "content-range"
    case contentDisposition = "content-disposition"
    case dates
    case controlRecord = "control-record"
    case registry
    case command
    case checksums
    case digests
    case links
    case rateSchedule = "rate-schedule"
    case metalink
    case challenges
    case cookies
    case cookieFile = "cookie-file"
    case hsts
    case netrc
    case netlink

    /// Describes the violated property; `nil` if all hold.
    func violation(of bytes: [UInt8]) -> String? {
        switch self {
        case .contentRange: Self.contentRangeViolation(String(utf8OrLatin1: bytes))
        case .contentDisposition: Self.nameViolation(String(utf8OrLatin1: bytes))
        case .dates: Self.dateViolation(String(utf8OrLatin1: bytes))
        case .controlRecord: Self.recordViolation(bytes) ?? Self.recordViolation(ControlRecord.framed(bytes))
        case .registry: Self.journalViolation(bytes) ?? Self.journalViolation(Self.journal(of: bytes))
        case .command: Self.commandViolation(bytes) ?? Self.commandViolation(RegistryJournal.line(of: bytes))
        case .checksums: Self.checksumViolation(bytes)
        case .digests: Self.digestViolation(String(utf8OrLatin1: bytes))
        case .links: Self.linkViolation(String(utf8OrLatin1: bytes))
        case .rateSchedule: Self.scheduleViolation(String(utf8OrLatin1: bytes))
        case .metalink: Self.metalinkViolation(bytes)
        case .challenges: Self.challengeViolation(String(utf8OrLatin1: bytes))
        case .cookies: Self.cookieViolation(String(utf8OrLatin1: bytes))
        case .cookieFile: Self.cookieFileViolation(bytes)
        case .hsts: Self.hstsViolation(bytes)
        case .netrc: Self.netrcViolation(bytes)
        case .netlink: Self.netlinkViolation(bytes)
        }
    }

    // MARK: Content-Range

    private static func contentRangeViolation(_ text: String) -> String? {
        guard let range = ContentRange(parsing: text) else { return nil }
        let written: String
        switch range {
        case .part(let bytes, let total):
            guard bytes.lowerBound >= 0, !bytes.isEmpty, bytes.upperBound <= total ?? .max else {
                return "\(range) cannot be"
            }
            written = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(total.map(String.init) ?? "*")"
        case .unsatisfied(let total):
            guard total >= 0 else { return "\(range) cannot be" }
            written = "bytes */\(total)"
        }
        return ContentRange(parsing: written) == range ? nil : "\(range) is not read back from \(written)"
    }

    // MARK: Content-Disposition

    private static func nameViolation(_ text: String) -> String? {
        for name in ContentDisposition(parsing: text).fileNames {
            let written = "attachment; filename*=UTF-8''" + name.utf8.map(percentEncoded).joined()
            guard ContentDisposition(parsing: written).fileNames == [name] else {
                return "\(name.debugDescription) is not read back from \(written)"
            }
        }
        guard let url = URL(string: "http://host/asked") else { return "no URL" }
        let names = DestinationPaths(DownloadRequest(url, to: .directory(URL(filePath: "/d.d/"))))
        let field = HeaderField(name: "Content-Disposition", value: text)
        let path = names.path(for: ResponseHead(url: url, status: 200, fields: [field]))
        guard names.contains(path) else { return "\(path.debugDescription) is not in the directory" }
        return violation(ofSafeName: names.name(of: path))
            ?? SafeFileName(text).flatMap { violation(ofSafeName: $0.description) }
    }

    static func violation(ofSafeName name: String) -> String? {
        let scalars = name.unicodeScalars
        let isWhole = SafeFileName.isComponent(name) && !scalars.contains { "/\\".unicodeScalars.contains($0) }
        let hasControls = scalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
        guard isWhole, !hasControls, (1...255).contains(name.utf8.count) else {
            return "\(name.debugDescription) is not one component"
        }
        guard let first = scalars.first, let last = scalars.last, !".-~ ".unicodeScalars.contains(first),
            !". ".unicodeScalars.contains(last)
        else { return "\(name.debugDescription) has an odd end" }
        guard SafeFileName(name)?.description.utf8.elementsEqual(name.utf8) == true else {
            return "\(name.debugDescription) is not safe the second time"
        }
        let numbered = SafeFileName.numbered(name, 10_000)
        guard SafeFileName.isComponent(numbered), numbered.utf8.count > " (10000)".utf8.count else {
            return "\(numbered.debugDescription) is not one component"
        }
        return nil
    }

    private static func percentEncoded(_ byte: UInt8) -> String {
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    // MARK: Dates and Retry-After

    private static func dateViolation(_ text: String) -> String? {
        for now in [nil, HTTPDate(seconds: 784_111_777), HTTPDate(seconds: .min), HTTPDate(seconds: .max)] {
            guard let delay = RetryAfter(parsing: text, now: now)?.delay else { continue }
            guard delay >= .zero, delay <= RetryAfter.maximum else { return "\(delay) is no delay" }
        }
        guard let date = HTTPDate(parsing: text) else { return nil }
        let fields = DateFields(date)
        for form in fields.forms {
            guard HTTPDate(parsing: form) == date else { return "\(date) is not read back from \(form)" }
        }
        // Only a leap second at the end of the year 9999 yields a five-digit year.
        return fields.forms.isEmpty && fields.year != 10_000 ? "\(date) cannot be written" : nil
    }

    // MARK: The control record

    private static func recordViolation(_ bytes: [UInt8]) -> String? {
        guard let record = try? ControlRecord(decoding: bytes) else { return nil }
        for set in [record.written, record.durable] {
            var end: Int64 = -1
            for range in set.ranges {
                guard range.lowerBound > end, !range.isEmpty else { return "\(set.ranges) is not in order" }
                end = range.upperBound
            }
            guard end <= record.totalBytes ?? .max else { return "\(set.ranges) is beyond the end" }
        }
        guard record.durable.isSubset(of: record.written) else { return "what is durable was not written" }
        guard SafeFileName.isComponent(record.fileName) else { return "\(record.fileName) is no name" }
        if case .finalising(let name) = record.state, !SafeFileName.isComponent(name) { return "\(name) is no name" }
        guard record.url.user == nil, record.url.password == nil else { return "\(record.url) has credentials" }
        guard record.written.ranges.count <= ControlRecord.maxRanges else { return nil }
        // A record close to the maximum size may exceed it in its canonical spelling.
        guard let written = record.encoded() else {
            return bytes.count < ControlRecord.maxBytes / 8 ? "\(record) is not written" : nil
        }
        return (try? ControlRecord(decoding: written)) == record ? nil : "\(record) is not read back"
    }
}

extension ParserProperty {
    /// A journal whose payloads are the lines of a text.
    static func journal(of payloads: [UInt8]) -> [UInt8] {
        payloads.split(separator: RegistryJournal.newline).reduce(into: RegistryJournal.header) { journal, payload in
            RegistryJournal.append(Array(payload), to: &journal)
        }
    }

    private static func journalViolation(_ bytes: [UInt8]) -> String? {
        guard let reader = read(bytes, pieceBytes: bytes.count) else { return nil }
        guard let inPieces = read(bytes, pieceBytes: 7), inPieces.snapshot == reader.snapshot,
            inPieces.findings == reader.findings, inPieces.goodBytes == reader.goodBytes
        else { return "in pieces it is another journal" }
        guard reader.findings.list.count <= RegistryDiagnostics.maxCount + 2 else { return "too much is found" }
        guard (0...Int64(bytes.count)).contains(reader.goodBytes), reader.recordCount >= reader.snapshot.entries.count
        else {
            return "\(reader.goodBytes) good bytes, \(reader.recordCount) downloads told of"
        }
        // A journal that is truncated and then appended to has the same entries and the new change.
        let added = RegistryChange.priority(1, 1)
        guard let line = try? RegistryEncoder.lines(of: [added]),
            let longer = read(bytes.prefix(Int(reader.goodBytes)) + line, pieceBytes: 1 << 20)
        else { return "what is cut cannot be added to" }
        var image = reader.snapshot
        image.apply(added)
        guard longer.snapshot == image else { return "what was added is not read, or changes the rest" }
        return snapshotViolation(of: reader.snapshot, isSmall: bytes.count < RegistryJournal.maxEntryBytes / 8)
    }

    private static func snapshotViolation(of image: RegistrySnapshot, isSmall: Bool) -> String? {
        for entry in image.entries {
            if let violation = violation(of: entry.request) { return violation }
        }
        var snapshot = RegistryEncoder.journal(of: image.ordered)
        var bytes: [UInt8] = []
        do {
            while let piece = try snapshot.next() { bytes += piece }
        } catch {
            // An entry close to the maximum size may exceed it in its canonical spelling.
            return isSmall ? "\(image) is not written: \(error)" : nil
        }
        guard let reader = read(bytes, pieceBytes: bytes.count) else { return "what is written is too new" }
        return reader.snapshot == image && reader.findings == RegistryDiagnostics() ? nil : "\(image) is not read back"
    }

    private static func violation(of request: RegistryRequest) -> String? {
        let bases = RegistryBaseDirectories(home: "/home/user", registry: "/home/user/.local/state", temporary: "/tmp")
        guard request.url.withoutUserInfo == request.url else { return "\(request.url) has a user" }
        let path = request.destination.path
        guard RelocatablePath(path.description) == path else { return "\(path) is not read back" }
        guard let absolute = path.resolved(in: bases), absolute.utf8.first == UInt8(ascii: "/") else {
            return "\(path) is not absolute"
        }
        let leadsUp = absolute.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) }
        guard path.base == nil || !leadsUp else { return "\(path) leads out" }
        _ = request.downloadRequest(in: bases)
        return nil
    }

    private static func commandViolation(_ bytes: [UInt8]) -> String? {
        guard let command = try? RegistryCommand(decoding: bytes) else { return nil }
        if case .add(let entries) = command {
            for entry in entries { if let violation = violation(of: entry.request) { return violation } }
        }
        guard let written = command.encoded() else { return "\(command) is not written" }
        return (try? RegistryCommand(decoding: written)) == command ? nil : "\(command) is not read back"
    }

    /// `nil` if a later release wrote the journal.
    private static func read(_ bytes: [UInt8], pieceBytes: Int) -> RegistryReader? {
        var reader = RegistryReader()
        do {
            for start in stride(from: 0, to: bytes.count, by: max(1, pieceBytes)) {
                try reader.read(Array(bytes[start..<min(start + pieceBytes, bytes.count)]))
            }
            try reader.finish()
        } catch {
            return nil
        }
        return reader
    }
}

/// A date as HTTP writes it, calculated differently than in the parser.
private struct DateFields {
    let year: Int64
    private let month: Int
    private let day: Int64
    private let weekday: Int
    private let time: String

    init(_ date: HTTPDate) {
        let seconds = (date.seconds % 86_400 + 86_400) % 86_400
        let days = (date.seconds - seconds) / 86_400
        time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { Self.padded($0) }.joined(separator: ":")
        weekday = Int((days % 7 + 11) % 7)
        // Years that start in March have their leap day at the end; every 400 of them have the same length.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = Int(marchMonth < 10 ? marchMonth + 2 : marchMonth - 10)
        year = yearOfEra + era * 400 + (month < 2 ? 1 : 0)
    }

    /// The date in each form that can represent its year.
    var forms: [String] {
        guard (1...9999).contains(year) else { return [] }
        let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let (weekday, month, year4) = (longDays[weekday], months[month], Self.padded(year, to: 4))
        var forms = [
            "\(weekday.prefix(3)), \(Self.padded(day)) \(month) \(year4) \(time) GMT",
            "\(weekday.prefix(3)) \(month) \(Self.padded(day, with: " ")) \(time) \(year4)",
        ]
        if (1969...2068).contains(year) {
            forms.append("\(weekday), \(Self.padded(day))-\(month)-\(year4.suffix(2)) \(time) GMT")
        }
        return forms
    }

    private static func padded(_ number: Int64, to width: Int = 2, with pad: String = "0") -> String {
        let digits = String(number)
        return String(repeating: pad, count: max(0, width - digits.count)) + digits
    }
}
