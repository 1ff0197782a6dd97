import HeadracePlatform

/// Takes from a document what the library uses, and passes over the rest (RFC 5854, section 4).
struct MetalinkReader {
    private typealias Failure = XMLReader.Failure
    private static let namespace = "urn:ietf:params:xml:ns:metalink"
    private static let lastPriority: Int64 = 999_999
    /// One to ask first, and as many mirrors as a request takes.
    private static let maxURLs = 65

    /// A source with its place in the order.
    private struct Source {
        var url: URL
        var priority: Int64
    }

    private var xml: XMLReader
    private var names: Set<String> = []
    private var pieceCount = 0

    init(_ bytes: [UInt8]) throws(XMLReader.Failure) {
        xml = try XMLReader(bytes)
    }

    mutating func read() throws(XMLReader.Failure) -> [Metalink.File] {
        let first = try xml.next()
        guard case .start(let root, _) = first, root.local == "metalink", root.namespace == Self.namespace else {
            throw failure("it is no Metalink 4 document")
        }
        var files: [Metalink.File] = []
        while let (name, attributes) = try nextChild() {
            guard name == "file" else {
                try skip()
                continue
            }
            guard files.count < Metalink.maxFiles else { throw failure("it has too many files") }
            files.append(try file(attributes))
        }
        // What follows the root may be malformed too.
        while try xml.next() != nil {}
        guard !files.isEmpty else { throw failure("it has no file") }
        return files
    }

    private mutating func file(_ attributes: [XMLReader.Name: String]) throws(Failure) -> Metalink.File {
        guard let path = attributes.plain("name") else { throw failure("a file has no name") }
        var file = Metalink.File(name: try safeName(path))
        var sources: [Source] = []
        while let (name, attributes) = try nextChild() {
            switch name {
            case "size":
                let digits = try text()
                guard file.size == nil, let size = Int64(digits: digits) else { throw failure("a size is malformed") }
                file.size = size
            case "hash":
                let digits = try text()
                guard let algorithm = algorithm(attributes) else { continue }
                file.checksums.append(try checksum(algorithm, digits))
            case "pieces": try readPieces(attributes, into: &file)
            case "url":
                let priority = try priority(attributes)
                if let url = Self.url(try text()) { sources.append(Source(url: url, priority: priority)) }
            default: try skip()
            }
        }
        if let pieces = file.pieces, let size = file.size {
            file.pieces = PieceHashes(length: pieces.length, pieces.algorithm, digests: pieces.digests, fileSize: size)
            guard file.pieces != nil else {
                throw failure("the pieces of a file are not as many as its size says")
            }
        }
        var known: Set<URL> = []
        let ordered = sources.enumerated().sorted {
            ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
        }
        file.urls = Array(ordered.map(\.element.url).filter { known.insert($0).inserted }.prefix(Self.maxURLs))
        return file
    }

    private mutating func safeName(_ path: String) throws(Failure) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let leadsOut = parts.contains { $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
        guard !leadsOut, let name = SafeFileName(path)?.description else {
            throw failure("a file has a name that is none, or leads out of its directory")
        }
        guard names.insert(name).inserted else { throw failure("two files are called \(name), without their folders") }
        return name
    }

    private mutating func readPieces(
        _ attributes: [XMLReader.Name: String],
        into file: inout Metalink.File
    ) throws(Failure) {
        guard let length = attributes.plain("length").flatMap({ Int64(digits: $0) }), length > 0 else {
            throw failure("pieces have no length")
        }
        guard attributes.plain("type") != nil else { throw failure("pieces have no hash function") }
        let algorithm = algorithm(attributes)
        var checksums: [Checksum] = []
        while let (name, _) = try nextChild() {
            guard name == "hash", let algorithm else {
                try skip()
                continue
            }
            pieceCount += 1
            guard pieceCount <= Metalink.maxPieces else { throw failure("it has too many pieces") }
            checksums.append(try checksum(algorithm, try text()))
        }
        guard let pieces = PieceHashes(length: length, checksums: checksums) else { return }
        if let known = file.pieces, known.algorithm >= pieces.algorithm { return }
        file.pieces = pieces
    }

    private func algorithm(_ attributes: [XMLReader.Name: String]) -> Checksum.Algorithm? {
        attributes.plain("type").flatMap { Checksum.Algorithm(name: $0) }
    }

    private func checksum(_ algorithm: Checksum.Algorithm, _ digits: String) throws(Failure) -> Checksum {
        guard let bytes = [UInt8](hexadecimal: digits), let checksum = Checksum(algorithm, bytes: bytes) else {
            throw failure("a checksum is malformed")
        }
        return checksum
    }

    private func priority(_ attributes: [XMLReader.Name: String]) throws(Failure) -> Int64 {
        guard let text = attributes.plain("priority") else { return Self.lastPriority }
        guard let priority = Int64(digits: text), (1...Self.lastPriority).contains(priority) else {
            throw failure("a priority is malformed")
        }
        return priority
    }

    /// Nil for what this library does not fetch.
    private static func url(_ text: String) -> URL? {
        guard let url = URL(string: text), url.user == nil, url.password == nil,
            (try? DownloadRequest.validateURL(url)) != nil
        else { return nil }
        return url
    }

    // MARK: Elements

    /// The next element of the namespace in the one that is open; nil when that one ends.
    private mutating func nextChild() throws(Failure) -> (String, [XMLReader.Name: String])? {
        while let event = try xml.next() {
            switch event {
            case .start(let name, let attributes):
                if name.namespace == Self.namespace { return (name.local, attributes) }
                try skip()
            case .text: continue
            case .end: return nil
            }
        }
        return nil
    }

    /// The text of the element that is open, to its end, without blanks around it.
    private mutating func text() throws(Failure) -> String {
        var text = ""
        while let event = try xml.next() {
            switch event {
            case .start: try skip()
            case .text(let part): text += part
            case .end:
                let isBlank: (UInt8) -> Bool = { [0x20, 0x9, 0xa, 0xd].contains($0) }
                var bytes = Array(text.utf8)[...].drop(while: isBlank)
                while bytes.last.map(isBlank) == true { bytes.removeLast() }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        return text
    }

    /// Passes over the rest of the element that is open.
    private mutating func skip() throws(Failure) {
        var depth = 1
        while depth > 0, let event = try xml.next() {
            switch event {
            case .start: depth += 1
            case .text: break
            case .end: depth -= 1
            }
        }
    }

    private func failure(_ reason: String) -> Failure {
        Failure(reason: reason, offset: xml.offset)
    }
}

extension [XMLReader.Name: String] {
    /// The value of an attribute without a namespace.
    fileprivate func plain(_ name: String) -> String? {
        self[XMLReader.Name(namespace: "", local: name)]
    }
}
