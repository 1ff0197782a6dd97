import HeadracePlatform

/// Reads the files of a Metalink document, and skips the elements that the library does not use (RFC 5854, section 4).
struct MetalinkReader {
    private typealias Failure = XMLReader.Failure
    private static let namespace = "urn:ietf:params:xml:ns:metalink"
    /// The maximum number of sources per file: the first one and as many mirrors as a request accepts.
    private static let maxURLs = MirrorLink.maxCount + 1
    /// The maximum number of sources of a file that are read; further ones are skipped, whatever their priority is.
    private static let maxSources = 1000

    private var xml: XMLReader
    private var names: Set<String> = []
    /// The number in the placeholder that was used last.
    private var lastPlaceholder = 0
    private var pieceCount = 0
    /// The first problem of the current file.
    private var problem: String?

    init(_ bytes: [UInt8]) throws(XMLReader.Failure) {
        xml = try XMLReader(bytes)
    }

    mutating func read() throws(XMLReader.Failure) -> [Metalink.File] {
        let first = try xml.next()
        guard case .start(let root, _) = first, root.local == "metalink", root.namespace == Self.namespace else {
            throw failure("it is not a Metalink 4 document")
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
        // The rest of the document must be well-formed as well.
        while try xml.next() != nil {}
        guard !files.isEmpty else { throw failure("it contains no files") }
        return files
    }

    private mutating func file(_ attributes: [XMLReader.Name: String]) throws(Failure) -> Metalink.File {
        problem = nil
        var file = Metalink.File(name: safeName(attributes.plain("name")))
        var sources: [MirrorLink] = []
        while let (name, attributes) = try nextChild() {
            switch name {
            case "size":
                let digits = try text()
                let size = Int64(digits: digits)
                if file.size != nil || size == nil { reject("its size is malformed") }
                file.size = size
            case "hash":
                let digits = try text()
                guard let algorithm = algorithm(attributes) else { continue }
                if let checksum = checksum(algorithm, digits) { file.checksums.append(checksum) }
            case "pieces": try readPieces(attributes, into: &file)
            case "url" where sources.count < Self.maxSources:
                let priority = priority(attributes)
                if let source = MirrorLink(URL(encoding: try text()), priority: priority) { sources.append(source) }
            default: try skip()
            }
        }
        if let pieces = file.pieces, let size = file.size {
            file.pieces = PieceHashes(length: pieces.length, pieces.algorithm, digests: pieces.digests, fileSize: size)
            if file.pieces == nil { reject("the number of its pieces does not match its size") }
        }
        if let algorithm = file.checksums.contradiction { reject("its \(algorithm) checksums contradict each other") }
        file.urls = sources.byPriority(upTo: Self.maxURLs).map(\.url)
        file.problem = problem
        return file
    }

    /// Records a problem of the current file, unless it has one already.
    private mutating func reject(_ reason: String) {
        problem = problem ?? reason
    }

    /// Reserves and returns the name of a file, made safe, or a placeholder if the file has no usable name.
    private mutating func safeName(_ path: String?) -> String {
        guard let path else {
            reject("it has no name")
            return placeholderName()
        }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isOutside = parts.contains { $0.isEmpty || $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
        guard !isOutside, let name = SafeFileName(path)?.description else {
            reject("its name \"\(path.printable)\" is empty or points outside its directory")
            return placeholderName()
        }
        guard names.insert(name).inserted else {
            reject("two files are called \(name) if their folders are ignored")
            return placeholderName()
        }
        return name
    }

    /// Reserves and returns a unique placeholder for the name of a file.
    private mutating func placeholderName() -> String {
        lastPlaceholder = max(lastPlaceholder, names.count)
        repeat { lastPlaceholder += 1 } while !names.insert("unnamed (\(lastPlaceholder))").inserted
        return "unnamed (\(lastPlaceholder))"
    }

    private mutating func readPieces(
        _ attributes: [XMLReader.Name: String],
        into file: inout Metalink.File
    ) throws(Failure) {
        let length = attributes.plain("length").flatMap { Int64(digits: $0) } ?? 0
        if length <= 0 { reject("its pieces have no length") }
        if attributes.plain("type") == nil { reject("its pieces have no hash function") }
        let algorithm = algorithm(attributes)
        var checksums: [Checksum] = []
        while let (name, _) = try nextChild() {
            guard name == "hash", let algorithm else {
                try skip()
                continue
            }
            pieceCount += 1
            guard pieceCount <= Metalink.maxPieces else { throw failure("it has too many pieces") }
            if let checksum = checksum(algorithm, try text()) { checksums.append(checksum) }
        }
        guard problem == nil, let pieces = PieceHashes(length: length, checksums: checksums) else { return }
        if let known = file.pieces, known.algorithm >= pieces.algorithm { return }
        file.pieces = pieces
    }

    private func algorithm(_ attributes: [XMLReader.Name: String]) -> Checksum.Algorithm? {
        attributes.plain("type").flatMap { Checksum.Algorithm(name: $0) }
    }

    private mutating func checksum(_ algorithm: Checksum.Algorithm, _ digits: String) -> Checksum? {
        let checksum = [UInt8](hexadecimal: digits).flatMap { Checksum(algorithm, bytes: $0) }
        if checksum == nil { reject("one of its checksums is malformed") }
        return checksum
    }

    private mutating func priority(_ attributes: [XMLReader.Name: String]) -> Int {
        guard let text = attributes.plain("priority") else { return MirrorLink.lastPriority }
        guard let priority = Int64(digits: text), (1...Int64(MirrorLink.lastPriority)).contains(priority) else {
            reject("the priority of a source is malformed")
            return MirrorLink.lastPriority
        }
        return Int(priority)
    }

    // MARK: Elements

    /// Reads the next start tag of a child element in the Metalink namespace; returns its name and attributes, or `nil`
    /// at the end of the open element.
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

    /// Reads the rest of the open element, including its end tag; returns its text without surrounding whitespace.
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

    /// Skips the rest of the open element, including its end tag.
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
    /// Returns the value of the attribute with this name and no namespace.
    fileprivate func plain(_ name: String) -> String? {
        self[XMLReader.Name(namespace: "", local: name)]
    }
}
