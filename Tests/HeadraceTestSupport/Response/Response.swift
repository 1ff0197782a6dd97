/// A server's response to a request: a base such as `.ok` or `.file`, changed by any number of modifiers.
///
/// A response is a function of the request, so `.sequence`, `.routes` and `.answering` are responses too, and a
/// modifier applies to whatever they choose. Modifiers apply in the order in which they are written.
package struct Response: Sendable {
    /// Returns the message for a request.
    let message: @Sendable (RecordedRequest) -> Message

    /// Returns a response with a changed message.
    func modified(_ change: @escaping @Sendable (inout Message) -> Void) -> Response {
        Response { [message] request in
            var message = message(request)
            change(&message)
            return message
        }
    }

    /// Returns a response with a changed head, if it has one.
    func withHead(_ change: @escaping @Sendable (inout Message.Head) -> Void) -> Response {
        modified { message in
            guard var head = message.head else { return }
            change(&head)
            message.head = head
        }
    }
}

extension Response {
    /// A 200 with a length; the body can be a string literal.
    package static func ok(_ body: Body = "") -> Response {
        status(200, body: body)
    }

    /// A response with any status, with a length if the status allows one.
    ///
    /// The body is sent even if the status forbids one.
    package static func status(
        _ status: Int,
        headers: KeyValuePairs<String, String> = [:],
        body: Body = ""
    ) -> Response {
        var fields = headers.map { (name: $0.key, value: $0.value) }
        let forbidsLength = status < 200 || status == 204 || status == 304
        if !forbidsLength { fields.append(("Content-Length", "\(body.count)")) }
        let message = Message(head: Message.Head(status: status, fields: fields), body: body)
        return Response { _ in message }
    }

    /// A redirect without a body, with the literal value of its `Location`.
    package static func redirect(_ status: Int = 302, to location: String) -> Response {
        .status(status, headers: ["Location": location])
    }

    /// Raw bytes in place of head and body, then an orderly close.
    ///
    /// The bytes count as the body, so cuts, paces and gates apply to them.
    package static func raw(_ bytes: Body) -> Response {
        let message = Message(body: bytes, ending: .fin)
        return Response { _ in message }
    }

    /// No response: the request is read, and the connection ends.
    package static func nothing(by ending: Ending) -> Response {
        let message = Message(body: "", ending: ending)
        return Response { _ in message }
    }
}

extension Response {
    /// Chooses a response for the request, on the connection's thread.
    package static func answering(_ choose: @escaping @Sendable (RecordedRequest) -> Response) -> Response {
        Response { request in choose(request).message(request) }
    }

    /// Gives each request for a path the next response, and all later ones `last`; each path is counted separately.
    package static func sequence(_ responses: [Response], then last: Response) -> Response {
        answering { $0.attempt < responses.count ? responses[$0.attempt] : last }
    }

    /// Chooses a response by the request's path, ignoring its query.
    package static func routes(_ routes: [String: Response], otherwise other: Response = .status(404)) -> Response {
        answering { routes[$0.path] ?? other }
    }
}
