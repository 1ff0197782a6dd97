/// Modifiers of the message framing.
extension Response {
    /// Sends the body in chunks of these sizes, cycling through them, instead of with a length.
    ///
    /// `sizeLine` replaces every size line, to send an invalid one. Without a last chunk, the connection is closed
    /// instead. The trailers follow the last chunk.
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

    /// Delimits the body by the end of the connection only.
    package var closeDelimited: Response {
        withoutHeader("Content-Length").closing
    }

    /// Sends `Connection: close` and closes the connection.
    package var closing: Response {
        settingHeader("Connection", "close").ending(by: .fin)
    }

    /// Responds as HTTP/1.0: the version in the head, and no second request on the connection.
    package var http10: Response {
        withHead { $0.version = "HTTP/1.0" }.ending(by: .fin)
    }

    /// Sends another HTTP version in the status line.
    package func claimingVersion(_ version: String) -> Response {
        withHead { $0.version = version }
    }

    /// Sends any text as the length, even one that contradicts the body or the framing.
    package func claimingLength(_ value: String) -> Response {
        settingHeader("Content-Length", value)
    }
}
