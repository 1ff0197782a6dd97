/// The names of the status codes with which servers refuse a file (IANA HTTP Status Code Registry).
enum StatusName {
    /// Returns the name of a status, such as `Not Found`; `nil` for a rare or unknown status.
    static func of(_ status: Int) -> String? { names[status] }

    private static let names = [
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 412: "Precondition Failed", 414: "URI Too Long", 416: "Range Not Satisfiable",
        421: "Misdirected Request", 423: "Locked", 425: "Too Early", 426: "Upgrade Required",
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
        507: "Insufficient Storage", 511: "Network Authentication Required",
    ]
}
