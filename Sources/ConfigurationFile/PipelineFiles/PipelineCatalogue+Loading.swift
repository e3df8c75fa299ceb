// SPDX-License-Identifier: Apache-2.0

internal import EmbeddedFiles
internal import Glibc
public import PipelineCatalogue

extension PipelineCatalogue {
    /// Most files of a folder of pipelines.
    static let maximumFiles = 256
    private static let suffix = ".yaml"

    /// The files that are part of the program, with those of an operator's folder instead of or in addition to them.
    ///
    /// The folder has a folder for each kind, `capture`, `encode`, `record` and `output`, with files `NAME.yaml`; what
    /// begins with a dot, ends with `~` or begins with `README` is passed over. Blocks on the disk.
    ///
    /// - Throws: `ConfigurationError` with every problem of every file.
    public static func load(directory: String? = nil) throws(ConfigurationError) -> PipelineCatalogue {
        var problems: [ConfigurationProblem] = []
        var entries: [Entry] = []
        func take(_ kind: PipelineFile.Kind, _ name: String, _ text: String, _ path: String, _ origin: Origin) {
            do throws(ConfigurationError) {
                entries.append(Entry(file: try .parse(kind, name, text: text, file: path), origin: origin))
            } catch {
                problems += error.problems
            }
        }
        for file in EmbeddedFile.pipelines {
            let parts = file.name.dropLast(".yaml".count).split(separator: "/")
            guard let kind = parts.first.flatMap({ PipelineFile.Kind(rawValue: String($0)) }) else { continue }
            let text = String(decoding: file.bytes, as: UTF8.self)
            take(kind, String(parts[1]), text, "Pipelines/\(file.name)", .bundled)
        }
        for (kind, name, path) in try Self.files(in: directory, &problems) {
            do throws(BoundedFile.Failure) {
                let text = try BoundedFile.text(path: path, maximumBytes: PipelineFile.maximumBytes)
                take(kind, name, text, path, .folder(path))
            } catch {
                problems.append(ConfigurationProblem(file: path, key: "", message: error.reason))
            }
        }
        guard problems.isEmpty else {
            let shown = problems.prefix(ConfigurationError.maximumProblems)
            throw ConfigurationError(.invalid, Array(shown))
        }
        return PipelineCatalogue(entries)
    }

    /// The text of a file of the program, by its kind and name as in `capture/file`; `nil` if there is none.
    public static func bundledText(_ path: String) -> String? {
        EmbeddedFile.pipelines.first { $0.name == path + ".yaml" }.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    /// The files of a folder by kind, in the order of their names.
    private static func files(
        in directory: String?,
        _ problems: inout [ConfigurationProblem]
    ) throws(ConfigurationError) -> [(PipelineFile.Kind, String, String)] {
        guard let directory else { return [] }
        guard let folders = Self.names(in: directory) else {
            let message = "cannot be read: \(Self.errorText)"
            throw ConfigurationError(.unreadable, [ConfigurationProblem(file: directory, key: "", message: message)])
        }
        var files: [(PipelineFile.Kind, String, String)] = []
        for folder in folders {
            let path = "\(directory)/\(folder)"
            guard let kind = PipelineFile.Kind(rawValue: folder), let names = Self.names(in: path) else {
                let accepted = "folders \(PipelineFile.Kind.allCases.map(\.rawValue).joined(separator: ", "))"
                problems.append(
                    ConfigurationProblem(file: path, key: "", message: "is no folder of pipelines", accepted: accepted)
                )
                continue
            }
            for name in names {
                guard name.hasSuffix(Self.suffix) else {
                    problems.append(
                        ConfigurationProblem(
                            file: "\(path)/\(name)",
                            key: "",
                            message: "is no pipeline file",
                            accepted: "NAME\(Self.suffix)"
                        )
                    )
                    continue
                }
                files.append((kind, String(name.dropLast(Self.suffix.count)), "\(path)/\(name)"))
            }
        }
        if files.count > Self.maximumFiles {
            let problem = ConfigurationProblem(
                file: directory,
                key: "",
                message: "has \(files.count) files",
                accepted: "\(Self.maximumFiles) at most"
            )
            throw ConfigurationError(.invalid, [problem])
        }
        return files
    }

    /// The names in a folder, sorted; nil if it cannot be read.
    private static func names(in directory: String) -> [String]? {
        guard let stream = opendir(directory) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        // Twice as many as there may be files, so that a folder that is no folder of pipelines does not take for ever.
        while names.count < 2 * Self.maximumFiles, let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(".") || name.hasSuffix("~") || name.hasPrefix("README") { continue }
            names.append(name)
        }
        return names.sorted()
    }

    private static var errorText: String { strerror(errno).map { String(cString: $0) } ?? "error \(errno)" }
}
