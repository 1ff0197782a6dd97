/// Modifiers of the head.
extension Response {
    /// Adds a field, even if one of that name exists.
    package func header(_ name: String, _ value: String) -> Response {
        withHead { $0.fields.append((name, value)) }
    }

    /// Replaces all fields of that name by one.
    package func settingHeader(_ name: String, _ value: String) -> Response {
        withHead { $0.set(name, value) }
    }

    /// Removes all fields of that name, ignoring case, including those that the server added itself.
    package func withoutHeader(_ name: String) -> Response {
        withHead { $0.remove(name) }
    }

    /// Sends any text as the content range, even one that contradicts the body.
    package func contentRange(_ value: String) -> Response {
        settingHeader("Content-Range", value)
    }

    /// Adds one field with a value of `count` bytes.
    package func hugeHeaderLine(_ count: Int) -> Response {
        header("X-Huge", String(repeating: "a", count: count))
    }

    /// Adds `count` short fields.
    package func manyHeaders(_ count: Int) -> Response {
        withHead { $0.fields += (0..<count).map { ("X-Field-\($0)", "value") } }
    }

    /// Sends a field with an endless value instead of finishing the head.
    package var endlessHeader: Response {
        withHead { $0.endless = Message.EndlessFields(opening: "X-Endless: ", filler: "aaaaaaaaaaaaaaaa") }
    }

    /// Sends an endless number of short fields.
    package var endlessHeaders: Response {
        withHead { $0.endless = Message.EndlessFields(opening: "", filler: "X-Endless: value\r\n") }
    }

    /// Sends interim responses, such as 100 or 103, before the final one.
    package func interim(_ status: Int, count: Int = 1) -> Response {
        let head = Message.Head(status: status, fields: []).bytes
        return modified { $0.interim += repeatElement(head, count: count).joined() }
    }
}
