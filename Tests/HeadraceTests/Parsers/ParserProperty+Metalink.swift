import HeadracePlatform

#if canImport(Headrace)
@testable import Headrace
#endif

/// Properties of Metalink documents.
extension ParserProperty {
    static func metalinkViolation(_ bytes: [UInt8]) -> String? {
        if let violation = eventViolation(bytes) { return violation }
        guard let metalink = try? Metalink(parsing: bytes) else { return nil }
        guard Set(metalink.files.map(\.name)).count == metalink.files.count else { return "two files have one name" }
        for file in metalink.files {
            if let violation = violation(ofSafeName: file.name) ?? violation(of: file) { return violation }
        }
        guard metalink.files.allSatisfy({ $0.problem == nil }) else { return nil }
        let written = document(of: metalink)
        return (try? Metalink(parsing: written)) == metalink ? nil : "\(metalink) is not read back"
    }

    private static func violation(of file: Metalink.File) -> String? {
        if file.problem != nil {
            return file.request(to: URL(filePath: "/d/")) == nil ? nil : "\(file.name) makes a request"
        }
        if let pieces = file.pieces {
            guard pieces.length > 0, Set(pieces.checksums.map(\.algorithm)).count == 1 else { return "\(pieces)" }
        }
        for url in file.urls {
            let isWeb = ["http", "https"].contains(url.scheme?.lowercased()) && url.host()?.isEmpty == false
            guard isWeb, url.user == nil, url.password == nil else { return "\(url) is not to be fetched" }
        }
        guard let request = file.request(to: URL(filePath: "/d/", directoryHint: .isDirectory)) else {
            return file.urls.isEmpty || file.problem != nil ? nil : "\(file.urls) make no request"
        }
        guard (try? request.validate()) != nil else { return "\(request) is no request" }
        guard case .file(let place) = request.destination else { return "\(request.destination) is no file" }
        let folder = place.deletingLastPathComponent().path(percentEncoded: false)
        return folder == "/d/" ? nil : "\(place) is elsewhere"
    }

    /// Elements end in the reverse order of their starts, or the document is rejected.
    private static func eventViolation(_ bytes: [UInt8]) -> String? {
        guard var reader = try? XMLReader(bytes) else { return nil }
        var open: [XMLReader.Name] = []
        var count = 0
        do {
            while let event = try reader.next() {
                count += 1
                guard count <= bytes.count else { return "there are more pieces than bytes" }
                switch event {
                case .start(let name, _): open.append(name)
                case .text(let text): if text.isEmpty || open.isEmpty { return "there is text that is none" }
                case .end(let name): if open.popLast() != name { return "\(name) ends, and is not open" }
                }
                guard open.count <= XMLReader.maxDepth else { return "it is too deep" }
            }
        } catch {
            return nil
        }
        return open.isEmpty ? nil : "\(open) do not end"
    }

    private static func document(of metalink: Metalink) -> [UInt8] {
        var text = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>"
        for file in metalink.files {
            text += "<file name='\(escaped(file.name))'>"
            if let size = file.size { text += "<size>\(size)</size>" }
            for checksum in file.checksums { text += hash(checksum) }
            if let pieces = file.pieces, let first = pieces.checksums.first {
                text += "<pieces length='\(pieces.length)' type='\(first.algorithm)'>"
                text += pieces.checksums.map(hash).joined() + "</pieces>"
            }
            for url in file.urls { text += "<url>\(escaped(url.absoluteString))</url>" }
            text += "</file>"
        }
        return Array((text + "</metalink>").utf8)
    }

    private static func hash(_ checksum: Checksum) -> String {
        "<hash type='\(checksum.algorithm)'>\(checksum.hexadecimal)</hash>"
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.allSatisfy { !"&<>'".utf8.contains($0) }
            ? text
            : text.unicodeScalars.map { "&<>'".unicodeScalars.contains($0) ? "&#\($0.value);" : String($0) }.joined()
    }
}
