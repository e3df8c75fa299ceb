// SPDX-License-Identifier: Apache-2.0

internal import PipelineCatalogue

extension PipelineFile.Kind {
    /// Which files of a kind can be used on a host without the `missing` elements.
    ///
    /// A file says itself which elements it `requires`.
    func finding(_ files: [PipelineFile], missing: Set<String>) -> Finding {
        let lacking = files.map { ($0, $0.requires.filter(missing.contains)) }.filter { !$0.1.isEmpty }
        let name = "\(self.rawValue) files"
        let usable = files.map(\.name).filter { name in !lacking.contains { $0.0.name == name } }
        let found = usable.isEmpty ? "none can be used" : usable.joined(separator: ", ")
        guard !lacking.isEmpty else { return Finding(.gstreamer, name, .ok, found) }
        let without = lacking.map { file, absent in "\(file.path) lacks \(DebianPackage.list(absent))" }
        return Finding(
            .gstreamer,
            name,
            .warning,
            "\(found); \(without.joined(separator: "; "))",
            meaning: "\(lacking.map(\.0.path).joined(separator: ", ")) cannot be used",
            packages: DebianPackage.packages(lacking.flatMap(\.1))
        )
    }
}
