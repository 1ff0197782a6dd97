/// The files of a scene, which the server serves and the contenders download.
struct ServedFiles {
    let payload: Scene.Payload
    let names: [String]
    private let workspace: Workspace

    /// Makes the files.
    ///
    /// An existing single file is reused, because its bytes depend only on its name.
    init(_ payload: Scene.Payload, isSparse: Bool = false, in workspace: Workspace) throws {
        self.payload = payload
        self.workspace = workspace
        switch payload {
        case .single(let bytes):
            let name = "\(isSparse ? "sparse" : "single")-\(bytes).bin"
            let path = workspace.site + "/" + name
            if !FileSystem.exists(path) {
                Console.error("making \(Format.size(bytes))")
                let make = isSparse ? SourceFile.makeSparse : SourceFile.make
                try make(path, bytes, 0)
            }
            names = [name]
        case .many(let count, let each, _):
            Console.error("making \(payload.description)")
            names = try (1...count).map { number in
                let name = "many-\(number).bin"
                try SourceFile.make(workspace.site + "/" + name, size: each, seed: UInt64(number))
                return name
            }
        }
    }

    /// Returns the job to download the files, with the lists of URLs that it needs in files named after the scene.
    func job(
        for scene: String,
        connections: Scene.Connections,
        authority: String?,
        url: (String) -> String
    ) throws -> Job {
        let urls = names.map(url)
        let list = workspace.scratch + "/\(scene).txt"
        try FileSystem.write(urls.joined(separator: "\n") + "\n", to: list)
        let curl = workspace.scratch + "/\(scene).curl"
        try FileSystem.write(
            "remote-name-all\noutput-dir = \"\(workspace.output)\"\n"
                + urls.map { "url = \"\($0)\"\n" }.joined(),
            to: curl
        )
        return Job(
            payload: payload,
            connections: connections,
            url: urls[0],
            file: workspace.output + "/" + names[0],
            directory: workspace.output,
            list: list,
            curlConfiguration: curl,
            authority: authority
        )
    }

    /// Compares every byte of every file, and checks that there are no other files.
    ///
    /// Returns a description of the first problem; `nil` if there is none.
    func verify() throws -> String? {
        for name in names {
            let source = workspace.site + "/" + name
            if let difference = try SourceFile.difference(of: workspace.output + "/" + name, from: source) {
                return "wrong file \(name): \(difference)"
            }
        }
        let others = Set(try FileSystem.names(in: workspace.output)).subtracting(names)
        return others.min().map { "left \(others.count) other file(s) behind, \($0)" }
    }
}
