// SPDX-License-Identifier: Apache-2.0

import Cluster
import ConfigurationFile
import Logging
import Model
import NIOPosix
import Observability
import Timeline

/// The rooms of the daemon, as its cluster decides about them.
struct ClusterRooms: ClusterHost {
    /// The cluster's name.
    let cluster: String
    let supervisor: Supervisor
    /// Where the references of definitions take their values.
    let values: NotedValueSource
    let logger: Logger

    /// Files that a definition names may be on a disk that hangs.
    private static let threads = NIOThreadPool.started(2)

    func examine(_ room: String, _ record: RoomRecord) async -> RoomVerdict {
        do {
            let draft = try await self.draft(room, record)
            if let reason = await self.supervisor.refusal(of: draft) { return .unusable(reason) }
            return .usable(leavesWhenCutOff: draft.takesOneMember)
        } catch let error as ConfigurationError {
            return .unusable(error.problems.map(\.description).joined(separator: "; "))
        } catch {
            return .unusable("\(error)")
        }
    }

    func be(_ room: String, _ assignment: RoomAssignment?) async {
        guard let assignment else { return await self.supervisor.release(room) }
        let claim = RecordingClaim(cluster: self.cluster, epoch: assignment.epoch)
        let definition = assignment.definition
        // What only begins or ceases to be uncertain waits for no disk.
        if await self.supervisor.claim(room, definition.definition, claim, mayAct: assignment.mayAct) { return }
        do {
            let draft = try await self.draft(room, definition)
            await self.supervisor.take(
                draft,
                claim,
                mayAct: assignment.mayAct,
                wish: assignment.wish?.order,
                continues: assignment.continues
            )
        } catch {
            self.logger.error(
                "a room of the cluster stays as it is",
                metadata: .tagged([.roomName: "\(room)", .errorMessage: "\(error)"])
            )
        }
    }

    /// The export of a series that several hosts recorded in a room; nil where its recordings are not exported with all tracks.
    func seriesExport(of room: String, _ record: RoomRecord?) async -> ExportSpec? {
        // One that is deleted, or that this host cannot have, is exported as rooms are that say nothing of it.
        var draft: RoomConfiguration?
        if let record { draft = try? await self.draft(room, record) }
        var export = (draft?.exports ?? [ExportSpec()]).first { $0.layout.name == .tracks }
        export?.series = true
        return export
    }

    /// A room as it is defined, with the secrets of this host; throws `ConfigurationError`.
    private func draft(_ name: String, _ record: RoomRecord) async throws -> RoomConfiguration {
        let (before, configuration) = await self.supervisor.definition(of: name)
        return try await Self.threads.runIfActive { [values = self.values] in
            let room = try RoomConfiguration.parse(name: name, definition: record.definition, values: values)
            let draft = RoomDraft(room, before: before, in: configuration)
            if let unchecked = draft.unchecked { _ = try unchecked.pipelineCatalogue() }
            return room
        }
    }
}
