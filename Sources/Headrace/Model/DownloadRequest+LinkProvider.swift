public import HeadracePlatform

extension DownloadRequest {
    /// An address of a file that may end, as signed ones do.
    public struct Link: Sendable, Hashable {
        /// The address; `http` or `https`, with a host.
        public var url: URL
        /// When it ends, by the clock on the wall; nil where only an answer tells.
        public var expires: Date?

        /// Creates a link.
        /// - Parameters:
        ///   - url: The address; `http` or `https`, with a host.
        ///   - expires: When it ends; nil where only an answer tells.
        public init(_ url: URL, expires: Date? = nil) {
            self.url = url
            self.expires = expires
        }
    }

    /// Gives a new address of the same file where the present one does not give it any more.
    ///
    /// Two are equal where one is a copy of the other. A list on the disk does not keep it: a request of the same file that
    /// is added again brings it back, also to a download that has failed with its link meanwhile.
    public struct LinkProvider: Sendable, Hashable {
        private final class Body: Sendable {
            let provide: @Sendable () async throws -> Link

            init(_ provide: @escaping @Sendable () async throws -> Link) {
                self.provide = provide
            }
        }

        private let body: Body

        /// Creates a provider.
        /// - Parameter provide: Returns a new address. Its task is cancelled when the download has to stop. What it throws
        ///   becomes the cause of the download's error, which keeps the bytes so far.
        public init(_ provide: @escaping @Sendable () async throws -> Link) {
            body = Body(provide)
        }

        /// Asks for an address, outside of the threads that are for files.
        func link() async throws -> Link {
            try await withTaskExecutorPreference(globalConcurrentExecutor) { try await body.provide() }
        }

        /// Whether two are copies of one.
        public static func == (left: LinkProvider, right: LinkProvider) -> Bool { left.body === right.body }

        /// Hashes the identity.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(body))
        }
    }
}
