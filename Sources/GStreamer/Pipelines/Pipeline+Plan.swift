// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck
public import PipelineCatalogue

extension Pipeline {
    /// A pipeline of a file's launch text with the plan's values set on its elements; its ports are free.
    ///
    /// Its depayloaders of H.264 get nothing that they cannot take.
    ///
    /// - Parameter launch: elements of our own, which may be linked to ports by their names.
    /// - Throws: what the text or a value is refused for, with file and key.
    public convenience init(
        _ plan: PipelinePlan,
        beside launch: String = "",
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) {
        try Runtime.initialise()
        let missing = plan.file.missingElements
        guard missing.isEmpty else {
            let message = "\(plan.file.path) needs what is not installed here: \(missing.joined(separator: ", "))"
            throw GStreamerError(.missingElement, message)
        }
        try self.init(launch: launch.isEmpty ? plan.file.launch : "\(launch)\n\(plan.file.launch)", onBus: onBus)
        self.protectDepayloaders()
        try self.set(plan)
    }

    /// Sets the values of a plan on the elements that it names.
    public func set(_ plan: PipelinePlan) throws(GStreamerError) {
        let settings: [PipelinePlan.Setting]
        do throws(PipelineFinding) {
            settings = try plan.settings()
        } catch {
            throw GStreamerError(.property, error.description)
        }
        for setting in settings { try self.set(setting, of: plan.file) }
    }

    /// Sets one value of a plan of that file.
    public func set(_ setting: PipelinePlan.Setting, of file: PipelineFile) throws(GStreamerError) {
        let element = try self.element(named: setting.element)
        do throws(GStreamerError) {
            switch setting.form {
            case .string, .folder: try element.set(setting.property, verbatim: setting.text)
            case .int, .number, .bool, .word, .caps: try element.set(setting.property, setting.text)
            }
        } catch {
            throw GStreamerError(.property, "\(file.path): \(setting.element): \(error.message)")
        }
    }

    /// Links a branch behind the port where something comes out; the branch.
    @discardableResult
    public func add(branch launch: String, behind port: String) throws(GStreamerError) -> Element {
        let branch = try self.add(branch: launch)
        try self.element(named: port).staticPad("src").link(to: branch.staticPad("sink"))
        return branch
    }

    /// Links a branch in front of the port where something goes in; the branch.
    @discardableResult
    public func add(branch launch: String, before port: String) throws(GStreamerError) -> Element {
        let branch = try self.add(branch: launch)
        try branch.staticPad("src").link(to: self.element(named: port).staticPad("sink"))
        return branch
    }
}

extension PipelineFile {
    /// The elements that the file requires and this host does not have; GStreamer must be initialised.
    public var missingElements: [String] { Runtime.missingElements(self.requires) }

    /// Faults of the file on this host: text that does not parse, properties that do not exist or refuse their
    /// defaults, ports without a free pad.
    ///
    /// Empty for a file with missing elements. No device is opened. Any thread.
    public func hostFindings() -> [PipelineFinding] {
        guard self.missingElements.isEmpty else { return [] }
        let pipeline: Pipeline
        do throws(GStreamerError) {
            pipeline = try Pipeline(launch: self.launch) { _ in }
        } catch {
            return [self.finding("launch", error.message)]
        }
        var findings: [PipelineFinding] = []
        for (name, parameter) in self.parameters.sorted(by: { $0.key < $1.key }) {
            guard let element = try? pipeline.element(named: parameter.element) else { continue }
            if let message = element.objection(to: parameter) {
                findings.append(self.finding("parameters.\(name)", message))
            }
        }
        for (name, pad) in self.ports.sorted(by: { $0.key < $1.key }) {
            guard let found = try? pipeline.element(named: name).staticPad(pad) else {
                findings.append(self.finding("ports.\(name)", "the element has no pad \"\(pad)\" before it runs"))
                continue
            }
            if gst_pad_is_linked(found.pointer) != 0 {
                findings.append(self.finding("ports.\(name)", "the pad \"\(pad)\" is not free"))
            }
        }
        return findings
    }

    private func finding(_ key: String, _ message: String) -> PipelineFinding {
        PipelineFinding(file: self.path, key: key, message: message)
    }
}

extension Element {
    /// Why the element's property is not what a parameter says; nil if it is.
    fileprivate func objection(to parameter: PipelineParameter) -> String? {
        guard parameter.form != .folder else { return self.objection(toFolder: parameter) }
        let kind = CGst_property_kind(self.pointer, parameter.property)
        let what = "\(self.factoryName)'s property \"\(parameter.property)\""
        switch (kind, parameter.form) {
        case (CGST_PROPERTY_ABSENT, _): return "\(self.factoryName) has no property \"\(parameter.property)\""
        case (CGST_PROPERTY_READ_ONLY, _): return "\(what) cannot be set"
        case (CGST_PROPERTY_STRING, .string), (CGST_PROPERTY_INTEGER, .int), (CGST_PROPERTY_INTEGER, .number),
            (CGST_PROPERTY_NUMBER, .number), (CGST_PROPERTY_BOOLEAN, .bool), (CGST_PROPERTY_WORD, .word),
            (CGST_PROPERTY_CAPS, .caps):
            break
        default: return "\(what) is not of the type \(parameter.form.rawValue)"
        }
        guard let text = parameter.defaultText else { return nil }
        do throws(GStreamerError) {
            if parameter.form == .string {
                try self.set(parameter.property, verbatim: text)
            } else {
                try self.set(parameter.property, text)
            }
        } catch {
            return "\(what) does not take the default \(text)"
        }
        return CGst_property_holds(self.pointer, parameter.property, text) != 0
            ? nil : "\(what) reads otherwise after the default \(text) was set"
    }

    /// The reason why a property that gets a path in a folder does not take paths; nil if each does.
    private func objection(toFolder parameter: PipelineParameter) -> String? {
        let wrong = parameter.files.keys.sorted().first {
            CGst_property_kind(self.pointer, $0) != CGST_PROPERTY_STRING
        }
        return wrong.map { "\(self.factoryName) has no property \"\($0)\" that takes a path" }
    }
}
