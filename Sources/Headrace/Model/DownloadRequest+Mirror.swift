extension DownloadRequest: CustomReflectable {
    /// The main properties for `dump` and debuggers, without the credentials in URLs and the values of secret header
    /// fields.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url.withoutCredentials,
                "mirrors": mirrors.map(\.withoutCredentials),
                "destination": destination,
                "headers": headers,
                "title": title as Any,
            ],
            displayStyle: .struct
        )
    }
}
