#if os(Linux)
import CHeadrace

/// The header lines of a request in libcurl's format; the object must live as long as the transfer.
final class CurlHeaderList {
    private(set) var list: hr_slist?

    /// Creates a list; returns `nil` if memory runs out, since a request must not be sent without one of its fields.
    init?(
        _ fields: [HeaderField],
        append: (hr_slist?, String) -> hr_slist? = { hr_slist_append($0, $1) }
    ) {
        for field in fields {
            // libcurl interprets "Name;" as a field with an empty value, and "Name:" as a field to omit.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            guard let longer = append(list, line) else { return nil }
            list = longer
        }
    }

    deinit {
        if let list { hr_slist_free_all(list) }
    }
}
#endif
