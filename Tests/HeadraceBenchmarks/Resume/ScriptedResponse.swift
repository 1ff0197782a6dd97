/// One response of the scripted server.
struct ScriptedResponse: Sendable {
    var status: String
    var fields: [String]
    /// The bytes of the body, as offsets in the content.
    var body: Range<Int>
    var content: VersionedContent
    /// A text body, in place of the content.
    var text: String?
    var isChunked = false
    /// The offset in the content at which the connection ends.
    var cut: Int?

    /// Creates the response of a correct server, which may ignore `If-Range`.
    init(_ request: LoopbackRequest, _ version: ResumeVersion, ignoringIfRange: Bool = false) {
        content = version.content
        fields = version.fields + ["Content-Type: application/octet-stream"]
        let tag = ignoringIfRange ? request.field("if-range") ?? version.tag : version.tag
        switch request.range(of: version.size, tag: tag) {
        case .whole:
            status = "200 OK"
            body = 0..<version.size
        case .part(let part):
            status = "206 Partial Content"
            body = part
            setContentRange(part, of: version)
        case .unsatisfiable:
            status = "416 Range Not Satisfiable"
            body = 0..<0
            fields.append("Content-Range: bytes */\(version.size)")
        }
    }

    /// Creates the response to a client whose first download was cut off.
    init(_ request: LoopbackRequest, in situation: ResumeCase) {
        let versions = situation.versions
        let version = versions[versions.count - 1]
        let ignoresIfRange = situation != .changed && situation != .grown
        self.init(request, version, ignoringIfRange: ignoresIfRange)
        let isPart = status.hasPrefix("206")
        switch situation {
        case .changed, .changedUnnoticed, .grown, .shrunk: break
        case .whole:
            self.init(LoopbackRequest("GET / HTTP/1.1"), version)
        case .early where isPart:
            body = max(0, body.lowerBound - 1_000)..<body.upperBound
            removeContentRange()
            setContentRange(body, of: version)
        case .withoutContentRange where isPart:
            body = 0..<version.size
            removeContentRange()
        case .early, .withoutContentRange: break
        case .page:
            status = "200 OK"
            fields = ["Content-Type: text/html"]
            text = ResumeCase.loginPage
        case .cutChunks:
            isChunked = true
            cut = (ResumeCase.cut + ResumeCase.size) / 2
        }
    }

    /// Returns the first response in every case: correct, but cut in the middle of the file.
    static func first(_ request: LoopbackRequest, in situation: ResumeCase) -> ScriptedResponse {
        var response = ScriptedResponse(request, situation.versions[0])
        response.cut = ResumeCase.cut
        return response
    }

    private mutating func setContentRange(_ part: Range<Int>, of version: ResumeVersion) {
        fields.append("Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(version.size)")
    }

    private mutating func removeContentRange() {
        fields.removeAll { $0.hasPrefix("Content-Range:") }
    }

    /// Sends everything; `false` if the connection must be closed.
    func send(to socket: Int32, isHead: Bool) -> Bool {
        let length = text?.utf8.count ?? body.count
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(length)"
        let head = (["HTTP/1.1 \(status)"] + fields + [framing]).joined(separator: "\r\n") + "\r\n\r\n"
        guard LoopbackConnection.send(head, to: socket) else { return false }
        if isHead { return true }
        if let text { return LoopbackConnection.send(text, to: socket) }
        let end = min(body.upperBound, cut ?? .max)
        var window = ContentWindow(capacity: 1 << 16)
        var position = body.lowerBound
        while position < end {
            let next = min(position + 1 << 16, end)
            if isChunked, !LoopbackConnection.send(String(next - position, radix: 16) + "\r\n", to: socket) {
                return false
            }
            let isSent = window.withBytes(of: content, in: position..<next) { FileSystem.writeAll($0, to: socket) }
            guard isSent else { return false }
            if isChunked, !LoopbackConnection.send("\r\n", to: socket) { return false }
            position = next
        }
        return end == body.upperBound && !isChunked
    }
}
