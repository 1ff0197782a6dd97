#if os(Linux)
import CHeadrace

/// A list of texts for libcurl, such as the header lines of a request; it must live as long as the transfer.
final class CurlHeaderList {
    private(set) var list: hr_slist?

    /// Creates a list; returns `nil` if memory runs out, since a request must not be sent without one of its fields.
    convenience init?(
        _ fields: [HeaderField],
        append: (hr_slist?, String) -> hr_slist? = { hr_slist_append($0, $1) }
    ) {
        self.init(lines: Self.lines(of: fields), append: append)
    }

    /// Returns the line of each field: libcurl interprets "Name;" as a field with an empty value, and "Name:" as a field to
    /// omit.
    static func lines(of fields: [HeaderField]) -> [String] {
        fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    }

    /// Creates a list of any texts; returns `nil` if memory runs out.
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
