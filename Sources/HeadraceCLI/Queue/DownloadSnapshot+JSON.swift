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
            "place": position.map { $0 + 1 }, "number": number, "id": item.id, "state": state.kind.rawValue,
            "url": item.url, "name": name, "title": request.title, "group": request.group,
            "priority": priority.rawValue, "begin": request.earliestBegin?.formatted(.iso8601),
            "bytesReceived": progress.bytesReceived, "totalBytes": progress.totalBytes,
        ]
        switch request.destination {
        case .file(let file): object.append("destination", file.plainPath)
        case .directory(let folder): object.append("directory", folder.plainPath)
        }
        switch state {
        case .finished(let file): object.append("file", file.plainPath)
        case .failed(let error): object = object + .failure(error.code, error.message)
        default: break
        }
        if let networkBlocker { object.append("networkObstacle", networkBlocker.rawValue) }
        return object.text
    }
}
