// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import GStreamer
internal import Glibc
internal import PipelineCatalogue

/// Looks at this host: what works, what is missing, what to install.
public struct Doctor: Sendable {
    private let settings: DoctorSettings

    /// A doctor with these settings.
    public init(settings: DoctorSettings) {
        self.settings = settings
    }

    /// Looks at everything at once; takes less than ten seconds, whatever hangs.
    public func examine() async -> DoctorReport {
        let settings = self.settings
        let findings = await withTaskGroup(of: (Int, [Finding]).self) { group in
            group.addTask { (0, await Self.media(settings)) }
            group.addTask { (1, await Self.bounded("devices", .devices) { DeviceFacts.probe().findings }) }
            group.addTask {
                let findings = await Self.bounded("ports", .network) {
                    NetworkFacts.probe(
                        mediaPorts: settings.mediaPorts,
                        host: settings.interfaceHost,
                        port: settings.interfacePort,
                        hasTLS: settings.interfaceHasTLS
                    ).findings
                }
                return (2, findings)
            }
            for (index, server) in settings.servers.prefix(64).enumerated() {
                group.addTask {
                    let outcome = await HostLookup.look(up: server.host)
                    return (3 + index, [HostLookup.finding(server.host, purpose: server.purpose, outcome)])
                }
            }
            for (index, server) in settings.iceServers.prefix(32).enumerated() {
                group.addTask { (68 + index, [await ICEServerProbe.run(server)]) }
            }
            group.addTask {
                let findings = await Self.bounded("directory", .storage) {
                    StorageFacts.probe(directory: settings.storageDirectory, minimumFree: settings.minimumFree).findings
                }
                return (100, findings)
            }
            if let upload = settings.upload {
                group.addTask {
                    (101, [Finding(upload, failure: await RemoteTrial.failure(of: upload, within: .seconds(8)))])
                }
            }
            if let path = settings.signingKey {
                group.addTask { (102, await Self.bounded("signing", .storage) { [Finding(signingKey: path)] }) }
            }
            group.addTask { (103, await Self.bounded("limits", .system) { SystemFacts.probe().findings }) }
            return await group.reduce(into: []) { $0.append($1) }
        }
        return DoctorReport(findings.sorted { $0.0 < $1.0 }.flatMap(\.1), needsSudo: geteuid() != 0)
    }

    /// Runs work that may hang on a separate thread; work that does not come back is a problem itself.
    private static func bounded(
        _ name: String,
        _ area: Finding.Area,
        _ body: @escaping @Sendable () -> [Finding]
    ) async -> [Finding] {
        do {
            return try await ControlThread(name: name).run(name, deadline: .seconds(4), body)
        } catch {
            return [Finding(area, name, .problem, "\(error)", meaning: "a driver or a file system hangs")]
        }
    }

    /// GStreamer, its plugins, and the encoders that are there.
    private static func media(_ settings: DoctorSettings) async -> [Finding] {
        let version: String
        do {
            // The first time, GStreamer looks into every plugin.
            version = try await ControlThread(name: "gstreamer").run("GStreamer's start", deadline: .seconds(5)) {
                try Runtime.initialise()
            }
        } catch {
            return [Finding(.gstreamer, "library", .problem, "\(error)", meaning: "nothing works without GStreamer")]
        }
        let pipelines = settings.pipelines
        let files = pipelines.entries.map(\.file)
        let wanted = NeededElements.all.flatMap(\.elements) + files.flatMap(\.requires)
        let missing = Set(Runtime.missingElements(wanted))
        let libraries = [Finding(.gstreamer, "library", .ok, version)] + Self.libnice()
        let elements = NeededElements.all.map { $0.finding(missing: missing) }
        let kinds = [PipelineFile.Kind.capture, .output].map { $0.finding(pipelines.files($0), missing: missing) }
        let encoders = await Self.encoders(Encoders.all(in: pipelines), missing: missing, settings.encoderTrial)
        return libraries + elements + kinds + encoders
    }

    private static func libnice() -> [Finding] {
        Runtime.pluginVersion("nice").map { [Finding(.gstreamer, "libnice", .ok, $0)] } ?? []
    }

    /// Tries the encoders that are installed, all at once.
    private static func encoders(
        _ encoders: [Encoders],
        missing: Set<String>,
        _ trial: DoctorSettings.EncoderTrial?
    ) async -> [Finding] {
        guard let trial else { return encoders.map { $0.finding([:]) } }
        let installed = encoders.flatMap(\.files).filter { missing.isDisjoint(with: $0.requires) }
        let trials = await withTaskGroup(of: (String, Encoders.Trial).self) { group in
            for name in installed.map(\.name) {
                group.addTask { (name, await EncoderTrial.run(name, trial)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return encoders.map { $0.finding(trials) }
    }
}
