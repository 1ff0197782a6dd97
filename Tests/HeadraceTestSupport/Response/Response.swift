/// What the server answers to a request: a base such as `.ok` or `.file`, changed by any number of modifiers.
///
/// A response is a function of the request, so `.sequence`, `.routes` and `.answering` are responses too, and a
/// modifier applies to whatever they choose. Modifiers apply in the order in which they are written.
package struct Response: Sendable {
    /// The message for one request.
    let message: @Sendable (RecordedRequest) -> Message

    /// Returns a response whose message is changed.
    func modified(_ change: @escaping @Sendable (inout Message) -> Void) -> Response {
        Response { [message] request in
            var message = message(request)
            change(&message)
            return message
        }
    }

    /// Returns a response whose head is changed, where it has one.
    func withHead(_ change: @escaping @Sendable (inout Message.Head) -> Void) -> Response {
        modified { message in
            guard var head = message.head else { return }
            change(&head)
            message.head = head
        }
    }
}

extension Response {
    /// A 200 with a length; for the body, a string literal will do.
    package static func ok(_ body: Body = "") -> Response {
        status(200, body: body)
    }

    /// Any status, with a length where the status allows one.
    ///
    /// The body is sent even where the status forbids one.
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

    /// Literal bytes in place of head and body, then an orderly close.
    ///
    /// The bytes count as the body: cuts, paces and gates apply to them.
    package static func raw(_ bytes: Body) -> Response {
        let message = Message(body: bytes, ending: .fin)
        return Response { _ in message }
    }

    /// The request is read, and the connection ends without an answer.
    package static func nothing(by ending: Ending) -> Response {
        let message = Message(body: "", ending: ending)
        return Response { _ in message }
    }
}

extension Response {
    /// Chooses a response by the request, on the connection's thread.
    package static func answering(_ choose: @escaping @Sendable (RecordedRequest) -> Response) -> Response {
        Response { request in choose(request).message(request) }
    }

    /// Answers the requests for one path in turn, and all later ones alike; each path has a count of its own.
    package static func sequence(_ responses: [Response], then last: Response) -> Response {
        answering { $0.attempt < responses.count ? responses[$0.attempt] : last }
    }

    /// Chooses a response by the request's path, without its query.
    package static func routes(_ routes: [String: Response], otherwise other: Response = .status(404)) -> Response {
        answering { routes[$0.path] ?? other }
    }
}
