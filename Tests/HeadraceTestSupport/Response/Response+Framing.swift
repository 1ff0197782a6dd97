/// Modifiers of how the end of the message is told.
extension Response {
    /// Sends the body in chunks of these sizes, over and over until it ends, and not with a length.
    ///
    /// A `sizeLine` stands in place of every size line, to say nonsense; without a last chunk, the connection is
    /// closed in its place; the trailers follow the last chunk.
    package func chunked(
        _ sizes: [Int64] = [64 * 1024],
        sizeLine: String? = nil,
        hasLastChunk: Bool = true,
        trailers: KeyValuePairs<String, String> = [:]
    ) -> Response {
        precondition(!sizes.isEmpty && sizes.allSatisfy { $0 > 0 }, "A chunk holds at least one byte")
        let chunking = Message.Chunking(
            sizes: sizes,
            sizeLine: sizeLine,
            hasLastChunk: hasLastChunk,
            trailers: trailers.map { (name: $0.key, value: $0.value) }
        )
        return withoutHeader("Content-Length").settingHeader("Transfer-Encoding", "chunked").modified { message in
            message.chunking = chunking
            if !hasLastChunk { message.ending = .fin }
        }
    }

    /// Tells the end of the body by the end of the connection alone.
    package var closeDelimited: Response {
        withoutHeader("Content-Length").closing
    }

    /// Announces the end of the connection, and ends it.
    package var closing: Response {
        settingHeader("Connection", "close").ending(by: .fin)
    }

    /// Answers as HTTP/1.0 does: another version in the head, and no second request on the connection.
    package var http10: Response {
        withHead { $0.version = "HTTP/1.0" }.ending(by: .fin)
    }

    /// Claims another version of HTTP in the status line.
    package func claimingVersion(_ version: String) -> Response {
        withHead { $0.version = version }
    }

    /// Claims a length by any text: it may have nothing to do with the body or the framing.
    package func claimingLength(_ value: String) -> Response {
        settingHeader("Content-Length", value)
    }
}
