import Headrace
import HeadracePlatform

extension URL {
    /// The URL without login, fragment and signature, so that all signed links to a file are equal.
    var withoutSignature: String {
        guard var parts = URLComponents(url: withoutCredentials, resolvingAgainstBaseURL: true) else {
            return absoluteString
        }
        parts.fragment = nil
        let items = parts.percentEncodedQueryItems?.filter { item in
            let name = item.name.lowercased()
            return !name.hasPrefix("x-amz-") && !name.hasPrefix("x-goog-") && !Self.signatureParameters.contains(name)
        }
        parts.percentEncodedQueryItems = items?.isEmpty == true ? nil : items
        return parts.string ?? absoluteString
    }

    /// The parameters of signed links of Amazon S3 and CloudFront, Google Cloud Storage and Azure, in lower case.
    private static let signatureParameters: Set<String> = [
        "awsaccesskeyid", "signature", "expires", "key-pair-id", "policy", "googleaccessid",
        "sig", "se", "st", "sp", "sv", "sr", "spr", "sip", "skoid", "sktid", "skt", "ske", "sks", "skv",
    ]

    /// The path without percent-encoding, for system calls and messages.
    var plainPath: String { path(percentEncoded: false) }

    /// Creates the URL of a file from a path on the command line, relative to `folder` or else to the current
    /// directory.
    ///
    /// A leading `~` is taken literally: expanding it is the shell's job, and a file name may start with it.
    init(givenPath path: String, _ hint: DirectoryHint, from folder: URL? = nil) {
        let isTilde = path.utf8.first == UInt8(ascii: "~")
        self = URL(filePath: isTilde ? "./\(path)" : path, directoryHint: hint, relativeTo: folder).absoluteURL
    }
}
