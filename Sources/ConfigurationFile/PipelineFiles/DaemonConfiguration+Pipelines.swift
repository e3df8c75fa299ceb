// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model
public import PipelineCatalogue

extension DaemonConfiguration {
    /// The pipeline files that the configuration names, and whether its rooms can use them.
    ///
    /// For a configuration that comes from no text: `loadWithPipelines` names the places of problems. Blocks on the disk.
    ///
    /// - Throws: `ConfigurationError` with every problem of every file, else of every room.
    @discardableResult
    public func pipelineCatalogue() throws(ConfigurationError) -> PipelineCatalogue {
        let catalogue = try PipelineCatalogue.load(directory: self.pipelines.directory)
        let problems = ProblemList(file: nil)
        self.check(catalogue, problems)
        try problems.check()
        return catalogue
    }

    /// Adds what the rooms want of pipeline files and those do not have.
    ///
    /// Captures and outputs that have problems already are left out: what is wrong in them stands at its default.
    func check(_ catalogue: PipelineCatalogue, _ problems: ProblemList) {
        var folders: Set<String> = []
        for (name, room) in self.rooms.sorted(by: { $0.key < $1.key }) {
            let path = "rooms.\(name)"
            let captures = ["capture", "audio", "parameters"].map { "\(path).send.\($0)" }
            if !problems.concern({ key in captures.contains { key.hasPrefix($0) } }) {
                room.spec.send?.check(catalogue, path: "\(path).send", problems)
            }
            guard !problems.concern(keysBeginningWith: "\(path).outputs") else { continue }
            for (index, output) in room.spec.outputs.enumerated() {
                output.pipeline?.check(catalogue, path: "\(path).outputs[\(index)].pipeline", &folders, problems)
            }
        }
    }

    /// The pipeline files that rooms name, by the key of each; `catalogue` is what `pipelineCatalogue` returned.
    public func pipelineFiles(in catalogue: PipelineCatalogue) -> [(key: String, file: PipelineFile)] {
        var files: [(key: String, file: PipelineFile)] = []
        func add(_ key: String, _ file: PipelineFile?) {
            if let file { files.append((key, file)) }
        }
        for (name, room) in self.rooms.sorted(by: { $0.key < $1.key }) {
            let send = room.spec.send
            add("rooms.\(name).send.capture", send?.video.flatMap { catalogue.file(.capture, $0.name) })
            add("rooms.\(name).send.audio", send?.audio.flatMap { catalogue.file(.capture, $0.name) })
            for (index, output) in room.spec.outputs.enumerated() {
                let key = "rooms.\(name).outputs[\(index)].pipeline.file"
                add(key, output.pipeline.flatMap { catalogue.file(.output, $0.file) })
            }
        }
        return files
    }
}

extension PipelineOutputSpec {
    /// Adds what the file does not have, values that it does not take, those that it needs, and folders that another
    /// output writes; values are not shown.
    fileprivate func check(
        _ catalogue: PipelineCatalogue,
        path: String,
        _ folders: inout Set<String>,
        _ problems: ProblemList
    ) {
        guard let file = catalogue.file(.output, self.file) else {
            let known = catalogue.files(.output).map(\.name)
            problems.add(
                nil,
                "\(path).file",
                "there is no pipeline file output/\(self.file)",
                accepted: known.joined(separator: ", "),
                suggestion: Spelling.suggestion(for: self.file, among: known)
            )
            return
        }
        let known = file.parameters.keys.sorted()
        for (name, value) in self.parameters.sorted(by: { $0.key < $1.key }) {
            let key = "\(path).parameters.\(name)"
            guard let parameter = file.parameters[name] else {
                problems.add(
                    nil,
                    key,
                    "output/\(self.file) has no such parameter",
                    accepted: known.joined(separator: ", "),
                    suggestion: Spelling.suggestion(for: name, among: known)
                )
                continue
            }
            if let objection = parameter.objection(to: value.value) {
                problems.add(nil, key, "is not taken", accepted: objection)
            } else if parameter.form == .folder, !folders.insert(value.value).inserted {
                problems.add(nil, key, "another output writes into the same folder")
            }
        }
        for name in known where file.parameters[name]?.isRequired == true && self.parameters[name] == nil {
            problems.add(nil, "\(path).parameters.\(name)", "missing", accepted: file.parameters[name]?.description)
        }
    }
}

extension SendSpec {
    /// Adds what the captures do not have, and values that they do not take; values are not shown, as they may be secret.
    fileprivate func check(_ catalogue: PipelineCatalogue, path: String, _ problems: ProblemList) {
        var files: [PipelineFile] = []
        let named = [("capture", MediaKind.video, self.video), ("audio", .audio, self.audio)]
        for case (let key, let media, let name?) in named.map({ ($0, $1, $2?.name) }) {
            if let file = catalogue.file(.capture, name), file.gives[media] != nil {
                files.append(file)
            } else {
                let known = catalogue.files(.capture).filter { $0.gives[media] != nil }.map(\.name)
                problems.add(
                    nil,
                    "\(path).\(key)",
                    "no pipeline file capture/\(name) gives \(media.rawValue)",
                    accepted: known.joined(separator: ", "),
                    suggestion: Spelling.suggestion(for: name, among: known)
                )
            }
        }
        for (name, text) in self.parameters.sorted(by: { $0.key < $1.key }) {
            let takers = files.compactMap { $0.parameters[name] }
            if takers.isEmpty {
                let known = Set(files.flatMap { $0.parameters.keys }).sorted()
                problems.add(
                    nil,
                    "\(path).parameters.\(name)",
                    "no capture of this room has such a parameter",
                    accepted: known.joined(separator: ", ")
                )
            }
            for objection in Set(takers.compactMap { $0.objection(to: text) }) {
                problems.add(nil, "\(path).parameters.\(name)", "is not taken", accepted: objection)
            }
        }
    }
}
