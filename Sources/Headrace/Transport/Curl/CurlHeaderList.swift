#if os(Linux)
import CHeadrace

/// The header lines of a request as libcurl takes them, which must live as long as the transfer.
final class CurlHeaderList {
    private(set) var list: hr_slist?

    /// Nil where there is no memory for all of them: a request without one of its fields is another request.
    init?(
        _ fields: [HeaderField],
        append: (hr_slist?, String) -> hr_slist? = { hr_slist_append($0, $1) }
    ) {
        for field in fields {
            // libcurl takes "Name;" for a field without a value, and "Name:" for one to leave out.
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
