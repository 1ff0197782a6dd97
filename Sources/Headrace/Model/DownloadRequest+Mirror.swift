extension DownloadRequest: CustomReflectable {
    /// The properties for `dump` and debuggers, without the credentials in URLs and the values of secret header fields.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url.withoutCredentials,
                "mirrors": mirrors.map(\.withoutCredentials),
                "urlExpires": urlExpires as Any,
                "linkProvider": linkProvider as Any,
                "identity": identity as Any,
                "destination": destination,
                "conflictPolicy": conflictPolicy,
                "refetchPolicy": refetchPolicy,
                "headers": headers,
                "method": method,
                "isRepeatable": isRepeatable,
                "decodesContent": decodesContent,
                "resumePolicy": resumePolicy,
                "expectedSize": expectedSize as Any,
                "checksums": checksums,
                "pieceHashes": pieceHashes as Any,
                "mismatchPolicy": mismatchPolicy,
                "priority": priority,
                "earliestBegin": earliestBegin as Any,
                "startsPaused": startsPaused,
                "networkPolicy": networkPolicy,
                "group": group as Any,
                "rateLimit": rateLimit as Any,
                "connectTimeout": connectTimeout as Any,
                "stallTimeout": stallTimeout as Any,
                "maxRetries": maxRetries as Any,
                "title": title as Any,
                "userInfo": userInfo,
                "userData": userData as Any,
            ],
            displayStyle: .struct
        )
    }
}
