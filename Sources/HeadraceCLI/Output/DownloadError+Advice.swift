import Headrace

extension DownloadError {
    /// The message, followed by the option that may solve the problem, if there is one.
    var advisedMessage: String {
        guard let advice = remedy?.advice else { return message }
        return "\(message.withoutFullStop); \(advice)."
    }
}

extension DownloadError.Remedy {
    fileprivate var advice: String {
        switch self {
        case .login: "use --netrc or --netrc-file to log in, or --user or --header 'Authorization: ...' of headrace get"
        case .certificateAuthorities: "use --cacert FILE to trust another certificate authority"
        case .insecureRedirects: "use --allow-downgrade to allow it"
        case .cookies: "use --cookies FILE, which may be an empty file, to send cookies"
        }
    }
}
