import HeadracePlatform

extension URL {
    /// A way of signing links: the query parameters that differ between two signed links to the same file.
    private struct Signature {
        /// The parameters that show that a link is signed in this way, in lower case.
        let required: Set<String>
        /// The prefixes of the parameters that belong to the signature.
        var prefixes: [String] = []
        /// The other parameters that belong to the signature.
        var others: Set<String> = []

        /// Amazon S3 and CloudFront, Google Cloud Storage, and Azure.
        static let all = [
            Signature(required: ["x-amz-signature"], prefixes: ["x-amz-"]),
            Signature(required: ["x-goog-signature"], prefixes: ["x-goog-"]),
            Signature(required: ["signature", "awsaccesskeyid"], others: ["expires"]),
            Signature(required: ["signature", "googleaccessid"], others: ["expires"]),
            Signature(required: ["signature", "key-pair-id"], others: ["expires", "policy"]),
            Signature(
                required: ["sig", "se", "sv"],
                others: ["st", "sp", "sr", "spr", "sip", "skoid", "sktid", "skt", "ske", "sks", "skv"]
            ),
        ]

        func has(_ name: String) -> Bool {
            required.contains(name) || others.contains(name) || prefixes.contains { name.hasPrefix($0) }
        }
    }

    /// For a signed link, the URL without its fragment and the parameters of the signature, so that all signed links to
    /// a file are equal; otherwise the unchanged URL.
    var withoutSignature: URL {
        let text = absoluteString
        guard text.has("?"), let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        let query = text.utf8[text.utf8.index(after: mark)...].prefix { $0 != UInt8(ascii: "#") }
        let items = query.split(separator: UInt8(ascii: "&")).map { item in
            (name: String(decoding: item.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self).lowercased(), item)
        }
        let names = Set(items.map(\.name))
        let signatures = Signature.all.filter { $0.required.isSubset(of: names) }
        guard !signatures.isEmpty else { return self }
        let kept = items.filter { item in !signatures.contains { $0.has(item.name) } }
        let rest = kept.map { String(decoding: $0.1, as: UTF8.self) }.joined(separator: "&")
        return URL(string: text[..<mark] + (rest.isEmpty ? "" : "?" + rest)) ?? self
    }
}
