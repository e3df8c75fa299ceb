// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import ConfigurationFile
internal import Media
internal import Model
internal import PipelineCatalogue
internal import Recording
internal import Session
internal import Signalling

/// Why an order cannot be carried out, in a sentence for a person.
public struct RoomPlanError: Error, Sendable, Hashable {
    /// The sentence.
    public var message: String
}

/// A room of a worker's spec, after everything in it was checked and looked up.
struct RoomPlan: Sendable {
    var spec: RoomSpec
    var url: RoomURL
    var outputs: [RTPOutputSettings]

    /// Checks a spec.
    init(_ spec: RoomSpec) throws(RoomPlanError) {
        if let problem = spec.problems.first { throw RoomPlanError(message: problem) }
        self.spec = spec
        do throws(SignallingError) {
            self.url = try RoomURL(parsing: spec.url.value)
        } catch {
            throw RoomPlanError(message: error.message)
        }
        do throws(WebRTCServer.Problem) {
            _ = try spec.ice.webRTCServers()
        } catch {
            throw RoomPlanError(message: "ice: \(error.message)")
        }
        self.outputs = try RTPOutputSettings.all(spec.outputs)
    }

    /// How the room is joined, and again.
    ///
    /// - Parameters:
    ///   - sends: whether there is a camera.
    ///   - records: whether we are there to record.
    func request(sends: Bool, records: Bool) -> JoinRequest {
        var policy = JoinPolicy.persistent
        if let seconds = self.spec.whenFullSeconds { policy.fullWait = .seconds(seconds) }
        return JoinRequest(
            self.url,
            SignallingOptions(
                policy: policy,
                displayName: self.spec.shownName(records: records),
                sends: sends,
                records: records,
                secret: self.spec.secret?.value,
                seed: .random(in: 0...UInt64.max)
            )
        )
    }

    /// How the room is recorded.
    ///
    /// - Parameter host: this host's name, for journals.
    func recorder(host: String) -> RecorderSettings {
        let record = self.spec.record ?? RecordSpec()
        var settings = RecorderSettings(storage: self.spec.storage, room: self.spec.name, host: host)
        settings.displayName = self.spec.shownName(records: true)
        settings.continues = self.spec.continues
        settings.claim = self.spec.claim
        settings.take(record)
        switch self.spec.recording {
        case _ where self.spec.record == nil: settings.isAutomatic = false
        case .automatic: settings.isAutomatic = record.isAutomatic
        case .on: settings.isAutomatic = true
        case .paused: (settings.isAutomatic, settings.continuesPaused) = (true, true)
        case .off: settings.isAutomatic = false
        }
        return settings
    }
}

extension RTPOutputSettings {
    /// Checks outputs, and looks their pipelines up.
    static func all(_ specs: [OutputSpec]) throws(RoomPlanError) -> [RTPOutputSettings] {
        if let problem = OutputSpec.problems(of: specs).first { throw RoomPlanError(message: problem) }
        var names: [String: Int] = [:]
        // Read once, and where an output needs it.
        var catalogues: [String?: Result<PipelineCatalogue, ConfigurationError>] = [:]
        return specs.map { spec in
            guard let pipeline = spec.pipeline else { return RTPOutputSettings(spec) }
            names[pipeline.file, default: 0] += 1
            let count = names[pipeline.file] ?? 1
            let catalogue =
                catalogues[pipeline.pipelines]
                ?? Result { () throws(ConfigurationError) in try .load(directory: pipeline.pipelines) }
            catalogues[pipeline.pipelines] = catalogue
            var named = OutputSpec(pipeline: pipeline, participant: spec.participant)
            named.label = "pipeline:\(pipeline.file.prefix(64))\(count > 1 ? ":\(count)" : "")"
            return RTPOutputSettings(named, pipeline: PipelineOutputSettings(pipeline, from: catalogue))
        }
    }
}

extension PipelineOutputSettings {
    /// Looks an order's file up and gives it the values; what is wrong with them is in the output's status.
    fileprivate init(_ order: PipelineOutputSpec, from catalogue: Result<PipelineCatalogue, ConfigurationError>) {
        self.init(Self.plan(order, catalogue))
    }

    private static func plan(
        _ order: PipelineOutputSpec,
        _ catalogue: Result<PipelineCatalogue, ConfigurationError>
    ) -> Plan {
        let name = order.file.prefix(64)
        do {
            let catalogue = try catalogue.get()
            guard let file = catalogue.file(.output, order.file) else {
                let known = catalogue.files(.output).map(\.name).joined(separator: ", ")
                return .refused("there is no pipeline file output/\(name); there are \(known)")
            }
            var plan = PipelinePlan(file)
            for (name, text) in order.parameters.mapValues(\.value).sorted(by: { $0.key < $1.key }) {
                // The value may be a secret: it is not shown.
                if let accepted = file.parameters[name]?.objection(to: text) {
                    return .refused("\(file.path): the parameter \(name) takes \(accepted)")
                }
                try plan.set(name, text)
            }
            _ = try plan.settings()
            return .ready(plan)
        } catch {
            return .refused("\(error)")
        }
    }
}

extension RecorderSettings {
    /// Takes what a spec says of how to record; its numbers are in their ranges.
    mutating func take(_ spec: RecordSpec) {
        self.recordsVideo = spec.video
        self.recordsAudio = spec.audio
        self.recordsChat = spec.chat
        self.emptyLimit = .seconds(spec.emptyAfterSeconds)
        self.segment =
            spec.segmentSeconds.map { .time(UInt64(clamping: $0) * 1_000_000_000) }
            ?? spec.segmentBytes.map { .bytes(UInt64(clamping: $0)) }
        self.preroll = .milliseconds(spec.prerollMilliseconds)
        self.synchroniseEvery = .milliseconds(spec.synchroniseMilliseconds)
        self.tags = spec.tags
        self.notes = spec.notes
        self.follows = spec.follows
    }
}
