public import HeadracePlatform

extension DownloadRequest {
    /// The URL of the request, with the time at which it expires.
    var link: Link { Link(url, expires: urlExpires) }

    /// A URL that may expire, such as the signed URL of a file.
    public struct Link: Sendable, Hashable {
        /// The URL, with the scheme `http` or `https` and a host.
        public var url: URL
        /// The time at which the URL expires; `nil` if unknown.
        public var expires: Date?

        /// Creates a link.
        /// - Parameters:
        ///   - url: The URL; `http` or `https`, with a host.
        ///   - expires: The time at which the URL expires; `nil` if unknown.
        public init(_ url: URL, expires: Date? = nil) {
            self.url = url
            self.expires = expires
        }
    }

    /// Supplies a new URL of the same file when the current URL stops working.
    ///
    ///     request.linkProvider = .init { .init(try await api.signedURL(of: id)) }
    ///
    /// The registry does not save the provider. After a restart, add a request for the same file again to supply the
    /// provider, even if the download has failed meanwhile. Two providers are equal if one is a copy of the other.
    public struct LinkProvider: Sendable, Hashable {
        private final class Body: Sendable {
            let provide: @Sendable () async throws -> Link

            init(_ provide: @escaping @Sendable () async throws -> Link) {
                self.provide = provide
            }
        }

        private let body: Body

        /// Creates a provider from a closure.
        /// - Parameter provide: Returns a new URL. The closure's task is cancelled when the download stops. If the
        ///   closure throws, the received bytes are retained; if the current URL fails too, the thrown error is the
        ///   cause of the download's error.
        public init(_ provide: @escaping @Sendable () async throws -> Link) {
            body = Body(provide)
        }

        /// Calls the closure and returns its link.
        ///
        /// The closure runs on `executor`, so that it does not occupy a thread that is reserved for file calls.
        func link(on executor: any TaskExecutor) async throws -> Link {
            try await withTaskExecutorPreference(executor) { try await body.provide() }
        }

        /// Returns whether one provider is a copy of the other.
        public static func == (left: LinkProvider, right: LinkProvider) -> Bool { left.body === right.body }

        /// Hashes the identity of the provider, which its copies share.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(body))
        }
    }
}
