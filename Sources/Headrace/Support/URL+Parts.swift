#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension URL {
    /// The URL without user and password, fit for messages, events and logs.
    var withoutCredentials: URL {
        guard user != nil || password != nil, var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.user = nil
        components.password = nil
        return components.url ?? self
    }

    /// The file's path as the system calls take it.
    var filePath: String { absoluteURL.path(percentEncoded: false) }
}
