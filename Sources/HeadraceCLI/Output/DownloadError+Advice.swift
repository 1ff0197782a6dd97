import Headrace

extension DownloadError {
    /// The message with the option that may help, where there is one.
    var advisedMessage: String {
        guard let advice = remedy?.advice else { return message }
        return "\(message.withoutFullStop); \(advice)."
    }
}

extension DownloadError.Remedy {
    /// What the tool's options do for it.
    fileprivate var advice: String {
        switch self {
        case .login: "--netrc, --netrc-file or --header 'Authorization: ...' gives a login"
        case .certificateAuthorities: "--cacert names a file of authorities to trust"
        case .insecureRedirects: "--allow-downgrade does so"
        case .cookies: "--cookies FILE, which may be empty, sends cookies back"
        }
    }
}
