import Headrace
import HeadracePlatform

extension DownloadSnapshot {
    /// The paragraph of the help text about ``json``; the page "JSON lines" is the full reference.
    static let jsonNotes = """
        --json: an object for each download with its place, number, id, state, url, name, title, group, priority,
        begin, bytesReceived, totalBytes, and destination or directory. A finished download also has file, a failed one
        code, message and exitStatus, and one that waits for another network networkObstacle. The place is the position
        in the queue, from 1, and can change; the number cannot. Sizes are in bytes, times are ISO 8601 in UTC, and
        unknown values are null. Later releases may add members.
        """

    /// The download as a JSON object on one line.
    var json: String {
        let item = DisplayedDownload(id: id.description, request: request)
        var object: JSONObject = [
            "place": .optional(position.map { $0 + 1 }), "number": .optional(number),
            "id": .string(item.id), "state": .string(state.kind.rawValue),
            "url": .string(item.url), "name": .string(item.name), "title": .optional(request.title),
            "group": .optional(request.group), "priority": .integer(Int64(priority.rawValue)),
            "begin": .optional(request.earliestBegin?.formatted(.iso8601)),
            "bytesReceived": .integer(progress.bytesReceived), "totalBytes": .optional(progress.totalBytes),
        ]
        switch request.destination {
        case .file(let file): object.append("destination", .string(file.plainPath))
        case .directory(let folder): object.append("directory", .string(folder.plainPath))
        }
        switch state {
        case .finished(let file): object.append("file", .string(file.plainPath))
        case .failed(let error): object = object + .failure(error.code, error.message)
        default: break
        }
        if let blocker = networkBlocker { object.append("networkObstacle", .string(blocker.rawValue)) }
        return object.text
    }
}
