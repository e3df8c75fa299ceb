// SPDX-License-Identifier: Apache-2.0

public import Basics
import FoundationEssentials
import GRDB

extension Catalogue {
    /// Nothing in the queues is put off for longer: what is due later was noted before the clock was set back, and is due now.
    private static let longestWait = Duration.seconds(7200)

    /// Whether the time of something that waits in a queue has come.
    public static func isDue(_ time: UTCTime, at now: UTCTime) -> Bool {
        time <= now || time > now.adding(self.longestWait)
    }

    /// Queues deliveries; returns how many of the same webhooks were dropped to keep the limit.
    ///
    /// Events of participants and the progress of exports are dropped first, then the oldest of the others.
    ///
    /// - Parameter limit: The most deliveries of one webhook that wait.
    public func enqueue(_ deliveries: [DeliveryEntry], limit: Int) async throws -> Int {
        try await self.write { try Self.enqueue(deliveries, limit: limit, $0).values.reduce(0, +) }
    }

    /// Queues deliveries; returns how many of each webhook were dropped to keep the limit.
    static func enqueue(_ deliveries: [DeliveryEntry], limit: Int, _ database: Database) throws -> [String: Int] {
        for delivery in deliveries {
            // One that has the id of another is the same event, reported again.
            try database.execute(
                sql: """
                    INSERT OR IGNORE INTO deliveries (id, webhook, event, body, state, created_ns, attempts, due_ns, error)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    delivery.id, delivery.webhook, delivery.event, Data(delivery.body), delivery.state.rawValue,
                    delivery.created.nanosecondsSince1970, delivery.attempts, delivery.due.nanosecondsSince1970,
                    delivery.error,
                ]
            )
        }
        return try Set(deliveries.map(\.webhook)).reduce(into: [:]) { dropped, webhook in
            dropped[webhook] = try Self.trim(webhook, .queued, limit: limit, database)
        }
    }

    /// The oldest delivery of a webhook whose attempt is due.
    public func dueDelivery(of webhook: String, now: UTCTime) async throws -> DeliveryEntry? {
        try await self.read { database in
            try Row.fetchOne(
                database,
                sql: """
                    SELECT * FROM deliveries
                    WHERE webhook = ? AND state = 'queued' AND (due_ns <= ? OR due_ns > ?)
                    ORDER BY number LIMIT 1
                    """,
                arguments: [
                    webhook, now.nanosecondsSince1970, now.adding(Self.longestWait).nanosecondsSince1970,
                ]
            ).map(DeliveryEntry.init)
        }
    }

    /// When a webhook's next attempt is due; `nil` when nothing waits.
    public func nextDue(of webhook: String) async throws -> UTCTime? {
        try await self.read { database in
            try Int64.fetchOne(
                database,
                sql: "SELECT min(due_ns) FROM deliveries WHERE webhook = ? AND state = 'queued'",
                arguments: [webhook]
            ).map(UTCTime.init(nanosecondsSince1970:))
        }
    }

    /// Forgets a delivery that came through.
    public func deliveryDone(_ id: String) async throws {
        try await self.write { database in
            try database.execute(sql: "DELETE FROM deliveries WHERE id = ?", arguments: [id])
        }
    }

    /// Notes a failed attempt; nothing happens if the delivery was dropped in between.
    ///
    /// - Parameters:
    ///   - due: When the next attempt is due; `nil` if the delivery failed for good.
    ///   - deadLimit: The most failed deliveries of one webhook that are kept; older ones are deleted.
    public func deliveryFailed(_ id: String, error: String, due: UTCTime?, deadLimit: Int) async throws {
        try await self.write { database in
            if let due {
                try database.execute(
                    sql: "UPDATE deliveries SET attempts = attempts + 1, error = ?, due_ns = ? WHERE id = ?",
                    arguments: [error, due.nanosecondsSince1970, id]
                )
            } else {
                try database.execute(
                    sql: "UPDATE deliveries SET attempts = attempts + 1, error = ?, state = 'dead' WHERE id = ?",
                    arguments: [error, id]
                )
                let webhook = try String.fetchOne(
                    database,
                    sql: "SELECT webhook FROM deliveries WHERE id = ?",
                    arguments: [id]
                )
                if let webhook { _ = try Self.trim(webhook, .dead, limit: deadLimit, database) }
            }
        }
    }

    /// Deliveries that failed for good, newest first; of one webhook or of all.
    public func deadDeliveries(of webhook: String? = nil, limit: Int = 100) async throws -> [DeliveryEntry] {
        try await self.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT * FROM deliveries WHERE state = 'dead' AND (?1 IS NULL OR webhook = ?1)
                    ORDER BY number DESC LIMIT ?2
                    """,
                arguments: [webhook, max(0, limit)]
            ).map(DeliveryEntry.init)
        }
    }

    /// How many deliveries wait and how many failed for good, and the next retry, by webhook key.
    public func deliveryCounts() async throws -> [String: DeliveryCounts] {
        try await self.read { database in
            var counts: [String: DeliveryCounts] = [:]
            let sql = "SELECT webhook, state, count(*) AS number FROM deliveries GROUP BY webhook, state"
            for row in try Row.fetchAll(database, sql: sql) {
                let number: Int = row["number"]
                switch DeliveryEntry.State(rawValue: row["state"]) {
                case .queued: counts[row["webhook"], default: DeliveryCounts()].queued = number
                case .dead: counts[row["webhook"], default: DeliveryCounts()].dead = number
                case nil: break
                }
            }
            // The other columns are those of the row with the minimum.
            let waiting = """
                SELECT webhook, attempts, error, min(due_ns) AS due_ns FROM deliveries
                WHERE state = 'queued' AND attempts > 0 GROUP BY webhook
                """
            for row in try Row.fetchAll(database, sql: waiting) {
                let due = UTCTime(nanosecondsSince1970: row["due_ns"])
                let retry = DeliveryCounts.Retry(attempts: row["attempts"], due: due, error: row["error"])
                counts[row["webhook"], default: DeliveryCounts()].next = retry
            }
            return counts
        }
    }

    /// Queues a failed delivery again, with a new day for its attempts; returns its webhook's key.
    ///
    /// Throws `notFound` if there is no such delivery or if it still waits.
    public func requeueDelivery(_ id: String, now: UTCTime) async throws -> String {
        try await self.write { database in
            let webhook = try String.fetchOne(
                database,
                sql: """
                    UPDATE deliveries SET state = 'queued', attempts = 0, created_ns = ?1, due_ns = ?1
                    WHERE id = ?2 AND state = 'dead' RETURNING webhook
                    """,
                arguments: [now.nanosecondsSince1970, id]
            )
            guard let webhook else { throw CatalogueError(.notFound, "there is no such failed delivery") }
            return webhook
        }
    }

    /// Forgets the deliveries of webhooks that are configured no more; returns how many.
    @discardableResult
    public func removeDeliveries(exceptOf webhooks: Set<String>) async throws -> Int {
        try await self.write { database in
            let known = try String.fetchAll(database, sql: "SELECT DISTINCT webhook FROM deliveries")
            var removed = 0
            for webhook in known where !webhooks.contains(webhook) {
                try database.execute(sql: "DELETE FROM deliveries WHERE webhook = ?", arguments: [webhook])
                removed += database.changesCount
            }
            return removed
        }
    }

    /// Whether events of a kind are the first to be dropped: they come in any number, at the will of peers.
    public static func isDroppedFirst(_ event: String) -> Bool {
        event.hasPrefix("participant.") || event == "export.progress"
    }

    /// Drops deliveries of a webhook in a state beyond a limit; returns how many.
    ///
    /// Those that are dropped first, then the oldest.
    private static func trim(
        _ webhook: String,
        _ state: DeliveryEntry.State,
        limit: Int,
        _ database: Database
    ) throws -> Int {
        let count = try Int.fetchOne(
            database,
            sql: "SELECT count(*) FROM deliveries WHERE webhook = ? AND state = ?",
            arguments: [webhook, state.rawValue]
        )
        guard (count ?? 0) > max(0, limit) else { return 0 }
        try database.execute(
            sql: """
                DELETE FROM deliveries WHERE number IN (
                    SELECT number FROM deliveries WHERE webhook = ? AND state = ?
                    ORDER BY event GLOB 'participant.*' OR event = 'export.progress', number DESC
                    LIMIT -1 OFFSET ?
                )
                """,
            arguments: [webhook, state.rawValue, max(0, limit)]
        )
        return database.changesCount
    }
}

extension DeliveryEntry {
    fileprivate init(_ row: Row) throws {
        guard let state = State(rawValue: row["state"]) else {
            throw CatalogueError(.storage, "the catalogue holds a delivery that no version of this program wrote")
        }
        self.init(
            id: row["id"],
            webhook: row["webhook"],
            event: row["event"],
            body: Array(row["body"] as Data),
            created: UTCTime(nanosecondsSince1970: row["created_ns"])
        )
        self.state = state
        self.attempts = row["attempts"]
        self.due = UTCTime(nanosecondsSince1970: row["due_ns"])
        self.error = row["error"]
    }
}
