#if os(Linux)
import CHeadrace

/// A `curl_slist` of strings, such as the header lines of a request.
///
/// libcurl does not copy the list, so it must live as long as the transfer.
final class CurlHeaderList {
    private(set) var list: hr_slist?

    /// Returns the line of each field in libcurl's syntax.
    ///
    /// A field with an empty value is written as "Name;", because libcurl omits a field that is written as "Name:".
    static func lines(of fields: [HeaderField]) -> [String] {
        fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    }

    /// Creates a list of any strings; returns `nil` if memory runs out.
    ///
    /// An incomplete list is never created, because no field of a request may be missing.
    init?(lines: [String], append: (hr_slist?, String) -> hr_slist? = { hr_slist_append($0, $1) }) {
        for line in lines {
            guard let longer = append(list, line) else { return nil }
            list = longer
        }
    }

    deinit {
        if let list { hr_slist_free_all(list) }
    }
}
#endif
