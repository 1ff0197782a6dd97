import Headrace
import HeadracePlatform

extension DownloadSnapshot {
    /// What the help text says of ``json(position:)``; the page "JSON lines" of the documentation tells more.
    static let jsonNotes = """
        --json: an object for each download, with its place, number, id, state, url, name, title, group, priority,
        begin, bytesReceived and totalBytes, and its destination or directory; once it is finished file; once it has failed
        code, message and exitStatus; networkObstacle where it waits for another network. Places count from 1 and
        change, numbers do not; sizes are bytes, times are ISO 8601 in UTC, null is what is not known. Later releases
        may add members.
        """

    /// The download as a JSON object in a line; the place is that in the list, where it is known.
    func json(position: Int?) -> String {
        let item = DisplayedDownload(id: id.description, request: request)
        var object = JSONObject([
            "place": .optional(place.map { Int64($0) }), "number": .optional(number.map { Int64($0) }),
            "id": .string(item.id), "state": .string(state.kind.rawValue),
            "url": .string(item.url), "name": .string(item.name), "title": .optional(request.title),
            "group": .optional(request.group), "priority": .integer(Int64(priority.rawValue)),
            "begin": .optional(request.earliestBegin?.formatted(.iso8601)),
            "bytesReceived": .integer(progress.bytesReceived), "totalBytes": .optional(progress.totalBytes),
        ])
        switch request.destination {
        case .file(let file): object.append("destination", .string(file.plainPath))
        case .directory(let folder): object.append("directory", .string(folder.plainPath))
        }
        switch state {
        case .finished(let file): object.append("file", .string(file.plainPath))
        case .failed(let error):
            object.append("code", .string("\(error.code)"))
            object.append("message", .string(error.message))
            object.append("exitStatus", .integer(Int64(ExitCode(error.code).code)))
        default: break
        }
        if let blocker = networkBlocker { object.append("networkObstacle", .string(blocker.rawValue)) }
        return object.text
    }
}
