/// Modifiers of the head.
extension Response {
    /// Adds a field, also where there is one of that name.
    package func header(_ name: String, _ value: String) -> Response {
        withHead { $0.fields.append((name, value)) }
    }

    /// Adds a field in place of all others of that name.
    package func settingHeader(_ name: String, _ value: String) -> Response {
        withHead { $0.set(name, value) }
    }

    /// Removes all fields of that name, in any case, also those that the server had made itself.
    package func withoutHeader(_ name: String) -> Response {
        withHead { $0.remove(name) }
    }

    /// Claims a range by any text: it may have nothing to do with the body.
    package func contentRange(_ value: String) -> Response {
        settingHeader("Content-Range", value)
    }

    /// Adds one field with a value of so many bytes.
    package func hugeHeaderLine(_ count: Int) -> Response {
        header("X-Huge", String(repeating: "a", count: count))
    }

    /// Adds so many short fields.
    package func manyHeaders(_ count: Int) -> Response {
        withHead { $0.fields += (0..<count).map { ("X-Field-\($0)", "value") } }
    }

    /// Sends a field whose value never ends, in place of the end of the head.
    package var endlessHeader: Response {
        withHead { $0.endless = Message.EndlessFields(opening: "X-Endless: ", filler: "aaaaaaaaaaaaaaaa") }
    }

    /// Sends short fields without end.
    package var endlessHeaders: Response {
        withHead { $0.endless = Message.EndlessFields(opening: "", filler: "X-Endless: value\r\n") }
    }

    /// Sends interim responses, such as 100 or 103, before the final one.
    package func interim(_ status: Int, count: Int = 1) -> Response {
        let head = Message.Head(status: status, fields: []).bytes
        return modified { $0.interim += repeatElement(head, count: count).joined() }
    }
}
