// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension PipelineFile {
    /// The media that can be accepted and given.
    private static func mediaNames(_ media: MediaKind) -> [String] {
        ["raw"] + MediaCodec.allCases.filter { $0.kind == media }.map(\.capsName).sorted()
    }

    /// Everything that is wrong with the file as far as that can be said without GStreamer.
    public var findings: [PipelineFinding] {
        var list = Findings(file: self.path)
        if !Self.isName(self.name) {
            list.add("", "cannot be the name of a file: a to z, 0 to 9 and -, at most 64, the first a letter")
        }
        let text = LaunchText(self.launch)
        self.checkMedia(&list)
        self.checkPorts(text, &list)
        for name in Set(text.names).sorted() where text.names.filter({ $0 == name }).count > 1 {
            list.add("launch", "names two elements \"\(name)\"")
        }
        for name in text.names where name.hasPrefix("tapedeck") {
            list.add("launch", "names an element \"\(name)\"; names that begin with tapedeck are the program's own")
        }
        if text.elements.isEmpty { list.add("launch", "makes no element") }
        for element in Set(text.elements).subtracting(self.requires).sorted() {
            list.add("requires", "does not list \"\(element)\", which launch uses")
        }
        for (name, parameter) in self.parameters.sorted(by: { $0.key < $1.key }) {
            parameter.check("parameters.\(name)", text, &list)
        }
        if let argument = self.argument {
            switch self.parameters[argument] {
            case nil: list.add("argument", "there is no parameter \"\(argument)\"")
            case let parameter? where parameter.form != .string && parameter.form != .folder:
                list.add("argument", "the parameter \"\(argument)\" is neither a string nor a folder")
            case _?: break
            }
        }
        self.checkKind(&list)
        return list.findings
    }

    /// Whether a text can name a file.
    public static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), let first = text.utf8.first,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
        else { return false }
        return text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-")
        }
    }

    private func checkMedia(_ list: inout Findings) {
        for (key, table) in [("accepts", self.accepts), ("gives", self.gives)] {
            for (media, names) in table.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                let known = Self.mediaNames(media)
                for name in names where !known.contains(name) {
                    let accepted = known.joined(separator: ", ")
                    list.add("\(key).\(media.rawValue)", "found \"\(name)\"; accepted: \(accepted)")
                }
                if names.isEmpty { list.add("\(key).\(media.rawValue)", "is empty") }
            }
        }
    }

    private func checkPorts(_ text: LaunchText, _ list: inout Findings) {
        var wanted: [String: String] = [:]
        for media in self.accepts.keys { wanted[Self.input(media)] = "sink" }
        for media in self.gives.keys { wanted[Self.output(media)] = "src" }
        for (name, pad) in wanted.sorted(by: { $0.key < $1.key }) where self.ports[name] == nil {
            list.add("ports", "there is no \(name): \(pad)")
        }
        for (name, pad) in self.ports.sorted(by: { $0.key < $1.key }) {
            if !text.names.contains(name) { list.add("ports.\(name)", "launch has no element with name=\(name)") }
            if let right = wanted[name], right != pad {
                list.add("ports.\(name)", "found \"\(pad)\"; accepted: \(right)")
            } else if wanted[name] == nil {
                list.add("ports.\(name)", "stands for nothing that the file accepts or gives")
            }
        }
    }

    private func checkKind(_ list: inout Findings) {
        switch self.kind {
        case .capture:
            if self.gives.isEmpty { list.add("gives", "a capture gives video, audio or both") }
            if !self.accepts.isEmpty { list.add("accepts", "a capture accepts nothing") }
            for (media, names) in self.gives where names != ["raw"] {
                list.add("gives.\(media.rawValue)", "a capture gives raw media")
            }
        case .encode:
            let isOne = self.gives.count == 1 && self.gives.values.allSatisfy { $0.count == 1 && $0 != ["raw"] }
            if !isOne { list.add("gives", "an encoder gives one codec") }
            if self.accepts != self.gives.mapValues({ _ in ["raw"] }) {
                list.add("accepts", "an encoder accepts raw media of the kind that it gives")
            }
        case .output:
            if self.accepts.isEmpty { list.add("accepts", "says nothing that comes in") }
            if !self.gives.isEmpty { list.add("gives", "nothing comes out of an output") }
        }
        let isCapture = self.kind == .capture
        if !isCapture, !self.isLive { list.add("live", "is for captures") }
        if !isCapture, self.hasTestPattern { list.add("test_pattern", "is for captures") }
        if self.kind != .encode, self.rank != 0 { list.add("rank", "is for encoders") }
        if self.kind != .encode, self.isProbed { list.add("probe", "is for encoders") }
    }
}

/// The findings of one file.
struct Findings {
    let file: String
    private(set) var findings: [PipelineFinding] = []

    init(file: String) {
        self.file = file
    }

    mutating func add(_ key: String, _ message: String) {
        self.findings.append(PipelineFinding(file: self.file, key: key, message: message))
    }
}

extension PipelineParameter {
    /// Checks the parameter of a launch text.
    fileprivate func check(_ key: String, _ text: LaunchText, _ list: inout Findings) {
        if !text.names.contains(self.element) {
            list.add("\(key).element", "launch has no element with name=\(self.element)")
        }
        if self.form == .folder {
            if self.files.isEmpty { list.add("\(key).files", "is missing") }
            if !self.property.isEmpty { list.add("\(key).property", "stands next to files") }
        } else {
            if !self.files.isEmpty { list.add("\(key).files", "is for folders") }
            if self.property.isEmpty { list.add("\(key).property", "is missing") }
        }
        let isNumber = self.form == .int || self.form == .number
        if !isNumber {
            if self.minimum != nil { list.add("\(key).minimum", "is for numbers") }
            if self.maximum != nil { list.add("\(key).maximum", "is for numbers") }
            if self.unit != nil { list.add("\(key).unit", "is for numbers") }
        } else if let minimum = self.minimum, let maximum = self.maximum, minimum > maximum {
            list.add("\(key).minimum", "is larger than maximum")
        }
        if let text = self.defaultText {
            if self.isRequired { list.add("\(key).default", "stands next to required: true") }
            if let accepted = self.objection(to: text) {
                list.add("\(key).default", "found \"\(text.prefix(60))\"; accepted: \(accepted)")
            }
        }
    }
}
