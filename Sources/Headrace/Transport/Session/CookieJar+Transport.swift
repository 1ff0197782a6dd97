extension CookieJar {
    /// Stores the cookies that a response sets.
    func store(_ head: ResponseHead) {
        let fields = head.values("set-cookie")
        guard !fields.isEmpty, let place = CookieScope(head.url) else { return }
        let now = now()
        store.withLock { $0.store(fields, from: place, at: now) }
    }

    /// Adds the matching cookies to a request; merges them with the request's own cookies into one `Cookie` field.
    func add(to request: inout TransportRequest) {
        let now = now()
        guard let place = CookieScope(request.url), let own = store.withLock({ $0.field(for: place, at: now) }) else {
            return
        }
        let isCookie: (HeaderField) -> Bool = { $0.name.lowercased() == "cookie" }
        let given = request.fields.filter(isCookie).map(\.value)
        request.fields.removeAll(where: isCookie)
        request.fields.append(HeaderField(name: "Cookie", value: (given + [own]).joined(separator: "; ")))
    }
}
